"""Suspected reasons of errors, from a data file: which mechanism a case is likely to lack."""

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from perfmodel.errors import PerfmodelError
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
    of = {
        **{key: getattr(case, key) for key in ("kernel", "regime", "timing")},
        "error": "fast" if case.error < 0 else "slow",
    }
    return all(entry.get(key, value) == value for key, value in of.items()) and case.meets(
        entry.get("when", "1"), "reasons.toml, when", measured_us=case.measured_s * 1e6
    )
