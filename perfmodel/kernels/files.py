"""Kernel files: reading them, and from TOML text to a `Kernel`.

docs/reference/kernel-files.md has the format; `perfmodel.kernels.tables` checks it.
"""

from pathlib import Path

from perfmodel.kernels.kernel import Kernel
from perfmodel.kernels.tables import kernel_from_table
from perfmodel.text_files import parse_toml, read_text


def load_kernel(path: str | Path) -> Kernel:
    """Return the kernel of a TOML file.

    Raises
    ------
    PerfmodelError
        If there is no such file, it cannot be read, or it states no valid kernel.
    """
    where = f"kernel file {str(path)!r}"
    return parse_kernel(read_text(Path(path), where, "kernel"), where)


def parse_kernel(text: str, where: str = "kernel") -> Kernel:
    """Return the kernel that TOML text states.

    `text`: the content of a kernel file. `where`: start of the error messages.

    Raises `PerfmodelError` if the text is not TOML (with the line), or a key is unknown, missing or
    wrong.
    """
    table = parse_toml(text, where)
    return kernel_from_table(table, where)
