"""Suspected reasons of errors, from a data file: which mechanism a case is likely to lack."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import evaluate, names, parse
from perfmodel.tables import check_keys
from perfmodel.validation.case import Case

_FILE: Final = Path(__file__).parent / "reasons.toml"
_KEYS: Final = ("kernel", "regime", "timing", "error", "when", "text")


def reason(case: Case) -> str:
    """Return why a case is suspected to be wrong; "" where nothing is."""
    return next((entry["text"] for entry in _entries() if _matches(entry, case)), "")


@lru_cache(maxsize=1)
def _entries() -> tuple[dict[str, Any], ...]:
    entries = tomllib.loads(_FILE.read_text(encoding="utf-8"))["reason"]
    for number, entry in enumerate(entries, 1):
        where = f"{_FILE.name}, reason {number}"
        check_keys(entry, _KEYS, ("text",), where)
        if entry.get("error", "fast") not in ("fast", "slow"):
            raise PerfmodelError(f"{where}: error must be fast or slow, not {entry['error']!r}")
    return tuple(entries)


def _matches(entry: dict[str, Any], case: Case) -> bool:
    if entry.get("kernel", case.kernel) != case.kernel:
        return False
    if entry.get("regime", case.regime) != case.regime:
        return False
    if entry.get("timing", case.timing) != case.timing:
        return False
    error = "fast" if case.error < 0 else "slow"
    if entry.get("error", error) != error:
        return False
    condition = parse(entry.get("when", "1"), where="reasons.toml, when")
    known: dict[str, float] = {"measured_us": case.measured_s * 1e6}
    known |= {name: value for name, value in case.params.items() if not isinstance(value, str)}
    return names(condition) <= set(known) and bool(evaluate(condition, known))
