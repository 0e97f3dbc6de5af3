"""Rules of a launch: numbers that follow from others. Expected values are by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfmodel.cuda.launch.launch_file import read_launches, read_stated
from perfmodel.cuda.launch.rules import Numbers, Stated, sides, split
from perfmodel.cuda.launch.spec import Buffer, LaunchSpec, Scalar, Structure
from perfmodel.errors import PerfmodelError

FILE = """
[[launch]]
kernel = "saxpy"
grid = "ceil_div(n, blockDim.x)"
block = 256
shared_bytes = "4*blockDim.x"
arguments.n = 1000000
arguments.half = "n/2"
arguments.x = { bytes = "4*n" }
arguments.shape = { fields = ["i32 n//256", "f32 0.5", "ptr 4*n"] }
"""


def launch(text: str, folder: Path, **given: int) -> LaunchSpec:
    path = folder / "launches.toml"
    path.write_text(text)
    (stated,) = read_stated(path)
    return stated.at(given, ("n", "half", "x", "shape"))[0]


def number(text: str, **given: int) -> int | float:
    return Numbers({}, given).of(Stated(text, "--arg n4"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n/4", 250),
        ("4*n B", 4000),
        ("n KiB", 1024000),
        ("ceil_div(n, 256)", 4),
        ("max(n, 5) - 1", 999),
        ("1e6", 10**6),
        ("16 MiB", 16 << 20),
        ("-3", -3),
        ("2.5", 2.5),
        ("n/3", 1000 / 3),
        ("0x10", 16),
    ],
)
def test_literals_and_rules(text: str, value: float) -> None:
    found = number(text, n=1000)
    assert found == value
    assert type(found) is type(value)


def test_numbers_follow_from_each_other_in_any_order() -> None:
    stated = {"a": Stated("b + 1", "a"), "b": Stated("2*c", "b"), "c": Stated(5, "c")}
    numbers = Numbers(stated, {})
    assert numbers.named("a") == 11
    assert numbers.used == {"b", "c"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m + 1", r"'m' has none; did you mean 'mm'\?: give -D m=VALUE; there are mm, loop"),
        ("loop", "--arg loop: rules go in a circle: loop from loop"),
        ("mm // 0", "--arg n4: '?mm // 0'? divides by zero"),
        ("__import__('os')", "--arg n4: .* is not allowed"),
        ("mm.real", "only .* have parts"),
        ("2**mm**mm", "overflows"),
        ("(" * 200 + "mm" + ")" * 200, "nested"),
        ("12abc", "unknown suffix 'abc'"),
        ("", "has no value"),
    ],
)
def test_what_is_no_number(text: str, message: str) -> None:
    numbers = Numbers({"loop": Stated("loop + 1", "--arg loop")}, {"mm": 99})
    with pytest.raises(PerfmodelError, match=message):
        numbers.of(Stated(text, "--arg n4"))


def test_a_launch_of_a_file_at_another_size(tmp_path: Path) -> None:
    own, other = launch(FILE, tmp_path), launch(FILE, tmp_path, n=2560)
    assert (own.grid, other.grid) == ((3907, 1, 1), (10, 1, 1))
    assert (own.shared_bytes, own.follows_from) == (1024, {})
    assert other.named["half"] == Scalar(1280)
    assert other.named["x"] == Buffer(10240)
    shape = other.named["shape"]
    assert isinstance(shape, Structure)
    assert shape.data[:4] == (10).to_bytes(4, "little")
    assert shape.buffers == {8: Buffer(10240)}
    assert other.follows_from == {"n": 2560}
    assert read_launches(tmp_path / "launches.toml") == (own,)


def test_names_that_are_no_parameters_serve_rules_only(tmp_path: Path) -> None:
    text = FILE.replace("arguments.n = 1000000", "arguments.n = '2*N'")
    found = launch(text, tmp_path, N=512, unused=7)
    assert found.named["n"] == Scalar(1024)
    assert found.follows_from == {"N": 512}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FILE.replace("ceil_div(n, blockDim.x)", "n/256"), "grid must be a whole number, but"),
        (FILE.replace("ceil_div(n, blockDim.x)", "n - 1000000"), "grid x must be 1 to"),
        (FILE.replace("n = 1000000", "n = 'half'"), "rules go in a circle: n from half from n"),
        (FILE.replace('4*n" }\n', 'm" }\n'), "argument 'x': bytes must be a number"),
        (FILE.replace("i32 n//256", "i32 q"), "argument 'shape' must be .* 'q' has none"),
    ],
)
def test_files_whose_rules_give_nothing(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(PerfmodelError, match=message):
        launch(text, tmp_path)


def test_commas_of_calls_separate_no_sides() -> None:
    assert split("ceil_div(n, 32),max(m, 8)") == ["ceil_div(n, 32)", "max(m, 8)"]
    assert [side.text for side in sides("64x8", "")] == ["64", "8"]
    assert [side.text for side in sides("max(n, 1), m", "")] == ["max(n, 1)", "m"]


DRAWN = """
[[launch]]
kernel = "saxpy"
grid = "ceil_div(n, 256)"
block = 256
arguments.n = 1000
arguments.x = {{ bytes = "4*n", type = "i32", {content} }}
"""


def test_what_a_buffer_holds_follows_from_the_launchs_numbers(tmp_path: Path) -> None:
    text = DRAWN.format(content='fill = "uniform", below = "n//2"')
    for n, below in ((1000, 500), (4096, 2048)):
        (held,) = (b for b in launch(text, tmp_path, n=n).named.values() if isinstance(b, Buffer))
        assert (held.bytes, held.below, held.below_all) == (4 * n, below, below)
    text = DRAWN.format(content='fill = "index", step = "ceil_div(n, 300)"')
    (held,) = (b for b in launch(text, tmp_path).named.values() if isinstance(b, Buffer))
    content = held.content("x")
    assert content is not None
    assert content[:3].tolist() == [0, 4, 8]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('below = "n - 1000"', "argument 'x': below must be 1 or more, but 'n - 1000' is 0"),
        ('below = "n/3"', "argument 'x': below must be a whole number, but 'n/3' is 333.333"),
        ('step = "many"', "argument 'x': step must be a number such as"),
    ],
)
def test_content_that_follows_from_nothing_is_refused(
    content: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(PerfmodelError, match="launch 1, ") as caught:
        launch(DRAWN.format(content=f'fill = "uniform", {content}'), tmp_path)
    assert message in str(caught.value)
