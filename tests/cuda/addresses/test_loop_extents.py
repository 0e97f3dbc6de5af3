"""How many iterations loops have at most, where threads differ and are too many to try."""

from __future__ import annotations

import pytest

from perfmodel.cuda.compile.program import load_program
from perfmodel.cuda.compile.toolchain import find_tool
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.launch_file import read_launches
from perfmodel.measure.folders import root

PROGRAMS = root() / "source-kernels/h100-sxm/independent/program"


@pytest.mark.skipif(find_tool("nvcc") is None, reason="needs nvcc")
def test_windows_cut_by_edges_are_no_longer_than_they_are() -> None:
    # independent: three rows of a window of three by three, of 5.6 million outputs; ranges alone
    # gave a window as high as the image, 56 rows, and sixteen times the time that was measured
    launches = read_launches(PROGRAMS / "kernels.toml")
    number = next(n for n, x in enumerate(launches) if str(x.kernel) == "maxpool3s2_argmax")
    program = load_program(PROGRAMS / "kernels.cu", "sm_90", kernel="maxpool3s2_argmax")
    found = translated(program, launches[number])
    window = [loop for loop in found.loops if loop.parent == found.loops[0].variable]
    assert [loop.trips.value for loop in window if hasattr(loop.trips, "value")] == [3]
