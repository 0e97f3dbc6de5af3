"""Write the table of recordings that the wheel carries, after measurements changed.

python -m perfmodel.measure.bundle
"""

from typing import Final

from perfmodel.measure import folders
from perfmodel.measure.folders import write_table
from perfmodel.measure.recorded import Recording, read_recording

DRILLED: Final = (
    "l2/h100-sxm/set-aside",
    "l2/h200-sxm/after-use",
    "matrix-products/h100-sxm/cublas-fp32",
)
"""Recordings of programs that drills read cells of."""


def bundled() -> dict[str, Recording]:
    """Return what the table must have, by name: all that is scored, and what drills read."""
    scored = [*folders.measured().values(), *folders.published().values()]
    found = [folder for several in scored for folder in several]
    found += [folders.repository() / name for name in DRILLED]
    return {folders.name(folder): read_recording(folder) for folder in found}


if __name__ == "__main__":
    write_table(folders.TABLE, bundled())
