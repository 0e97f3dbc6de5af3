"""Reports on a terminal of 60 columns: nothing is wider, and names stay whole."""

from __future__ import annotations

from collections.abc import Callable

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
