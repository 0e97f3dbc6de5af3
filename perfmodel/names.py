"""Names of what comes along: kernels and their mappings, GPUs, drills, and other data files.

They are read from the files, without what computes: the shell completes them in a moment.
"""

from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from perfmodel.packaged import packaged_toml

KERNELS: Final = "kernels/library"
DEVICES: Final = "hardware/catalogue"
DRILLS: Final = "drills/library"
SHAPES: Final = "operators/shapes"
SWEEPS: Final = "measure/sweeps"
_PACKAGE: Final = Path(__file__).parent

_OF_SEVERAL: Final = packaged_toml(_PACKAGE / "kernels" / "mappings.toml")

MAPPINGS: Final = MappingProxyType({k: tuple(of["known"]) for k, of in _OF_SEVERAL.items()})
"""Mappings of each kernel that has several, simplest first."""

DEFAULT_MAPPINGS: Final = MappingProxyType({k: of["default"] for k, of in _OF_SEVERAL.items()})
"""Mapping meant if none is named: the first in which a warp's accesses are consecutive."""


@cache
def stems(folder: str) -> tuple[str, ...]:
    """Return the names of a folder's TOML files without ``.toml``, sorted."""
    return tuple(sorted(path.stem for path in (_PACKAGE / folder).glob("*.toml")))


def builtin_names() -> list[str]:
    """Return the names of the built-in kernels, sorted."""
    return list(_builtins())


@cache
def _builtins() -> tuple[str, ...]:
    return tuple(sorted({kernel_of(stem) for stem in stems(KERNELS)}))


def kernel_of(stem: str) -> str:
    """Return the kernel of a file in the library, which may be of one of its mappings."""
    for name, known in MAPPINGS.items():
        if stem.removeprefix(f"{name}-") in known:
            return name
    return stem


def device_names() -> list[str]:
    """Return the names of the catalogue's devices, sorted; bases of device files are left out."""
    return [stem for stem, table in _tables(DEVICES) if not table.get("abstract", False)]


def shape_names() -> list[str]:
    """Return the names of the shapes of language models that come along, sorted."""
    return list(stems(SHAPES))


def sweep_names() -> list[str]:
    """Return the names of the files of microbenchmarks that come along, sorted."""
    return list(stems(SWEEPS))


def drill_ids() -> list[str]:
    """Return the ids of the package's drills, in their order."""
    return [str(drill["id"]) for _, table in _tables(DRILLS) for drill in table["drill"]]


def drill_topics() -> list[str]:
    """Return the topics of the package's drills, in their order."""
    found = (
        drill.get("topic", table.get("topic", ""))
        for _, table in _tables(DRILLS)
        for drill in table["drill"]
    )
    return list(dict.fromkeys(found))


@cache
def _tables(folder: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    return tuple(
        (stem, packaged_toml(_PACKAGE / folder / f"{stem}.toml")) for stem in stems(folder)
    )
