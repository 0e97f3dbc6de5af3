"""Cases: what is made of a measured row."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfmodel import predict
from perfmodel.hardware import load_device
from perfmodel.measure.recorded import read_recording
from perfmodel.measure.seal import seal
from perfmodel.validation.case import Case
from perfmodel.validation.cases import cases_of

H200 = load_device("h200-sxm")
SESSION = 'format = 1\n[machine]\ndevice = "h200-sxm"\n'


def cases(folder: Path, topic: str, text: str, use: str | None = None) -> list[Case]:
    (folder / f"{topic}.csv").write_text(text)
    (folder / "session.toml").write_text(SESSION)
    seal(folder)
    return cases_of([read_recording(folder)], H200, use=use)


def test_a_case_is_the_prediction_of_its_row(tmp_path: Path) -> None:
    head = "mapping,M,N,K,use,timing,cache,repeats,time_us\n"
    rows = "naive,256,256,256,fit,events,warm,9,150\nnaive,512,512,512,validation,events,warm,9,6\n"
    (one, two) = cases(tmp_path, "gemm", head + rows)
    expected = predict(
        "gemm", mapping="naive", device=H200, timing="events", cache="warm", M=256, N=256, K=256
    )
    assert one.predicted_s == expected.time_s
    assert one.interval_s == expected.interval_s
    assert one.error == pytest.approx(expected.time_s / 150e-6 - 1)
    assert (one.use, two.use) == ("fit", "validation")
    assert (one.kernel, one.params) == ("gemm naive", {"N": 256, "M": 256, "K": 256})
    assert one.flop == 2 * 256**3
    assert one.flop_peak == pytest.approx(66.9e12)  # data sheet, FP32
    # by hand: three matrices of floats, each once
    assert one.roofline_bytes == 3 * 256 * 256 * 4
    low, high = two.interval_s
    assert two.covered == (low <= 6e-6 <= high)


def test_only_validation_cases_if_asked_for(tmp_path: Path) -> None:
    head = "mapping,M,N,K,use,timing,cache,repeats,time_us\n"
    rows = "naive,256,256,256,fit,events,warm,9,150\nnaive,512,512,512,validation,events,warm,9,6\n"
    (found,) = cases(tmp_path, "gemm", head + rows, use="validation")
    assert found.params["N"] == 512


def test_progress_counts_to_the_end(tmp_path: Path) -> None:
    cases(tmp_path, "launch", "grid,block,timing,cache,repeats,time_us\n1,32,events,warm,9,6\n")
    told: list[tuple[int, int]] = []
    cases_of([read_recording(tmp_path)], H200, lambda done, total: told.append((done, total)))
    assert told == [(0, 1), (1, 1)]


def test_strided_copies_are_charged_what_they_want(tmp_path: Path) -> None:
    # by hand: a roofline counts 4 B read and 4 B written an element; DRAM moves 64 B atoms
    head = "n,stride,offset,timing,cache,repeats,time_us\n"
    (warm,) = cases(tmp_path, "strided", head + "4096,8,0,events,warm,9,6\n")
    assert warm.roofline_bytes == 4096 * 8
    (cold,) = cases(tmp_path, "strided", head + "4096,16,0,profiler,cold,9,6\n")
    assert cold.roofline_bytes == pytest.approx(4096 * 64, rel=0.01)


def test_a_sample_comes_first_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # by hand: 18 rows and a sample of 5 make steps of 3; properties: the order is that of the rows,
    # and each row is predicted once
    head = "kernel,bytes,vector,block,use,timing,cache,repeats,time_us\n"
    rows = [f"copy,{1 << (10 + n)},16,256,fit,profiler,cold,9,3\n" for n in range(18)]
    whole = cases(tmp_path, "streams", head + "".join(rows))
    monkeypatch.setattr("perfmodel.validation.cases.SAMPLE", 5)
    given: list[tuple[list[Case], int]] = []
    told: list[tuple[int, int]] = []
    found = cases_of(
        [read_recording(tmp_path)],
        H200,
        lambda done, total: told.append((done, total)),
        sampled=lambda some, step: given.append((some, step)),
    )
    assert found == whole
    assert given == [(whole[::3], 3)]
    assert told == [(done, 18) for done in range(19)]
    monkeypatch.setattr("perfmodel.validation.cases.SAMPLE", 10)
    cases_of(
        [read_recording(tmp_path)], H200, sampled=lambda some, step: given.append((some, step))
    )
    assert len(given) == 1
