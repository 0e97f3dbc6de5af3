"""The built-in kernels, one kernel file each, and finding a kernel by name or path.

A kernel with several mappings of work to threads has a file each, ``NAME-MAPPING.toml``.
"""

from functools import lru_cache
from pathlib import Path
from typing import Final

from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.kernels.files import load_kernel
from perfmodel.kernels.kernel import Kernel
from perfmodel.kernels.tables import kernel_from_table
from perfmodel.names import DEFAULT_MAPPINGS, MAPPINGS, builtin_names
from perfmodel.packaged import packaged_toml
from perfmodel.text_files import is_path

LIBRARY: Final = Path(__file__).parent / "library"


def mappings(name: str) -> list[str]:
    """Return the mappings of a built-in kernel, simplest first; none if it has one form only.

    Raises `PerfmodelError` if there is no such kernel.
    """
    _check_name(name)
    return list(MAPPINGS.get(name, ()))


def builtin(name: str, mapping: str | None = None) -> Kernel:
    """Return a built-in kernel.

    `name`: one of `builtin_names`. `mapping`: one of `mappings`; None means that of
    `DEFAULT_MAPPINGS`.

    Raises `PerfmodelError` if there is no such kernel or mapping.
    """
    known = mappings(name)
    if mapping is None:
        mapping = DEFAULT_MAPPINGS.get(name)
    elif not known:
        raise PerfmodelError(
            f"kernel {name!r} has no mappings, so {shown(mapping)} cannot be chosen: leave it out"
        )
    elif mapping not in known:
        raise PerfmodelError(
            f"kernel {name!r} has no mapping {shown(mapping)}, only {', '.join(known)}"
            f"{nearest(str(mapping), known)}"
        )
    return _load(name if mapping is None else f"{name}-{mapping}")


def find_kernel(name_or_path: str | Path, mapping: str | None = None) -> Kernel:
    """Return the built-in kernel of a name, or the kernel of a TOML file.

    Parameters
    ----------
    name_or_path
        A `Path`, or text: a path if it has a separator or ends in ``.toml``, else a name.
    mapping
        For built-in kernels, see `builtin`.

    Raises
    ------
    PerfmodelError
        If there is no such kernel or file, the file is wrong, or it is given a mapping.
    """
    if isinstance(name_or_path, str) and not is_path(name_or_path):
        return builtin(name_or_path, mapping)
    if mapping is not None:
        raise PerfmodelError(
            f"mapping {shown(mapping)} was given with a kernel file, but only built-in kernels "
            "have mappings: leave it out"
        )
    return load_kernel(name_or_path)


@lru_cache(maxsize=64)
def _load(stem: str) -> Kernel:
    path = LIBRARY / f"{stem}.toml"
    where = f"kernel file {str(path)!r}"
    return kernel_from_table(packaged_toml(path, where), where)


def _check_name(name: object) -> None:
    known = builtin_names()
    if not isinstance(name, str) or name not in known:
        base, colon, mapping = str(name).partition(":")
        if colon and base in MAPPINGS:
            raise PerfmodelError(
                f"unknown kernel {shown(name)}; the mapping is its own argument, as in {base} "
                f"--mapping {mapping or MAPPINGS[base][0]}"
            )
        hint = nearest(str(name), known) or f"; known are {', '.join(known)}"
        raise PerfmodelError(
            f"unknown kernel {shown(name)}{hint} (a path to a TOML kernel file works too)"
        )
