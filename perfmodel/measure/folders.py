"""Where recorded measurements lie: with the installed package, or in the repository around it."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Final

from perfmodel.measure.seal import SESSION_FILE

_PACKAGE: Final = Path(__file__).parents[1]


@lru_cache(maxsize=1)
def root() -> Path:
    """Return the folder of all recordings: the wheel's, or the repository's."""
    installed = _PACKAGE / "measurements"
    return installed if installed.is_dir() else _PACKAGE.parent / "measurements"


def measured() -> dict[str, list[Path]]:
    """Return the folders of our own measurements, by device name.

    Those of whole programs (``programs`` in the session file) are not among them.
    """
    return _folders(root())


def published() -> dict[str, list[Path]]:
    """Return the folders of others' measurements, by device name; figures only, each cited."""
    return _folders(root() / "published")


def _folders(parent: Path) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in sorted(parent.glob(f"*/{SESSION_FILE}")):
        session = tomllib.loads(path.read_text(encoding="utf-8"))
        if "programs" in session:  # launches of sources, which no kernel of ours describes
            continue
        machine = session.get("machine", {})
        found.setdefault(machine.get("device", path.parent.name), []).append(path.parent)
    return found
