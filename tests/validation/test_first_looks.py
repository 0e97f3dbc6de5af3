"""What first looks at kernels never seen say of the intervals of translated kernels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.intervals.refit import (
    FIRST_LOOKS,
    FirstLook,
    first_looks,
    translated_over_described,
)
from perfmodel import predict
from perfmodel.cuda.compile.program import load_program
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import Buffer, LaunchSpec
from perfmodel.measure import folders
from perfmodel.prediction.interval import residual_origin

COPY = """.version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 a, .param .u64 b)
{
  .reg .b64 %rd<6>; .reg .b32 %r<5>; .reg .f32 %f<2>;
  ld.param.u64 %rd0, [a]; ld.param.u64 %rd1, [b];
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;
  mad.lo.s32 %r3, %r0, %r1, %r2; mul.wide.s32 %rd2, %r3, 4;
  add.s64 %rd3, %rd0, %rd2; add.s64 %rd4, %rd1, %rd2;
  ld.global.f32 %f0, [%rd3]; st.global.f32 [%rd4], %f0; ret;
}
"""


LOOKS = tuple(look for name in FIRST_LOOKS for look in first_looks(folders.root() / name))


def look(measured: float, low: float = 0.8, high: float = 1.25) -> FirstLook:
    return FirstLook("k", 1.0, low, high, measured)


def test_the_power_takes_the_interval_to_the_measured_time() -> None:
    # by hand: 1.5625 = 1.25^2, 0.512 = 0.8^3, and what lies inside needs less than one
    assert look(1.5625).power == pytest.approx(2)
    assert look(0.512).power == pytest.approx(3)
    assert 0 < look(1.1).power < 1
    # an interval that was widened to the power 2 and just holds a time asks for that power
    assert replace(look(1.25), widened=2.0).power == pytest.approx(2)


def test_nine_of_ten_are_held() -> None:
    # property: of ten launches the ninth largest power, and never narrower than described ones
    looks = tuple(look(1.25**p) for p in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.7, 9.0))
    assert translated_over_described(looks) == pytest.approx(1.7)
    assert translated_over_described(looks[:5]) == 1.0
    assert translated_over_described(()) == 1.0


def test_what_predictions_use_is_what_the_first_look_says(tmp_path: Path) -> None:
    source = tmp_path / "copy.ptx"
    source.write_text(COPY)
    buffers = {name: Buffer(1 << 22) for name in "ab"}
    spec = LaunchSpec((4096, 1, 1), (256, 1, 1), named=buffers)
    prediction = predict(translated(load_program(source), spec), device="h200-sxm")
    found = residual_origin(prediction.behind.circumstances, prediction.bottleneck)
    expected = translated_over_described(LOOKS)
    assert found.widened == pytest.approx(expected, abs=0.005)
    low, high = prediction.interval_s
    time = prediction.time_s
    assert low / time <= found.residuals.low**found.widened * 1.001
    assert high / time >= found.residuals.high**found.widened * 0.999
    described = predict("copy", bytes=1 << 22, device="h200-sxm")
    assert residual_origin(described.behind.circumstances, described.bottleneck).widened == 1


def test_no_corpus_alone_decides() -> None:
    # property: the intervals hold 90% of all first looks; of a corpus's own 75% at the least
    assert len(LOOKS) == 412
    power = translated_over_described(LOOKS)
    assert np.mean([x.power <= power for x in LOOKS]) >= 0.9
    for name in FIRST_LOOKS:
        assert np.mean([x.power <= power for x in first_looks(folders.root() / name)]) >= 0.75


def test_kernels_written_later_were_held_by_the_intervals_they_had() -> None:
    # measured: predictions were recorded before the launches ran, with intervals widened as above
    looks = first_looks(folders.root() / "source-kernels/h200-sxm/corpus-blind4")
    assert len(looks) == 48
    assert np.mean([x.low <= x.measured <= x.high for x in looks]) >= 0.85


def test_fewer_of_the_fifth_corpus_were_held() -> None:
    # measured: 33 of 48, so 90% intervals were too narrow for kernels like none seen before
    looks = first_looks(folders.root() / "source-kernels/h200-sxm/corpus-blind5")
    assert len(looks) == 48
    assert sum(x.low <= x.measured <= x.high for x in looks) == 33


def test_the_sixth_corpus_was_held_as_its_first_look_says() -> None:
    # measured: 23 of 28; predicted at commit 8005c65, before the launches ran
    looks = first_looks(folders.root() / "source-kernels/h200-sxm/corpus-blind6")
    assert len(looks) == 28
    assert sum(x.low <= x.measured <= x.high for x in looks) == 23


def test_the_seventh_corpus_was_held_as_its_first_look_says() -> None:
    # measured: 28 of 32; predicted at commit 1e78702, before the launches ran, with intervals that
    # the first looks at four corpora had widened
    looks = first_looks(folders.root() / "source-kernels/h200-sxm/corpus-blind7")
    assert len(looks) == 32
    assert sum(x.low <= x.measured <= x.high for x in looks) == 28


def held(name: str, gpu: str = "h200") -> tuple[int, int, float, float]:
    """Return the launches of a corpus, those inside their intervals, and what they were off by."""
    looks = first_looks(folders.root() / f"source-kernels/{gpu}-sxm/corpus-{name}")
    errors = [abs(x.predicted / x.measured - 1) for x in looks]
    inside = sum(x.low <= x.measured <= x.high for x in looks)
    return len(looks), inside, float(np.median(errors)), float(np.quantile(errors, 0.9))


# measured: predicted at commits 0573f59 (two corpora), 7050f5a, 9b5d12f, 2a74cb9, 1183194 and
# 6c87449, made before the launches ran; all but the twelfth fill what is asked of programs never
# seen (15%, 40%, 80% in the interval); seven launches of that one were refused
@pytest.mark.parametrize(
    ("name", "launches", "inside", "middle", "ninth"),
    [
        ("blind8", 56, 53, 0.08, 0.25),
        ("blind9", 48, 44, 0.08, 0.30),
        ("blind10", 40, 38, 0.15, 0.30),
        ("blind11", 48, 44, 0.08, 0.30),
        ("blind12", 41, 36, 0.08, 0.45),
        ("blind13", 48, 46, 0.08, 0.20),
        ("blind16", 48, 45, 0.06, 0.18),
    ],
)
def test_later_corpora_were_held_as_their_first_looks_say(
    name: str, launches: int, inside: int, middle: float, ninth: float
) -> None:
    found = held(name)
    assert found[:2] == (launches, inside)
    assert found[2] <= middle
    assert found[3] <= ninth


def test_a_corpus_on_an_h100_was_held_as_its_first_look_says() -> None:
    # measured: predicted with the models of commit 2b4812a, before the launches ran
    launches, inside, middle, ninth = held("blind14", "h100")
    assert (launches, inside) == (48, 47)
    assert middle <= 0.06
    assert ninth <= 0.27


def test_the_fifteenth_corpus_was_held_as_its_first_look_says() -> None:
    # measured: predicted with the models of commit 937392b, before the launches ran
    launches, inside, middle, ninth = held("blind15", "h100")
    assert (launches, inside) == (48, 44)
    assert middle <= 0.04
    assert ninth <= 0.27


def test_the_last_corpus_judges() -> None:
    # property: its first look widens no interval
    assert "source-kernels/h200-sxm/corpus-blind12" not in FIRST_LOOKS
    assert "source-kernels/h200-sxm/corpus-blind13" not in FIRST_LOOKS
    assert "source-kernels/h200-sxm/corpus-blind16" not in FIRST_LOOKS
    assert "source-kernels/h100-sxm/corpus-blind14" not in FIRST_LOOKS
    assert "source-kernels/h100-sxm/corpus-blind15" not in FIRST_LOOKS
    assert "source-kernels/h200-sxm/corpus-blind11" in FIRST_LOOKS
