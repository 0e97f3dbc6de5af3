"""What accesses to a table miss: loads by its shares, walks by what draws have brought."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.l1.record import L1
from perfmodel.models.l2.l2_misses import Misses
from perfmodel.models.l2.tables import Table
from perfmodel.models.requests.coalescing import SECTOR

_ZERO: Final = np.zeros(1)


def with_table(table: Table, accesses: GlobalAccesses, l1: L1, misses: Misses) -> Misses:
    """Return the misses where a table's loads miss by their shares, and its stores write again."""
    requests, fills = accesses.requests, l1.fills
    sectors, dram_bytes = list(misses.sectors), list(misses.dram_bytes)
    loads = [i for i in table.members if requests[i].access.kind == "load"]
    walks = [i for i in loads if table.random and not requests[i].random]
    loads = [i for i in loads if i not in walks]
    asked = sum((fills[i] for i in loads), _ZERO)
    fetched = table.read(accesses.warm)
    rewritten = _ZERO
    found = table.found_by_walks
    for i in table.members:
        if i in walks:
            once = np.minimum(misses.touched[i], dram_bytes[i])
            dram_bytes[i] = dram_bytes[i] - once * found
            once = np.minimum(misses.touched[i] / SECTOR, sectors[i])
            sectors[i] = sectors[i] - once * found
        elif i in loads:
            part = fills[i] / np.maximum(asked, 1e-9)
            dram_bytes[i] = fetched * part
            sectors[i] = np.minimum(fetched / SECTOR * part, fills[i])
        elif requests[i].sharing is None:  # what atomics write back is worked out on its own
            again = np.maximum(requests[i].sectors * SECTOR - table.size, 0.0)
            rewritten = rewritten + again * table.misses
    return replace(
        misses,
        sectors=sectors,
        dram_bytes=dram_bytes,
        rewritten=misses.rewritten + rewritten,
    )
