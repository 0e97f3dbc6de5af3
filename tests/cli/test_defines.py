"""Parameters of the command line. Expected values: hand count, unless a test says otherwise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.cli.defines import (
    MOST_COMBINATIONS,
    combinations,
    parse_defines,
    parse_value_lists,
)
from perfmodel.errors import PerfmodelError
from perfmodel.sizes import LARGEST, SUFFIXES, parse_size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4096", 4096),
        ("0", 0),
        ("007", 7),
        ("1_000_000", 1_000_000),
        ("1e6", 1_000_000),
        ("1E+3", 1000),
        ("1.5e1", 15),
        ("100e-2", 1),
        ("0x1000", 4096),
        ("0XfF", 255),
        ("0x10B", 267),  # hexadecimal digits, not bytes
        ("64B", 64),
        ("16MiB", 16 * 1024 * 1024),
        ("16 MiB", 16 * 1024 * 1024),
        ("16MB", 16_000_000),
        ("1kB", 1000),
        ("1KB", 1000),
        ("1KiB", 1024),
        ("4GB", 4_000_000_000),
        ("4GiB", 4 * 1024**3),
        ("2TB", 2 * 10**12),
        ("2TiB", 2 * 1024**4),
        ("1.5GiB", 3 * 512 * 1024**2),
        ("0.5KiB", 512),
        ("4611686018427387904", 2**62),
    ],
)
def test_sizes(text: str, expected: int) -> None:
    assert parse_size(text, "n") == expected


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "has no value"),
        ("-5", "must not be negative"),
        ("-inf", "must not be negative"),
        ("nan", "must be a whole number"),
        ("inf", "must be a whole number"),
        ("NaN", "must be a whole number"),
        ("1.5", "must be a whole number"),
        ("1e-3", "must be a whole number"),
        ("1e-999999999", "must be a whole number"),
        ("0.3KiB", "must be a whole number"),
        ("1e400", "at most 2**62"),
        ("1e999999999", "at most 2**62"),
        ("4611686018427387905", "at most 2**62"),
        ("99999999999999999999", "at most 2**62"),
        ("9" * 10_000, "at most 2**62"),
        ("0x" + "f" * 10_000, "at most 2**62"),
        ("4194305TiB", "at most 2**62"),
        ("64k", "did you mean 'kB' (power of 1000) or 'KiB' (power of 1024)"),
        ("64kib", "did you mean 'kB'"),
        ("64mb", "did you mean 'MB' (power of 1000) or 'MiB' (power of 1024)"),
        ("64gib", "did you mean 'GB'"),
        ("64QB", "use kB, MB"),
        ("1__0", "must be a whole number"),
        ("_1", "must be a whole number"),
        ("1 2", "must be a whole number"),
        ("+1", "must be a whole number"),
        ("1e", "unknown suffix"),
        ("0x", "unknown suffix"),
        ("4096;", "must be a whole number"),
        ("٤", "must be a whole number"),  # a digit to Python's int, but not here
        ('__import__("os")', "must be a whole number"),
        ("2**3", "must be a whole number"),
    ],
)
def test_what_is_no_size(text: str, part: str) -> None:
    with pytest.raises(PerfmodelError) as caught:
        parse_size(text, "-D n")
    message = str(caught.value)
    assert part in message
    assert message.startswith("-D n")
    assert len(message) < 250


@given(st.integers(0, 4000), st.sampled_from(sorted(SUFFIXES)))
def test_a_suffix_multiplies(value: int, suffix: str) -> None:
    assert parse_size(f"{value}{suffix}", "n") == value * SUFFIXES[suffix]


@given(st.integers(0, LARGEST))
def test_integers_come_back(value: int) -> None:
    for text in (str(value), hex(value), f"{value:_}"):
        assert parse_size(text, "n") == value


@given(st.text(max_size=200))
def test_any_text_is_a_size_or_refused_in_one_line(text: str) -> None:
    try:
        value = parse_size(text, "n")
    except PerfmodelError as error:
        refusal = str(error)
        assert refusal.isprintable(), refusal
    else:
        assert 0 <= value <= LARGEST


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("N=1,2,4", (1, 2, 4)),
        ("N=1, 2", (1, 2)),
        ("N=128:512:128", (128, 256, 384, 512)),
        ("N=128:500:128", (128, 256, 384)),
        ("N=5:5:1", (5,)),
        ("N=0:2:1", (0, 1, 2)),
        ("N=1:16:*2", (1, 2, 4, 8, 16)),
        ("N=1:17:*4", (1, 4, 16)),
        ("N=1KiB:4KiB:*2", (1024, 2048, 4096)),
        ("N=1kB:3kB:1kB", (1000, 2000, 3000)),
        ("N=7,8:10:1", (7, 8, 9, 10)),
        (" N = 3 ", (3,)),
    ],
)
def test_lists_and_ranges(text: str, expected: tuple[int, ...]) -> None:
    assert parse_value_lists([text]) == {"N": expected}


@pytest.mark.parametrize(
    ("defines", "part"),
    [
        (["N4096"], "has no '='"),
        ([""], "has no '='"),
        (["=5"], "must start with a parameter's name"),
        (["2N=5"], "must start with a parameter's name"),
        (["N="], "has no value"),
        (["N=1,"], "has no value"),
        (["N=,"], "has no value"),
        (["N=1", "N=2"], "is given twice"),
        (["N=1,M=2"], "must be a whole number"),
        (["N=1:2"], "start:stop:step"),
        (["N=1:2:3:4"], "start:stop:step"),
        (["N=::"], "has no value"),
        (["N=4:2:1"], "must not stop before it starts"),
        (["N=1:2:0"], "step must be at least 1"),
        (["N=1:2:-1"], "must not be negative"),
        (["N=1:8:*1"], "factor must be at least 2"),
        (["N=1:8:*"], "has no value"),
        (["N=0:8:*2"], "must start above 0"),
        (["N=1:1e9:1"], "1000000000 configurations, at most 10000"),
        (["N=" + "1," * 10_000 + "1"], "10001 configurations"),
        (["device=h100-sxm"], "-D device is no parameter of the kernel"),
        (["kernel=1"], "what --help lists goes without -D"),
    ],
)
def test_what_is_no_list_of_values(defines: list[str], part: str) -> None:
    with pytest.raises(PerfmodelError) as caught:
        parse_value_lists(defines, known=["N"])
    assert part in str(caught.value)
    assert len(str(caught.value)) < 250


def test_arguments_of_a_program_have_any_name() -> None:
    assert parse_value_lists(["device=3", "kernel=4"]) == {"device": (3,), "kernel": (4,)}


def test_one_value_each() -> None:
    assert parse_defines(["N=4096", "M=16MiB"]) == {"N": 4096, "M": 16 * 2**20}
    assert parse_defines([]) == {}
    with pytest.raises(PerfmodelError, match="-D N gives 2 values"):
        parse_defines(["N=1,2"])


def test_combinations() -> None:
    assert combinations({}) == [{}]
    assert combinations({"a": (1, 2), "b": (3, 4)}) == [
        {"a": 1, "b": 3},
        {"a": 1, "b": 4},
        {"a": 2, "b": 3},
        {"a": 2, "b": 4},
    ]
    assert len(combinations({"a": range(100), "b": range(100)})) == MOST_COMBINATIONS
    with pytest.raises(PerfmodelError, match="10100 configurations, at most 10000"):
        combinations({"a": range(100), "b": range(101)})
