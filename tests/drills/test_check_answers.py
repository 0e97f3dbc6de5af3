"""What answers may look like, and where they stop being right."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfmodel.drills import Solution, check, load_drills, read_drills, work
from perfmodel.drills.quantity import read_quantity
from perfmodel.errors import PerfmodelError

DRILLS = {drill.id: drill for drill in load_drills()}


def solved(name: str) -> Solution:
    return work(DRILLS[name])


def right(name: str, answer: str) -> bool:
    return check(solved(name), answer).right


@pytest.mark.parametrize(
    "answer",
    [
        *("2.147GB", "2.147 GB", "2147.483648 MB", "2GiB", "2048MiB", "2097152 KiB", "2.147e9B"),
        *("2147483648B", "0.00195312499TiB", "+2.147GB"),
    ],
)
def test_one_amount_of_data_in_many_units(answer: str) -> None:
    assert right("decode-cache-bytes", answer)


@pytest.mark.parametrize("answer", ["1.07ms", "1074us", "1074 µs", "0.00107s", "1.074e6 ns"])
def test_one_time_in_many_units(answer: str) -> None:
    assert right("decode-cache-time", answer)


@pytest.mark.parametrize("answer", ["12.5%", "0.125", "1/8", "12.5 %", "4/32", ".125"])
def test_one_share_in_many_ways(answer: str) -> None:
    assert right("stride-32-share", answer)


@pytest.mark.parametrize("answer", ["0.5", "50%", "1/2"])
def test_one_ratio_in_many_ways(answer: str) -> None:
    assert right("two-kernels", answer)


@pytest.mark.parametrize("answer", ["8", "8x", "8 times", "8×", "16/2"])  # noqa: RUF001
def test_one_factor_in_many_ways(answer: str) -> None:
    assert right("strided-cost", answer)


@pytest.mark.parametrize("answer", ["28", "28 sectors", "28 sector", "28 Sectors", "28.0"])
def test_counts_may_say_what_they_count(answer: str) -> None:
    assert right("stride-7-sectors", answer)


@pytest.mark.parametrize("answer", ["65536", "65,536", "6.5536e4"])
def test_thousands_may_be_separated(answer: str) -> None:
    assert right("privatised-atomics", answer)


@pytest.mark.parametrize("answer", ["32,1,32", "32, 1, 32", "(32, 1, 32)", "32; 1; 32", "32,1,32 "])
def test_several_numbers_in_order(answer: str) -> None:
    assert right("naive-sectors", answer)
    assert not right("naive-sectors", "1, 32, 32")


# by hand: 1.073741824 ms within 2%: 1.05226698752 to 1.09521666048
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("1.0523ms", True),
        ("1.0522ms", False),
        ("1.0952ms", True),
        ("1.0953ms", False),
        ("1.05226698752ms", True),
        ("1.09521666048ms", True),
        ("-1.07ms", False),
        ("0s", False),
        ("1e300s", False),
    ],
)
def test_edges_of_the_tolerance(answer: str, expected: bool) -> None:
    assert right("decode-cache-time", answer) is expected


@pytest.mark.parametrize("answer", ["27.999", "28.001", "27", "29"])
def test_counts_are_exact(answer: str) -> None:
    assert not right("stride-7-sectors", answer)


def test_zero_is_an_answer() -> None:
    for name in ("lru-full", "exam-close-window"):
        assert right(name, "0")
        assert check(solved(name), "0").error is None
    assert right("exam-close-window", "0 B")
    assert right("exam-close-window", "0KiB")
    assert not right("exam-close-window", "1B")
    assert not right("lru-full", "0.1%")


def test_mistakes_are_explained() -> None:
    verdict = check(solved("decode-cache-time"), "2.15ms")
    assert not verdict.right
    assert verdict.mistake is not None
    assert "half" in verdict.mistake.say
    assert verdict.error == pytest.approx(2.15 / 1.073741824 - 1)
    assert check(solved("decode-cache-time"), "5ms").mistake is None


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("base_ptr, num_bytes, hitRatio, hitProp, missProp", True),
        ("missProp num_bytes hitratio HITPROP base_ptr", True),
        ("accessPolicyWindow.base_ptr; num_bytes; hitRatio; hitProp; missProp", True),
        ("base_ptr + num_bytes + hitRatio + hitProp + missProp", True),
        ("base_ptr, num_bytes, hitRatio, hitProp", False),
        ("base_ptr, num_bytes, hitRatio, hitProp, hitProp", False),
        ("base_ptr, num_bytes, hitRatio, hitProp, missProp, size", False),
    ],
)
def test_names_in_any_order(answer: str, expected: bool) -> None:
    assert right("exam-window-fields", answer) is expected


@pytest.mark.parametrize(
    ("name", "answer", "expected"),
    [
        ("exam-capability", "8.0", True),
        ("exam-capability", "8", True),
        ("exam-capability", "sm_80", True),
        ("exam-capability", "8.6", False),
        ("exam-capability", "80", False),
        ("exam-mig", "disabled", True),
        ("exam-mig", "Disabled", True),
        ("exam-mig", "A", True),
        ("exam-mig", "b)", False),
        ("exam-set-aside-limit", "prop.persistingL2CacheMaxSize", True),
        ("exam-set-aside-limit", "prop->persistingL2CacheMaxSize", True),
        ("exam-set-aside-limit", "l2CacheSize", False),
        ("exam-annotated-pointer", "annotated_ptr", True),
        ("exam-annotated-pointer", "cuda::annotated_ptr<float>", False),
        ("exam-reset", "cudaCtxResetPersistingL2Cache();", True),
        # published: as the article's exam table has its answers
        ("exam-set-aside-call", "cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, size)", True),
        ("exam-set-aside-call", "cudaDeviceSetLimit(cudaLimitStackSize, size)", False),
        ("exam-set-aside-call", "cudaDeviceSetLimit(size)", False),
        (
            "exam-window-objects",
            "CUDA Stream (cudaStreamAttributeAccessPolicyWindow) / "
            "Graph Kernel Node (cudaKernelNodeAttributeAccessPolicyWindow)",
            True,
        ),
        ("exam-window-objects", "CUDA Stream (cudaStreamAttributeAccessPolicyWindow)", False),
        (
            "exam-query",
            "cudaGetDeviceProperties → l2CacheSize / persistingL2CacheMaxSize / "
            "accessPolicyMaxWindowSize",
            True,
        ),
        ("exam-query", "cudaGetDeviceProperties(&prop, device)", True),
        ("exam-query", "l2CacheSize", False),
        (
            "exam-query-fields",
            "cudaGetDeviceProperties → l2CacheSize / persistingL2CacheMaxSize / "
            "accessPolicyMaxWindowSize",
            True,
        ),
        ("exam-query-fields", "l2CacheSize, persistingL2CacheMaxSize", False),
        ("exam-reset-ways", "normal window / cudaCtxResetPersistingL2Cache() / automatic", True),
        ("exam-reset-ways", "cudaCtxResetPersistingL2Cache, waiting", False),
        ("exam-close-window", "num_bytes = 0", True),
        ("exam-close-window", "num_bytes = 1B", False),
    ],
)
def test_words_and_choices(name: str, answer: str, expected: bool) -> None:
    assert right(name, answer) is expected


@pytest.mark.parametrize(
    ("name", "answer", "part"),
    [
        ("decode-cache-time", "1.07", "has no unit: give a time: s, ms, us or ns"),
        ("decode-cache-time", "1.07GB", "is in GB: give a time"),
        ("decode-cache-time", "1.07MS", "unknown unit 'MS'"),
        ("decode-cache-time", "1.07 apples", "is in apples"),
        ("decode-cache-time", "soon", "must be a number such as"),
        ("decode-cache-time", "nan ms", "must be a number"),
        ("decode-cache-time", "inf", "must be a number"),
        ("decode-cache-time", "1e999s", "no finite number"),
        ("decode-cache-time", "1/0 s", "divides by zero"),
        ("decode-cache-time", "1" * 100, "must be a number"),
        ("decode-cache-time", "", "1 to 500 characters, not 0"),
        ("decode-cache-time", "   ", "1 to 500 characters"),
        ("decode-cache-time", "9" * 501, "not 501"),
        ("decode-cache-time", "__import__('os').system('true')", "must be a number"),
        ("decode-cache-time", "1.07ms, 2ms", "gives 2 numbers, but one number is asked for"),
        ("decode-cache-bytes", "2.147gb", "unknown unit 'gb'; did you mean 'GB'?"),
        ("stride-32-share", "12.5", "is no share"),
        ("stride-32-share", "12.5ms", "is no share"),
        ("strided-cost", "8ms", "is no factor"),
        ("stride-7-sectors", "28 lines", "is in lines: give a number of sectors"),
        ("stride-7-sectors", "896 B", "is in B"),
        ("naive-sectors", "32", "gives one number, but 3 numbers are asked for: separate"),
        ("exam-mig", "e", "none of the choices: give a letter from a to c"),
        ("exam-mig", "doubled", "none of the choices"),
    ],
)
def test_answers_that_cannot_be_read(name: str, answer: str, part: str) -> None:
    with pytest.raises(PerfmodelError) as caught:
        check(solved(name), answer)
    message = str(caught.value)
    assert part in message
    assert "\n" not in message
    assert len(message) < 300


def test_quantities() -> None:
    # by hand; powers of 1000 and of 1024 stay apart
    assert read_quantity("1 kB", "x") == (1000, "kB")
    assert read_quantity("1KiB", "x") == (1024, "KiB")
    assert read_quantity("1.5 MiB", "x").value == 1.5 * 1024**2
    assert read_quantity("2 TB/s", "x").value == 2e12
    assert read_quantity("25%", "x").value == 0.25
    assert read_quantity("3/4", "x").value == 0.75
    assert read_quantity("1.98 GHz", "x").value == 1.98e9
    assert isinstance(read_quantity("16 MiB", "x").value, int)


def test_tolerance_of_zero_and_of_a_list(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        """
[[drill]]
id = "pair"
title = "Pair"
question = "?"
answer = { value = ["1/3", 200], unit = "", tolerance = 0.1 }
[[drill]]
id = "third"
title = "Third"
question = "?"
answer = { value = "1/3", tolerance = 0 }
"""
    )
    pair, third = (work(drill) for drill in read_drills(path))
    assert check(pair, "0.3, 220").right  # 10% off each, just in
    assert not check(pair, "0.3, 221").right
    assert check(third, "1/3").right
    assert not check(third, "0.3333").right
