"""Targets: errors that predictions are to stay under, and whether they do, by protocol."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from perfmodel.expressions import evaluate, names, parse
from perfmodel.kernels.values import check_keys
from perfmodel.validation.cases import Case

_FILE: Final = Path(__file__).parent / "targets.toml"
_KEYS: Final = ("name", "kernels", "when", "median", "worst", "worst_us")


@dataclass(frozen=True, slots=True)
class Reached:
    """What was reached of one target, under one protocol.

    Attributes
    ----------
    name, protocol : str
    use : {"fit", "validation"}
        Which cases it was judged on.
    cases : int
    what : {"median", "worst", "worst_us"}
        Median or largest magnitude of the error, or largest difference [us].
    wanted, reached : float
    """

    name: str
    protocol: str
    use: str
    cases: int
    what: str
    wanted: float
    reached: float

    @property
    def met(self) -> bool:
        """Whether it was reached."""
        return self.reached <= self.wanted


def reached(cases: Sequence[Case]) -> list[Reached]:
    """Return what was reached of every target that has cases, by protocol."""
    found = []
    for target in _targets():
        some = [case for case in cases if _matches(target, case)]
        use = "validation" if any(case.use == "validation" for case in some) else "fit"
        some = [case for case in some if case.use == use]
        for protocol in dict.fromkeys((case.timing, case.cache) for case in some):
            chosen = [case for case in some if (case.timing, case.cache) == protocol]
            for what in ("median", "worst", "worst_us"):
                if what in target:
                    found.append(
                        Reached(
                            name=target["name"],
                            protocol=", ".join(protocol),
                            use=use,
                            cases=len(chosen),
                            what=what,
                            wanted=float(target[what]),
                            reached=_value(what, chosen),
                        )
                    )
    return found


def _value(what: str, cases: Sequence[Case]) -> float:
    errors = np.abs([case.error for case in cases])
    if what == "median":
        return float(np.median(errors))
    if what == "worst":
        return float(np.max(errors))
    return float(np.max(np.abs([case.predicted_s - case.measured_s for case in cases]))) * 1e6


def _matches(target: Mapping[str, Any], case: Case) -> bool:
    if case.kernel not in target["kernels"]:
        return False
    condition = parse(target.get("when", "1"), where="targets.toml, when")
    return names(condition) <= set(case.params) and bool(evaluate(condition, case.params))


@lru_cache(maxsize=1)
def _targets() -> tuple[dict[str, Any], ...]:
    entries = tomllib.loads(_FILE.read_text(encoding="utf-8"))["target"]
    for number, entry in enumerate(entries, 1):
        check_keys(entry, _KEYS, ("name", "kernels"), f"{_FILE.name}, target {number}")
    return tuple(entries)
