"""Every view works for whatever a prediction is made of, and says nothing impossible.

Property tests over launches drawn at random; ``PERFMODEL_DRAWN_TIMES=20`` draws twenty times as
many.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from functools import cache, lru_cache
from pathlib import Path

import pytest
import views
from drawn_launches import Drawn, drawn
from programs import launch, sample_program
from typer.testing import CliRunner

from perfmodel import Prediction, predict
from perfmodel.cli.app import app
from perfmodel.cuda.kernel.translate import translated
from perfmodel.errors import PerfmodelError
from perfmodel.kernels import Kernel
from perfmodel.prediction.advise import advise

TIMES = int(os.environ.get("PERFMODEL_DRAWN_TIMES", "1"))
"""How many times as many launches are drawn."""
DRAWN = 200 * TIMES
OF_A_KERNEL = 3 * TIMES
"""Launches that are drawn, and how many of each kernel are looked at: the first."""
ALSO = (100, 137)
"""Seeds of two more, which instruction issue and tensor cores bind."""
PARTS = 6
"""Of each part one launch has its formulas, advice and report page made as well."""
TENSOR = Drawn(
    *("gemm", "tensor-core", {"M": 1, "N": 4096, "K": 4096}, "h100-sxm", "profiler", "warm")
)
"""A decode step's projection, where L2 binds blocks that copy ahead: it ended in a KeyError."""


def check(case: Drawn, found: Prediction, everything: bool) -> None:
    views.check_prediction(found)
    views.check_explanation(found)
    views.check_roofline(found)
    views.check_sources(found)
    if everything:
        views.check_latex(found)
        advice = advise(case.found(), **case.options, **case.params)
        views.check_advice(advice)
        views.check_page(found, advice)


@cache
def seeds() -> list[int]:
    """Return the seeds of the launches that are looked at."""
    came: Counter[tuple[str, str | None]] = Counter()
    found = []
    for seed in range(DRAWN):
        case = drawn(random.Random(seed))
        came[case.kernel, case.mapping] += 1
        if came[case.kernel, case.mapping] <= OF_A_KERNEL or seed in ALSO:
            found.append(seed)
    return found


@pytest.mark.parametrize("part", range(PARTS))
def test_views_of_drawn_launches(part: int) -> None:
    checked = 0
    some = seeds()[part::PARTS]
    for seed in some:
        case = drawn(random.Random(seed))
        try:
            found = case.predicted()
            found.to_json()
        except PerfmodelError:
            continue
        try:
            check(case, found, checked == 0)
        except Exception as error:
            raise AssertionError(f"perfmodel predict {' '.join(case.words())}: {error}") from error
        checked += 1
    assert checked >= len(some) // 2


def test_views_of_a_projection_that_l2_binds() -> None:
    found = TENSOR.predicted()
    assert found.bottleneck == "l2"
    check(TENSOR, found, everything=True)


@lru_cache(maxsize=64)
def of_ptx(name: str, blocks: int, block: int) -> Kernel:
    """Translate a kernel of the samples, over as many elements as there are threads."""
    n = blocks * block - 3
    side = max(int(n**0.5) // 32 * 32, 32)
    given = {
        "saxpy": ((blocks,), (block,), {"n": n, "a": 2.0}),
        "grid_stride": ((blocks,), (block,), {"n": 8 * n}),
        "transpose": ((side // 32, side // 32), (32, 8), {"w": side, "h": side}),
        "stencil": ((side // 32, side // 8), (32, 8), {"nx": side, "ny": side}),
        "copy_vectors": ((blocks,), (block,), {"n": n}),
        "warp_sums": ((blocks,), (block,), {"n": n}),
        "histogram": ((blocks,), (block,), {"n": n}),
        "gather": ((blocks,), (block,), {"n": n}),
    }
    grid, threads, arguments = given[name]
    return translated(sample_program(), launch(grid, threads, **arguments), name)


@pytest.mark.parametrize("name", ["saxpy", "transpose", "stencil", "warp_sums", "histogram"])
def test_views_of_programs(name: str) -> None:
    rng = random.Random(name)
    for _ in range(TIMES):
        kernel = of_ptx(name, rng.choice((1, 33, 264, 4000)), rng.choice((64, 256)))
        device, cache = rng.choice(("h100-sxm", "a100-sxm-80")), rng.choice(("cold", "warm"))
        found = predict(kernel, device=device, cache=cache)
        views.check_prediction(found)
        views.check_explanation(found)
        views.check_roofline(found)
        views.check_sources(found)
    advice = advise(kernel, device=device, cache=cache)
    views.check_advice(advice)
    views.check_page(found, advice)


@pytest.mark.parametrize("seed", [3, 26, 42, 55])
def test_commands_of_drawn_launches(seed: int, tmp_path: Path) -> None:
    case = drawn(random.Random(seed))
    words = case.words()

    def run(*line: str) -> str:
        result = CliRunner().invoke(app, line)
        assert result.exit_code == 0, (line, result.output, result.exception)
        return result.stdout

    views.check_record(json.loads(run("predict", *words, "--json")))
    for command in ("predict", "explain", "advise"):
        views.check_text(run(command, *words))
    for command in ("explain", "advise"):
        views.check_json(json.loads(run(command, *words, "--json")))
    run("report", *words, "-o", str(tmp_path / "page"))
    assert (tmp_path / "page" / "index.html").stat().st_size > 10_000


def test_the_command_itself() -> None:
    line = [sys.executable, "-m", "perfmodel", "predict", *TENSOR.words()]
    found = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")
    assert "L2 is busy" in views.check_text(found.stdout)
