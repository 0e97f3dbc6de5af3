"""Reports on a terminal of 60 columns: nothing is wider, and names stay whole."""

from __future__ import annotations

from collections.abc import Callable
from itertools import dropwhile

import pytest

Run = Callable[..., str]


@pytest.mark.parametrize(
    ("words", "whole"),
    [
        (["predict", "gemm"], ["load A", "store C", "dispatch"]),
        (["predict", "gemm", "-D", "N=64,128"], ["64", "128"]),
        (
            ["ladder", "-D", "N=1024"],
            ["blocktile-1d", "tensor-core", "the next rung removes", "too close to"],
        ),
        (["operators", "--model", "minigpt"], ["layernorm", "latency"]),
        (["kernels", "stream-persistent"], ["persistent_bytes", "stream_bytes"]),
        (["devices"], ["a100-sxm-40", "rtx-a6000"]),
        (["devices", "h100-sxm"], ["max_threads_per_block", "datasheet"]),
        (["simulate", "copy", "-D", "bytes=1MiB"], ["load in", "store out", "L2 hits"]),
    ],
)
def test_reports_on_sixty_columns(words: list[str], whole: list[str], run: Run) -> None:
    text = run(*words, columns=60)
    assert max(map(len, text.split("\n"))) <= 60
    for part in whole:
        assert part in text


@pytest.mark.parametrize(
    "words",
    [
        ["gemm", "--mapping", "naive", "-D", "N=1024"],
        ["gemm", "--mapping", "smem", "-D", "N=1024"],
        ["data-reset"],
        ["data-reset", "--mps"],
        ["atomic-add", "-D", "n=1e6"],
        ["read", "-D", "vector=4"],
    ],
)
def test_comments_of_advice_may_wrap(words: list[str], run: Run) -> None:
    # the second line of a // comment would be no comment
    text = run("advise", *words, columns=60)
    assert "//" not in text
    assert text.count("/*") == text.count("*/")


@pytest.mark.parametrize(
    ("words", "head", "indent"),
    [
        (["validate", "--device", "rtx-a6000"], "Worst ten", 10),
        (["drill", "2", "--solution"], "2. What perfmodel predicts", 3),
        (["advise", "gemm", "--mapping", "naive", "-D", "N=1024"], "1. ", 3),
    ],
)
def test_what_is_too_long_goes_on_beside_its_label(
    words: list[str], head: str, indent: int, run: Run
) -> None:
    lines = run(*words, columns=60).split("\n")
    found = [*dropwhile(lambda line: not line.startswith(head), lines)][1:8]
    # A case of the worst starts with its error, right-aligned.
    more = [line for line in found if line and "%  " not in line[:10] and line[0] not in "23"]
    assert len(more) > 2
    assert all(line.startswith(" " * indent) for line in more)
