"""The runner against a GPU that is none: rows, protocols, and every way in which a run can fail."""

import csv
import tomllib

import pytest
from fake_gpu import FACTS, FakeGpu, failing

from perfmodel.errors import PerfmodelError
from perfmodel.measure.gpu import OutOfMemoryError
from perfmodel.measure.record import open_folder
from perfmodel.measure.recorded import read_recording
from perfmodel.measure.seal import seal
from perfmodel.measure.session import measure_gpu, run_sweeps
from perfmodel.measure.sweep import points, read_sweeps

TWO = """
[[sweep]]
topic = "first"
source = "streams.cu"
function = "copy"
why = "bytes"
vary = { bytes = [64, 4096] }
grid = "bytes // 32"
block = 32
buffers = { in = { bytes = "bytes" }, out = { bytes = "bytes", fill = "zero" } }
arguments = ["in", "out", "i64 bytes // 16"]
repeats = 5
timings = ["events"]

[[sweep]]
topic = "second"
source = "streams.cu"
function = "write"
why = "bytes"
vary = { bytes = [64] }
grid = 1
block = 32
buffers = { out = { bytes = "bytes" } }
arguments = ["out", "i64 4"]
cache = ["warm"]
use = "validation"
timings = ["events"]
"""
ABOUT = {"date": "2026-11-21T00:00:00Z", "command": "test"}


@pytest.fixture
def sweeps(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(TWO)
    return read_sweeps(path)


def rows(folder, topic):
    with (folder / f"{topic}.csv").open() as file:
        return list(csv.DictReader(file))


def run(gpu, sweeps, folder):
    return run_sweeps(gpu, sweeps, open_folder(folder, sweeps, gpu.facts, ABOUT))


def test_a_row_has_parameters_protocol_and_median(tmp_path, sweeps):
    times = iter([9e-6, 1e-6, 2e-6, 3e-6, 4e-6, 100e-6] * 6)  # the first is a trial
    run(FakeGpu(seconds=lambda prepared, cold: next(times)), sweeps, tmp_path / "out")
    first = rows(tmp_path / "out", "first")[0]
    # By hand: the median of 1, 2, 3, 4 and 100 us is 3, and they span 99.
    assert first["time_us"] == "3.0"
    assert first["spread"] == "33.0"
    assert first["repeats"] == "5"
    assert (first["function"], first["bytes"], first["use"]) == ("copy", "64", "fit")
    assert (first["timing"], first["cache"], first["flag"]) == ("events", "warm", "")
    assert [r["cache"] for r in rows(tmp_path / "out", "first")] == ["warm", "cold"] * 2
    assert rows(tmp_path / "out", "second")[0]["use"] == "validation"


def test_a_slow_launch_is_repeated_three_times_only(tmp_path, sweeps):
    run(FakeGpu(seconds=lambda prepared, cold: 1.0), sweeps, tmp_path / "out")
    assert {r["repeats"] for r in rows(tmp_path / "out", "first")} == {"3"}


def test_one_bad_kernel_does_not_lose_the_rest(tmp_path, sweeps):
    gpu = FakeGpu(fail=failing("copy"))
    outcome = run(gpu, sweeps, tmp_path / "out")
    assert outcome.written == 1
    assert len(outcome.failed) == 2
    assert "first copy bytes=64: illegal address" in (tmp_path / "out" / "failed.txt").read_text()
    assert gpu.calls.count("recover") == 2
    assert len(rows(tmp_path / "out", "second")) == 1


def test_a_point_that_does_not_fit_in_memory_is_left_out(tmp_path, sweeps):
    outcome = run(FakeGpu(memory_bytes=1000), sweeps, tmp_path / "out")
    assert [line.rpartition(": ")[2] for line in outcome.failed] == ["out of memory"]
    assert {r["bytes"] for r in rows(tmp_path / "out", "first")} == {"64"}
    assert issubclass(OutOfMemoryError, PerfmodelError)


def test_an_interrupted_run_is_gone_on_with(tmp_path, sweeps):
    count = 0

    def interrupt(prepared):
        nonlocal count
        count += 1
        if count == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(FakeGpu(fail=interrupt), sweeps, tmp_path / "out")
    before = rows(tmp_path / "out", "first")
    assert len(before) == 1  # by hand: a launch to check and six to time are one row
    path = tmp_path / "out" / "first.csv"
    path.write_text(path.read_text() + "copy,4096,fit,ev")  # as a kill in mid-write leaves it
    outcome = run(FakeGpu(), sweeps, tmp_path / "out")
    assert (outcome.kept, outcome.written) == (1, 4)
    assert rows(tmp_path / "out", "first")[0] == before[0]
    assert len(rows(tmp_path / "out", "first")) == 4


def test_a_clock_that_drops_is_flagged_and_an_unknown_one_too(tmp_path, sweeps):
    # By hand: a point reads it before it is measured, after its warm and after its cold launches.
    readings = iter([345.0, 1980.0, 1980.0, 1980.0, 1980.0, *[1200.0] * 9])
    run(FakeGpu(clock=lambda: next(readings)), sweeps, tmp_path / "low")
    found = [(r["clock_mhz"], r["flag"]) for r in rows(tmp_path / "low", "first")]
    assert found == [*[("1980.0", "")] * 3, ("1200.0", "clock dropped")]
    assert {r["flag"] for r in rows(tmp_path / "low", "second")} == {"clock dropped"}
    run(FakeGpu(clock=lambda: None), sweeps, tmp_path / "none")
    assert {r["flag"] for r in rows(tmp_path / "none", "first")} == {"clock unknown"}


def test_a_wrong_output_is_a_failure(tmp_path):
    path = tmp_path / "one.toml"
    path.write_text(TWO.replace('why = "bytes"', 'why = "b"\ncheck = "copied_strided"', 1))
    text = path.read_text().replace(
        "vary = { bytes = [64, 4096] }", "cases = [{ n = 4, stride = 1, bytes = 64 }]"
    )
    path.write_text(text)
    gpu = FakeGpu()
    gpu.read = lambda memory, dtype, count: __import__("numpy").arange(count) * memory
    outcome = run(gpu, read_sweeps(path), tmp_path / "out")
    assert "wrong output" in outcome.failed[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"notes.txt": "mine"}, "is not empty and has no session.toml"),
        ({"session.toml": 'format = 1\n[machine]\ngpu = "Other"'}, "is of a Other, this is a"),
        ({"session.toml": "format = 99"}, "has format 99, but only format = 1 can be read"),
        ({"session.toml": "format = "}, "is not valid TOML"),
        ({"session.toml": 'format = 1\nmachine = "x"'}, "machine must be a table"),
        ({"session.toml": "format = 1"}, "is of a None, this is a"),
    ],
)
def test_a_folder_of_something_else_is_not_touched(tmp_path, sweeps, content, message):
    out = tmp_path / "out"
    out.mkdir()
    for name, text in content.items():
        (out / name).write_text(text)
    with pytest.raises(PerfmodelError, match=message):
        open_folder(out, sweeps, FACTS, ABOUT)
    assert {p.name: p.read_text() for p in out.iterdir()} == content


def test_edited_rows_are_not_gone_on_with(tmp_path, sweeps):
    out = tmp_path / "out"
    run(FakeGpu(), sweeps, out)
    seal(out)
    path = out / "first.csv"
    as_recorded = path.read_text()
    for edited in (as_recorded.replace("10.0", "11.0", 1), as_recorded[:-20]):
        path.write_text(edited)
        before = {p.name: p.read_bytes() for p in out.iterdir()}
        with pytest.raises(PerfmodelError, match=r"first.csv' is not as it was recorded: it was"):
            open_folder(out, sweeps, FACTS, ABOUT)
        assert {p.name: p.read_bytes() for p in out.iterdir()} == before
    # Rows added since, as by a run that was killed before it sealed them, are gone on with.
    path.write_text(as_recorded + "copy,8192,fit,events,cold,5,3,0,1980,\ncopy,16")
    open_folder(out, sweeps, FACTS, ABOUT)
    assert path.read_text() == as_recorded + "copy,8192,fit,events,cold,5,3,0,1980,\n"


def test_columns_of_another_version_are_not_mixed(tmp_path, sweeps):
    run(FakeGpu(), sweeps, tmp_path / "out")
    path = tmp_path / "out" / "first.csv"
    path.write_text(path.read_text().replace("bytes,", "size,", 1))
    with pytest.raises(PerfmodelError, match="other columns"):
        open_folder(tmp_path / "out", sweeps, FACTS, ABOUT)


def test_a_parameter_may_not_hide_a_measured_column(tmp_path):
    path = tmp_path / "clash.toml"
    path.write_text(TWO.replace("vary = { bytes = [64] }", "vary = { bytes = [64], spread = [1] }"))
    with pytest.raises(PerfmodelError, match="'spread' is called like a measured column"):
        open_folder(tmp_path / "out", read_sweeps(path), FACTS, ABOUT)


def test_a_whole_session_names_the_unknown_sweep(tmp_path):
    with pytest.raises(PerfmodelError, match="no sweep is called 'steams'; did you mean 'streams'"):
        measure_gpu(tmp_path / "out", names=["steams"], gpu=FakeGpu())


def test_a_whole_session_records_the_gpu(tmp_path):
    lines = measure_gpu(tmp_path / "out", names=["l1"], profiler=False, gpu=FakeGpu())
    assert "NVIDIA Fake" in lines[0]
    text = (tmp_path / "out" / "session.toml").read_text()
    assert 'driver = "580.0"' in text
    assert len(rows(tmp_path / "out", "l1-strides")) == 68


def test_a_session_says_what_an_empty_kernel_reads(tmp_path):
    # By hand: every launch of this GPU takes 10 us, the empty kernel of one block too.
    measure_gpu(tmp_path / "out", names=["launch"], profiler=False, gpu=FakeGpu())
    session = tomllib.loads((tmp_path / "out" / "session.toml").read_text())
    assert session["protocol"]["event_floor_us"] == 10.0


def test_an_interruption_leaves_a_folder_that_can_be_read(tmp_path, monkeypatch):
    # Property: whatever was written before Ctrl-C, between events or by the profiler, is sealed.
    count = 0

    def interrupt(prepared):
        nonlocal count
        count += 1
        if count == 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_gpu(tmp_path / "a", names=["launch"], profiler=False, gpu=FakeGpu(fail=interrupt))
    assert read_recording(tmp_path / "a").topics["launch"].rows

    def counting(program, chosen, index, facts, target, seconds):
        sweep = next(s for s in chosen if "profiler" in s.timings)
        point = next(points(sweep, facts.numbers()))
        target.add(
            sweep, point, {"timing": "profiler", "cache": "cold", "repeats": 3, "time_us": 2}
        )
        raise KeyboardInterrupt

    monkeypatch.setattr("perfmodel.measure.session.profiler_path", lambda: "ncu")
    monkeypatch.setattr("perfmodel.measure.session.profile_sweeps", counting)
    with pytest.raises(KeyboardInterrupt):
        measure_gpu(tmp_path / "b", names=["launch"], gpu=FakeGpu())
    recording = read_recording(tmp_path / "b")
    assert [r.time_s for r in recording.topics["launch"].rows if r.timing == "profiler"] == [2e-6]
    assert recording.session["protocol"]["event_floor_us"] == 10.0
