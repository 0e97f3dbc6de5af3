"""Sweep files: what they say, what they refuse, and that what they launch compiles."""

from pathlib import Path

import pytest

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name, Number, parse
from perfmodel.kernels import find_kernel
from perfmodel.measure.cuda import compile_cubin
from perfmodel.measure.session import CHECKS
from perfmodel.measure.sweep import (
    SOURCES,
    SWEEPS,
    Sweep,
    points,
    read_sweeps,
)
from perfmodel.names import sweep_names

GPU = {"sms": 132, "l2_bytes": 50 << 20, "persisting_max": 31 << 20}
PLAIN = """
[[sweep]]
topic = "t"
source = "streams.cu"
function = "copy"
why = "bytes"
vary = { bytes = [64, 128], vector = [4] }
set = { n = "bytes // vector" }
where = "n < 32"
grid = ["ceil_div(n, 8)", "sms"]
block = 8
buffers = { in = { bytes = "bytes" }, out = { bytes = "bytes", fill = "zero" } }
arguments = ["in", "out", "i64 n", "f32 1/4"]
validation = "bytes == 64"
"""


def load_sweeps(*names: str) -> list[Sweep]:
    """Return the sweeps of the named files that come along; of all by default."""
    return [s for n in names or sweep_names() for s in read_sweeps(SWEEPS / f"{n}.toml")]


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "some.toml"
    path.write_text(text)
    return path


def test_a_point_has_all_numbers_of_its_launch(tmp_path):
    # By hand: 64 B in 4 B elements are 16, in blocks of 8 two; 128 B are 32, which is left out.
    (sweep,) = read_sweeps(written(tmp_path, PLAIN))
    (point,) = points(sweep, GPU)
    assert point.params == {"bytes": 64, "vector": 4, "n": 16}
    assert point.grid == (2, 132, 1)
    assert point.block == (8, 1, 1)
    assert point.buffers["out"].bytes == 64
    assert point.arguments == (("buffer", "in"), ("buffer", "out"), ("i64", 16), ("f32", 0.25))
    assert point.use == "validation"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('source = "streams.cu"', 'source = "nope.cu"', "no source 'nope.cu'"),
        ('grid = ["ceil_div', 'gird = ["ceil_div', "unknown key 'gird'"),
        ('"bytes // vector"', '"bytes // vectr"', "vectr"),
        ('"bytes // vector"', '"__import__(1)"', "__import__"),
        ('fill = "zero"', 'fill = "zeros"', "fill of out must be of zero"),
        ('"i64 n"', '"u64 n"', "must be i32, i64 or f32"),
        ('["in", "out"', '["in", "uot"', "'uot' is no buffer"),
        ("[[sweep]]", "[[sweep]", "not valid TOML"),
        ('why = "bytes"', 'cache = ["hot"]\nwhy = "bytes"', "cache must be of warm, cold"),
        ('why = "bytes"', 'counters = ["watts"]\nwhy = "bytes"', "counters has 'watts'"),
    ],
)
def test_a_wrong_sweep_is_refused_in_one_line(tmp_path, old, new, message):
    with pytest.raises(PerfmodelError, match=message) as caught:
        [p for s in read_sweeps(written(tmp_path, PLAIN.replace(old, new))) for p in points(s, GPU)]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", sweep_names())
def test_every_sweep_has_points_and_says_why(name):
    for sweep in load_sweeps(name):
        some = list(points(sweep, GPU))
        assert some
        assert sweep.why
        assert not sweep.check or sweep.check in CHECKS
        for point in some:
            assert point.grid[0] * point.grid[1] * point.grid[2] >= 1
            threads = point.block[0] * point.block[1] * point.block[2]
            assert 1 <= threads <= 1024


def test_a_third_of_the_points_is_never_fitted():
    # The project's own rule: at least a third of the points, and all of some sweeps, are held back.
    uses = [[p.use for p in points(s, GPU)] for s in load_sweeps()]
    flat = [use for some in uses for use in some]
    assert flat.count("validation") >= len(flat) / 3
    assert sum(set(some) == {"validation"} for some in uses) >= 5


def test_models_name_kernels_and_parameters_that_exist():
    for sweep in load_sweeps():
        if not sweep.model:
            continue
        try:
            kernel = find_kernel(sweep.model["kernel"], sweep.model.get("mapping"))
        except PerfmodelError:
            continue  # of a model that is still to come
        known = {p.name for p in kernel.parameters}
        assert set(sweep.model["params"]) <= known
        for text in sweep.model["params"].values():
            assert isinstance(text, int) or isinstance(parse(text), Name | Number)


def test_every_source_compiles_with_every_macro():
    # The compiler is the judge: NVIDIA's, for the machine code of a Hopper and an Ampere GPU.
    pytest.importorskip("cuda.bindings")
    wanted = {
        (s.source, tuple(sorted(p.defines.items()))) for s in load_sweeps() for p in points(s, GPU)
    }
    assert {source for source, _ in wanted} <= {p.name for p in SOURCES.glob("*.cu")}
    # One of each source and macro name, to keep this in seconds.
    for source, defines in {(s, tuple(n for n, _ in d)): (s, d) for s, d in wanted}.values():
        assert compile_cubin(source, dict(defines), "sm_90").startswith(b"\x7fELF")
    assert compile_cubin("fill.cu", {}, "sm_80").startswith(b"\x7fELF")
