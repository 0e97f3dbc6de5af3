"""Users' drill files: what they may say, what is refused, and that nothing in them is run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from perfmodel.drills import check, find_drill, load_drills, read_drills, work
from perfmodel.drills.quantity import Quantity
from perfmodel.errors import PerfmodelError

Write = Callable[..., Path]

HEAD = '[[drill]]\nid = "mine"\ntitle = "Mine"\nquestion = "How many?"\n'


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def make(body: str, head: str = HEAD, name: str = "mine.toml") -> Path:
        path = tmp_path / name
        path.write_text(head + body)
        return path

    return make


def answer_of(path: Path, device: str = "") -> float:
    found = work(read_drills(path)[0], device).answer[0]
    assert isinstance(found, Quantity)
    return float(found.value)


def test_the_example_of_the_readme(write: Write) -> None:
    import perfmodel.drills

    readme = Path(perfmodel.drills.__file__).parent / "library" / "README.md"
    example = readme.read_text().partition("```toml\n")[2].partition("```")[0]
    drill = read_drills(write(example, head=""))[0]
    # by hand: 128 B of the 20 sectors from byte 0 to byte 31 x 20 + 3 = 623, that is of 640 B
    assert answer_of(drill.file) == 0.2
    assert check(work(drill), "1/5").right
    assert check(work(drill), "1/8").mistake is not None


def test_each_kind_of_number(write: Write) -> None:
    path = write(
        """
given = { n = 4, size = "16 KiB" }
answer = { value = "a + b + c + d + e + f + g + h" }
[[drill.step]]
say = "An expression:"
name = "a"
value = "where(n > 3, size // 1024, 0)"            # 16
[[drill.step]]
say = "A figure, SMs of an H100:"
name = "b"
figure = { name = "sm_count", device = "h100-sxm" } # 132
[[drill.step]]
say = "A prediction, 1 MiB in sectors of 32 B:"
name = "c"
predict = { kernel = "copy", params = { bytes = "size*64" }, read = "traffic.global_load_sectors" }
[[drill.step]]
say = "A warp, uneven: floats 0, 1, 4, 9 ... 961, by hand in 27 sectors:"
name = "d"
warp = { address = "4*lane*lane", read = "granules" }
[[drill.step]]
say = "A trace, three of four lines fit: none hits in order, by hand:"
name = "e"
lru = { capacity = 3, window = 4, passes = 3, read = "hits" }
[[drill.step]]
say = "A closed form, 16/16:"
name = "f"
formula = { name = "residency.PICKED", values = { r = 1 } }
[[drill.step]]
say = "A measurement, 233.344 us:"
name = "g"
[drill.step.measured]
folder = "suite/h200-sxm/foundation"
topic = "streams"
column = "time_us"
where = { kernel = "read", bytes = 1073741824, vector = 16, block = 256, timing = "profiler" }
[[drill.step]]
say = "A citation:"
name = "h"
cited = { value = "2 ms", source = "somebody" }
[[drill.step]]
say = "A table, and only words with {a} and {size:B}:"
trace = { variable = "v", values = [1, 2], columns = { square = "v*v" } }
"""
    )
    squares = {4 * lane * lane // 32 for lane in range(32)}
    by_hand = 16 + 132 + 2**20 / 32 + len(squares) + 0 + 1 + 233.344e-6 + 2e-3
    assert answer_of(path) == pytest.approx(by_hand, rel=1e-12)
    lines = work(read_drills(path)[0]).lines
    assert lines[-1].found is not None
    assert lines[-1].found.rows == (("v", "square"), ("1", "1"), ("2", "4"))
    assert all(line.found.origin for line in lines[1:-1] if line.found is not None)


def test_a_kernel_file_beside_the_drill(write: Write, tmp_path: Path) -> None:
    (tmp_path / "fill.toml").write_text(
        'name = "fill"\n[launch]\ngrid = 10\nblock = 64\n[buffers]\nout = { length = 640 }\n'
        '[[accesses]]\nstore = "out"\nindex = "blockIdx.x*64 + threadIdx.x"\n'
    )
    path = write(
        'answer = { value = "s", tolerance = 0 }\n[[drill.step]]\nsay = "640 floats:"\nname = "s"\n'
        'predict = { kernel = "fill.toml", read = "traffic.global_store_sectors" }\n'
    )
    assert answer_of(path) == 640 * 4 / 32


def test_own_drills_come_after_the_packages(write: Write, tmp_path: Path) -> None:
    write("answer = { value = 1 }", name="b.toml")
    write("answer = { value = 2 }", head=HEAD.replace("mine", "other"), name="a.toml")
    (tmp_path / "notes.txt").write_text("not a drill")
    own = load_drills([tmp_path])
    assert [d.id for d in own[len(load_drills()) :]] == ["other", "mine"]
    assert find_drill(own, "mine") == len(own) - 1
    assert find_drill(own, "1") == 0
    with pytest.raises(PerfmodelError, match=r"the id 'mine' is taken by a drill of b\.toml"):
        load_drills([tmp_path, tmp_path / "b.toml"])
    with pytest.raises(PerfmodelError, match=r"there is no drill 999: numbers go from 1 to"):
        find_drill(own, "999")
    with pytest.raises(PerfmodelError, match="did you mean 'mine'"):
        find_drill(own, "mime")


def test_folders_without_drills(tmp_path: Path) -> None:
    with pytest.raises(PerfmodelError, match="has no drill files"):
        load_drills([tmp_path])
    with pytest.raises(PerfmodelError, match="does not exist"):
        load_drills([tmp_path / "nothing.toml"])


STEP = 'answer = { value = 1 }\n[[drill.step]]\nsay = "x"\n'


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ("", "has no answer: add answer"),
        ("answer = 4", "answer must be a table"),
        ("answer = {}", "must have one of value, words and choices, not none"),
        ('answer = { value = 1, words = ["a"] }', "not value and words"),
        ('answer = { value = "a" }', "'a'"),
        ('answer = { value = "1 +" }', "is not an expression"),
        ("answer = { value = [] }", "one to 8 numbers"),
        ("answer = { value = true }", "must be a number or an expression"),
        ("answer = { value = nan }", "finite"),
        ("answer = { value = 1, tolerance = 1 }", "from 0 to below 1"),
        ("answer = { value = 1, tolerance = nan }", "from 0 to below 1"),
        ('answer = { value = 1, tolerance = "2%" }', "must be a share"),
        ('answer = { value = 1, unit = "gb" }', "unknown unit 'gb'; did you mean 'GB'?"),
        ('answer = { value = 1, unit = "5" }', "unknown unit '5'"),
        ("answer = { words = [] }", "1 to 40 words"),
        ("answer = { words = [[]] }", "empty list of spellings"),
        ('answer = { words = ["a"], unit = "B" }', "unit does not go with words"),
        ('answer = { choices = ["a"], right = "a" }', "a list of 2 to 26"),
        ('answer = { choices = ["a", "a"], right = "a" }', "one of them twice"),
        ('answer = { choices = ["a", "b"] }', "needs right"),
        ('answer = { choices = ["alpha", "beta"], right = "alpa" }', "did you mean 'alpha'?"),
        ('answer = { value = 1 }\nhint = "{x}"', "names nothing known by then"),
        ('answer = { value = 1 }\nhint = "{x.__class__}"', "braces stand for values"),
        ('answer = { value = 1 }\nhint = "{0}"', "braces stand for values"),
        ('answer = { value = 1 }\nhardware = "{n:gb}"\ngiven = { n = 1 }', "unknown unit 'gb'"),
        ('answer = { value = 1 }\nhint = "a\\u0000b"', "printable text"),
        ('answer = { value = 1 }\ngiven = { "1x" = 2 }', "must start with a letter"),
        ("answer = { value = 1 }\ngiven = { min = 2 }", "min"),
        ("answer = { value = 1 }\ngiven = { lambda = 2 }", "lambda"),
        ("answer = { value = 1 }\ngiven = { device = 2 }", "is taken"),
        ('answer = { value = 1 }\ngiven = { n = "many" }', "must be a number such as"),
        ('answer = { value = 1 }\ngiven = { n = "1e999" }', "no finite number"),
        ('answer = { value = "1/0" }', "divides by zero"),
        (STEP + "predict = { kernel = 'copy', set_aside = 'lots', read = 'a' }", "lots"),
        ("answer = { value = 1 }\ngiven = 3", "given must be a table"),
        ("answer = { value = 1 }\nstep = 3", "step must be a list"),
        ("answer = { value = 1 }\nhnit = 3", "did you mean 'hint'?"),
        ("answer = { value = 1 }\n[[drill.mistake]]\nsay = 'x'", "needs value for an answer in"),
        (STEP + "valu = 1", "unknown key 'valu'; did you mean 'value'?"),
        (STEP + "value = 1\nfigure = 'l2_size'", "has value and figure"),
        (STEP + "name = 'a'", "has a name, but no number"),
        (STEP + "name = 'a b'\nvalue = 1", "must start with a letter"),
        (STEP + "warp = {}", "has no address"),
        (STEP + "warp = { address = 'x', read = 'granules' }", "x"),
        (STEP + "warp = { address = 'lane', read = 'all' }", "granules, moved_bytes"),
        (STEP + "lru = { capacity = 1, window = 1, read = 'x' }", "hits, misses"),
        (STEP + "predict = { kernel = 'copy' }", "has no read"),
        (STEP + "predict = { kernel = 'copy', read = 'time_s', eval = 1 }", "unknown key 'eval'"),
        (STEP + "measured = { folder = 'x' }", "has no topic"),
        (STEP + "cited = { value = 1 }", "has no source"),
        (STEP + "trace = { variable = 'v', values = [], columns = {} }", "1 to 64 whole numbers"),
        (STEP + "trace = { variable = 'v', values = [0.5], columns = {} }", "whole numbers"),
    ],
)
def test_malformed_files(body: str, part: str, write: Write) -> None:
    path = write(body)
    with pytest.raises(PerfmodelError) as caught:
        read_drills(path)
    message = str(caught.value)
    assert part in message
    assert message.startswith(f"drill file {str(path)!r}")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "has no drill"),
        ("drill = []", "a list of 1 to 200 tables"),
        ("drill = [3]", "must be a table"),
        ("[[drill]", "is not valid TOML"),
        ("a = " + "[" * 5000, "is not valid TOML"),
        ('[[drill]]\nid = "A B"\ntitle = "t"\nquestion = "q"\nanswer = 1', "must start with"),
        (HEAD.replace("Mine", "M" * 200) + "answer = { value = 1 }", "at most 80 characters"),
        ("x = 1\n" + HEAD + "answer = { value = 1 }", "unknown key 'x'"),
    ],
)
def test_files_that_are_none(text: str, part: str, write: Write) -> None:
    with pytest.raises(PerfmodelError) as caught:
        read_drills(write("", head=text))
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch hacked')",
        "().__class__.__bases__[0].__subclasses__()",
        "(lambda: 1)()",
        "open('/etc/passwd').read()",
        "[x for x in (1, 2)]",
        "n.real",
        "f'{n}'",
        "9**9**9**9",
        "exec('1')",
        "n if n else __builtins__",
        "(" * 500 + "1" + ")" * 500,
        "1" + "+1" * 9000,
        "n := 3",
        "print(n)",
        "'a'*10**9",
        "1; 2",
        "n\n; n",
    ],
)
@pytest.mark.parametrize("place", ["answer", "value", "warp", "trace", "params", "lru"])
def test_hostile_expressions(
    text: str, place: str, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    quoted = "'''" + text + "'''"
    params = f"{{ bytes = {quoted} }}"
    step = {
        "value": f"value = {quoted}",
        "warp": f"warp = {{ address = {quoted}, read = 'granules' }}",
        "trace": f"trace = {{ variable = 'v', values = [1], columns = {{ c = {quoted} }} }}",
        "params": f"predict = {{ kernel = 'copy', params = {params}, read = 'time_s' }}",
        "lru": f"lru = {{ capacity = {quoted}, window = 4, read = 'hits' }}",
    }.get(place, "value = 1")
    asked = quoted if place == "answer" else "1"
    path = write(
        f"given = {{ n = 2 }}\nanswer = {{ value = {asked} }}\n[[drill.step]]\nsay = 'x'\n{step}\n"
    )
    with pytest.raises(PerfmodelError) as caught:
        work(read_drills(path)[0])
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize(
    ("step", "part"),
    [
        ("figure = 'l3_size'", "has no figure 'l3_size'; did you mean"),
        ("figure = { name = 'l2_size', device = 'h100' }", "did you mean"),
        ("predict = { kernel = 'gem', read = 'time_s' }", "did you mean 'gemm'?"),
        ("predict = { kernel = 'copy', read = 'time' }", "has no 'time'"),
        ("predict = { kernel = 'copy', read = '__class__' }", "has no '__class__'"),
        ("predict = { kernel = 'copy', params = { byte = 1 }, read = 'time_s' }", "bytes"),
        ("predict = { kernel = 'copy', params = { bytes = 0 }, read = 'time_s' }", "must be 1"),
        ("predict = { kernel = 'copy', params = { bytes = 1.5 }, read = 'time_s' }", "whole"),
        ("predict = { kernel = 'copy', params = { device = 1 }, read = 'time_s' }", "device"),
        ("predict = { kernel = 'copy', timing = 'x', read = 'time_s' }", "profiler or events"),
        ("predict = { kernel = 'copy', cache = true, read = 'time_s' }", "cold or warm"),
        ("predict = { kernel = 'copy', window = 8, read = 'time_s' }", "window_buffer"),
        ("predict = { kernel = 'copy', hit_ratio = 1, read = 'time_s' }", "window_buffer"),
        ("predict = { kernel = 'copy', fetch_granularity = 48, read = 'time_s' }", "32, 64"),
        ("predict = { kernel = 'copy', set_aside = '1 TiB', read = 'time_s' }", "set_aside"),
        ("predict = { kernel = 'copy', set_aside = 0.5, read = 'time_s' }", "whole number"),
        (
            "predict = { kernel = 'gemm', params = { traffic = 'simulated' }, read = 'x' }",
            "traffic",
        ),
        ("predict = { kernel = '../x.toml', read = 'time_s' }", "does not exist"),
        ("warp = { address = '-4*lane', read = 'granules' }", "address is negative"),
        ("warp = { address = 'lane/3', read = 'granules' }", "must be a whole number"),
        ("warp = { address = 'lane', read = 'granules' }", "multiples of the 4 bytes"),
        ("warp = { address = 'lane', lanes = 0, read = 'granules' }", "1 to 1024 lanes"),
        ("warp = { address = 'lane', lanes = 1e9, read = 'granules' }", "1 to 1024 lanes"),
        ("warp = { address = '4*lane', granule = 30, read = 'granules' }", "whole lanes"),
        ("warp = { address = '4*lane', bytes = 0, read = 'granules' }", "at least its bytes"),
        ("lru = { capacity = 0, window = 4, read = 'hits' }", "1 to 4096 lines"),
        ("lru = { capacity = 4, window = 1e9, read = 'hits' }", "1 to 4096 lines"),
        ("lru = { capacity = 4, window = 4, picked = 2, read = 'hits' }", "picked must be"),
        ("lru = { capacity = 4, window = 4, passes = 99, read = 'hits' }", "1 to 16 passes"),
        ("formula = { name = 'residency.granted' }", "is no closed form"),
        ("formula = { name = 'os.system' }", "is no closed form"),
        ("formula = { name = 'residency.__doc__' }", "is no closed form"),
        ("formula = { name = 'residency.PICKED' }", "takes r, not nothing"),
        ("measured = { folder = '..', topic = 'x', column = 'y' }", "there are no measurements"),
        (
            "measured = { folder = 'suite/h200-sxm/sweep', topic = 'x', column = 'y' }",
            "mean 'suite/h200-sxm/sweeps'?",
        ),
        (
            "measured = { folder = 'suite/h200-sxm/foundation', topic = 'x', column = 'y' }",
            "have no topic 'x'",
        ),
        (
            "measured = { folder = 'suite/h200-sxm/foundation', topic = 'gemm', column = 'y' }",
            "no column 'y'",
        ),
        (
            "measured = { folder = 'suite/h200-sxm/sweeps', topic = 'gemm', column = 'time_us' }",
            "rows of",
        ),
        ("value = '1/(1 - 1)'", "divides by zero"),
        ("value = '2**63'", "overflow"),
    ],
)
def test_steps_that_have_no_value(step: str, part: str, write: Write) -> None:
    drill = read_drills(write(f"answer = {{ value = 1 }}\n[[drill.step]]\nsay = 'x'\n{step}\n"))[0]
    with pytest.raises(PerfmodelError) as caught:
        work(drill)
    message = str(caught.value)
    assert message.startswith("drill mine, step 1")
    assert part in message
    assert "\n" not in message


def test_a_pick_outside_the_choices(write: Write) -> None:
    drill = read_drills(write('answer = { choices = ["a", "b"], pick = "1 + 1" }'))[0]
    with pytest.raises(PerfmodelError, match="no position of 2 choices"):
        work(drill)
