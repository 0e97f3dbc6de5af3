"""Wider intervals: for what they are, and that the wider end counts on either side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from perfmodel import predict
from perfmodel.hardware import load_device
from perfmodel.prediction.interval import LIBRARY, STATED, WORTH_SAYING, read_wider, wider_intervals

EVERY = (*read_wider(LIBRARY), *read_wider(STATED))
NEXT = """name = "next"
extends = "h200-sxm"
{version}
[sm_count]
value = 148
unit = "SM"
kind = "datasheet"
source = "a data sheet"
"""


@pytest.mark.parametrize("each", EVERY, ids=lambda each: f"{each.name} {each.mapping}")
def test_each_has_ends_around_the_prediction_and_a_reason(each) -> None:
    # property
    assert 0 < each.low <= 1 <= each.high
    assert each.name
    assert each.because
    # whatever it is for, it is for something
    assert any((each.kernel, each.uses, each.inherits))


@pytest.mark.parametrize(
    "each", read_wider(LIBRARY), ids=lambda each: f"{each.name} {each.mapping}"
)
def test_fitted_ones_say_on_how_many_rows(each) -> None:
    assert min(each.rows, each.held_out_rows) >= 15
    # the rows left out, of which 90% should be inside: no class is held by chance alone
    assert each.before <= each.held_out
    assert each.held_out >= 0.75


@pytest.mark.parametrize(("version", "other"), [("", False), ('compute_capability = "10.0"', True)])
def test_a_gpu_with_figures_of_another_has_wide_intervals(
    version: str, other: bool, tmp_path: Path
) -> None:
    path = tmp_path / "next.toml"
    path.write_text(NEXT.format(version=version))
    device = load_device(path)
    found = predict("copy", device=device, bytes=1 << 28)
    least, most = (end / found.time_s for end in found.interval_s)
    # what transfer between GPUs measured: stated_intervals.toml
    assert least <= (0.5 if other else 0.79)
    assert most >= (2.0 if other else 1.35)
    (said, *more) = [w for w in found.warnings if "inherited from h200-sxm" in w]
    assert said.endswith("figures are inherited from h200-sxm: not measured on this GPU")
    assert "l2_size, l2_read_bandwidth" in said
    assert bool(more) is other
    assert all("clocks of wgmma" in w and "10.0" in w for w in more)
    # property: the same numbers of a GPU that is known give the same time
    known = predict("copy", device=replace(device, inherited=None), bytes=1 << 28)
    assert known.time_s == found.time_s
    assert known.interval_s[0] > found.interval_s[0]
    assert not any("inherited from h200-sxm" in w for w in known.warnings)


def test_built_ins_of_a_measured_gpu_keep_their_interval() -> None:
    found = predict("copy", device="h100-sxm", bytes=1 << 28)
    own = found.uncertainty.own_interval(found.figure_spread, found.time_s)
    assert wider_intervals(found.behind.circumstances) == ()
    assert found.interval_s == own


def test_the_wider_end_counts_on_either_side() -> None:
    found = predict("softmax", device="a100-sxm-80", rows=4096, cols=2048, dtype="fp32")
    own = found.uncertainty.own_interval(found.figure_spread, found.time_s)
    both = found.interval_s
    (wider,) = wider_intervals(found.behind.circumstances)
    assert both == (
        min(own[0], wider.low * found.time_s),
        max(own[1], wider.high * found.time_s),
    )


def test_a_warning_where_an_end_is_far() -> None:
    found = predict("gemm", mapping="tensor-core", device="a100-sxm-80", N=1024)
    (wider,) = wider_intervals(found.behind.circumstances)
    said = [w for w in found.warnings if wider.name in w]
    assert bool(said) is (max(1 / wider.low, wider.high) > WORTH_SAYING)
    for line in said:
        assert f"widened to {wider.low:.2f} to {wider.high:.2f} times" in line
