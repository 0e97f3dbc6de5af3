"""The explanation as text and as LaTeX."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.mathtext import MathTextParser

from perfmodel import Prediction
from perfmodel.expressions import evaluate, parse
from perfmodel.reports.explain import explain
from perfmodel.reports.explain_latex import escaped, explanation_latex
from perfmodel.reports.explain_text import explanation_text
from perfmodel.reports.formula_text import number, pieces, quantity, resolved

Predicted = Callable[..., Prediction]

KERNELS = ["gemm:naive", "gemm:coalesced", "strided-copy", "copy", "stencil5", "polynomial"]
PREFIXES = {"ms": 1e3, "us": 1e6, "ns": 1e9, "MB": 1e-6, "GB": 1e-9, "TB": 1e-12} | {
    f"{p}B/s": f for p, f in (("G", 1e-9), ("T", 1e-12), ("P", 1e-15))
}


def test_naive_gemm_says_why_it_takes_33_clocks(predicted: Predicted) -> None:
    text = explanation_text(predicted("gemm:naive", N=4096))
    words = " ".join(text.split())
    assert "Load A[m*K + k], every k: 2.15G requests of 4 B per lane, each 32 sectors" in words
    assert "32 lines, 32 data and 8 tag wavefronts" in words
    assert "with m = blockIdx.x*blockDim.x + threadIdx.x" in words
    assert "= 6.872e10*(1 - 0.01405) = 6.775e10 clocks" in words
    assert re.search(r"L1 clocks per SM = max\(data \+ fills, .* = 5\.\d+e8 clocks", words)


def test_what_matters_is_said_with_each_step(predicted: Predicted) -> None:
    text = explanation_text(predicted("copy", bytes=1 << 28))
    lines = text.splitlines()
    (number,) = (
        i for i, line in enumerate(lines) if "time of a transfer = bytes/bandwidth" in line
    )
    assert re.fullmatch(r" *\d+ \+0\.97%  time of a transfer = .* = 170 us", lines[number])
    assert re.fullmatch(r"     bytes: step \d+; bandwidth: step \d+", lines[number + 1])
    words = " ".join(text.split())
    assert "peak: DRAM peak bandwidth [B/s], dram_bandwidth 3352.3 GB/s (measured)" in words
    assert "read: efficiency of reads alone, dram_read_efficiency 0.971 (fitted)" in words
    # of all times together only the longest matters
    assert re.search(r"memory: step \d+; the rest changes nothing here", words)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("width", [60, 80, 100])
def test_text_fits_and_ends_in_the_time(predicted: Predicted, kernel: str, width: int) -> None:
    prediction = predicted(kernel)
    lines = explanation_text(prediction, width).splitlines()
    assert max(map(len, lines)) <= width
    assert not any(line != line.rstrip() for line in lines)
    shown = quantity(prediction.time_s, "s")
    assert lines[-1].endswith(f"= {shown}")


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_numbers_shown_recompute(predicted: Predicted, kernel: str) -> None:
    """What a person reads, worked out with four digits, gives the result beside it."""
    for step in explain(predicted(kernel)):
        parts, _ = pieces(step)
        if len(parts) < 4:
            continue
        value, _, unit = parts[-1].partition(" ")
        worked = float(evaluate(parse(parts[2].replace("^", "**")), {}))
        factor = PREFIXES.get(unit, 1.0)
        # Times that are put in as ms come out as ms.
        if step.formula.unit == "s" and worked > 1e-2 * float(value):
            factor = 1.0
        assert worked * factor == pytest.approx(float(value), rel=4e-3), (step.title, parts)


def test_explaining_needs_no_sympy() -> None:
    code = (
        "import sys, perfmodel\n"
        "from perfmodel.reports.explain_text import explanation_text\n"
        "explanation_text(perfmodel.predict('gemm', mapping='naive', N=512))\n"
        "print(*sorted({'sympy', 'matplotlib'} & sys.modules.keys()))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert shown.strip() == ""


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.2753661, "s", "275.4 ms"),
        (2e-6, "s", "2 us"),
        (9.99996e-4, "s", "1 ms"),
        (0.0, "s", "0 ns"),
        (3.352e12, "B/s", "3.352 TB/s"),
        (9.9996e8, "B", "1 GB"),
        (16384, "B", "16384 B"),
        (1, "clocks", "1 clock"),
        (33.2578, "clocks", "33.26 clocks"),
        (0.125, "1", "0.125"),
    ],
)
def test_quantities(value: float, unit: str, shown: str) -> None:
    assert quantity(value, unit) == shown


@given(st.floats(1e-30, 1e30))
def test_numbers_keep_four_digits(value: float) -> None:
    assert float(number(value)) == pytest.approx(value, rel=5e-4)


def test_cases_are_chosen_and_named() -> None:
    node = parse("1 + where(a <= b, where(a > 0, x, y), z)")
    chosen, cases = resolved(node, {"a": 2.0, "b": 1.0})
    assert (chosen, cases) == (parse("1 + z"), ["a > b"])
    chosen, cases = resolved(node, {"a": 0.0, "b": 1.0})
    assert (chosen, cases) == (parse("1 + y"), ["a <= b", "a <= 0"])


@cache  # kernels have many formulas in common
def parsed(mathematics: str) -> None:
    """Have matplotlib's parser of TeX mathematics read a formula, which fails if it cannot."""
    MathTextParser("path").parse(f"${mathematics}$")


@pytest.mark.parametrize("kernel", KERNELS)
def test_latex_is_balanced_and_its_mathematics_parses(predicted: Predicted, kernel: str) -> None:
    """matplotlib's parser of TeX mathematics reads every formula."""
    latex = explanation_latex(predicted(kernel))
    plain = latex.replace(r"\{", "").replace(r"\}", "")
    depth = 0
    for character in plain:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    assert latex.count(r"\begin{align*}") == latex.count(r"\end{align*}") >= 3
    assert latex.count(r"\left") == latex.count(r"\right")
    rows = [
        row
        for block in re.findall(r"\\begin\{align\*\}\n(.*?)\n\\end\{align\*\}", latex, re.DOTALL)
        for row in block.split(" \\\\\n")
    ]
    assert len(rows) > 20
    for row in rows:
        assert row.count("&=") == 1, row
        parsed(row.partition("&=")[2].replace(r"\bmod", r"\,mod\,"))
    # Outside the mathematics no special character is left bare.
    prose = re.sub(r"\\begin\{align\*\}.*?\\end\{align\*\}", "", latex, flags=re.DOTALL)
    assert not re.search(r"(?<!\\)[#&_^$]", prose)
    assert prose.count("%") == prose.count(r"\%") + 1


def test_latex_units_are_upright(predicted: Predicted) -> None:
    prediction = predicted("gemm:naive", N=4096)
    latex = explanation_latex(prediction)
    assert rf"&= {1e3 * prediction.terms_s['l1']:.4g}\,\mathrm{{ms}}" in latex
    assert re.search(r"&= 5\.\d+ \\times 10\^\{8\}\\,\\mathrm\{clocks\}", latex)
    assert latex.rstrip().splitlines()[-1].startswith(r"\noindent Under 1\%")


def test_latex_escapes() -> None:
    assert escaped(r"a_b & 50% {x} ~ ^ \ # $") == (
        r"a\_b \& 50\% \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{} \# \$"
    )
