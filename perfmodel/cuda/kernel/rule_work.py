"""What a warp issues where no ptxas is at hand: by a table of what it typically makes of PTX."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from perfmodel.cuda.kernel.analysed import Analysed
from perfmodel.cuda.kernel.warp_work import Took, WarpWork, entered_share, loops_of_blocks
from perfmodel.cuda.sass.chains import chain_clocks
from perfmodel.cuda.sass.rules import rule_counts
from perfmodel.cuda.sass.sure_waits import sure_waits
from perfmodel.kernels.doubt import Doubt

_ORIGIN: Final = "instructions are counted by rules, within 10%, at times 30%, not in machine code"
"""Median and 90th percentile of six corpora: docs/decisions/0006."""
BY_RULES: Final = Doubt(1.28, 1.28)
"""What times 33% off at the 90th percentile are beyond the 15% of machine code, in quadrature, on
the same 147 launches (docs/decisions/0006)."""


def work_by_rules(kernel: Analysed, shares: Sequence[tuple[float, float]]) -> WarpWork:
    """Return a warp's work as the table has it; `shares` are those of `shares_of`."""
    function, flow = kernel.function, kernel.flow
    counts = [rule_counts(i) for i in function.instructions]
    share_of = {r.block: s for r, (s, _) in zip(kernel.found.blocks, shares, strict=True)}
    members: dict[str | None, list[int]] = {None: []}
    for block, loop in sorted(loops_of_blocks(kernel.found).items()):
        members.setdefault(loop, []).append(block)
    totals: defaultdict[tuple[str, str | None], float] = defaultdict(float)
    paces = {}
    for loop, inside in members.items():
        entered = entered_share(function, flow, share_of, inside)
        body = []
        for block in inside:
            for at in flow.places([block]):
                body.append((function.instructions[at], counts[at], share_of[block] / entered))
                for pipe, count in counts[at].items():
                    totals[pipe, loop] += count * share_of[block]
        waits = sure_waits(function, flow, [(b, share_of[b] / entered) for b in inside])
        paces[loop] = Took(chain_clocks(body, loop is not None), waits)
    branches = frozenset(b for inside in members.values() for b in inside)
    return WarpWork(dict(totals), paces, branches, {}, _ORIGIN, BY_RULES)
