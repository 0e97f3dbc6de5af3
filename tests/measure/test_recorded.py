"""Recorded measurements: what is read, and all that is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest
from measured import rows as csv_rows
from measured import topics

from perfmodel import PerfmodelError
from perfmodel.hardware import load_device
from perfmodel.measure import folders
from perfmodel.measure.folders import measured, published, root
from perfmodel.measure.recorded import read_recording
from perfmodel.measure.seal import checksums, seal
from perfmodel.measure.session_file import RESULTS, name_fault
from perfmodel.models.time.launch import launch_floor
from perfmodel.validation.cases import as_timed

Folder = Callable[..., Path]
HEAD = "n,pitch,timing,cache,repeats,time_us\n"


def refusal(path: Path) -> str:
    with pytest.raises(PerfmodelError) as caught:
        read_recording(path)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


def test_rows_have_their_numbers_and_lines(folder: Folder) -> None:
    found = read_recording(folder())
    assert found.device == "h200-sxm"
    assert set(found.topics) == {"runs"}
    first, second, third, fourth, fifth = found.topics["runs"].rows
    assert first.line == 2
    assert (first.timing, first.cache, first.use, first.flag) == ("profiler", "cold", "", "")
    assert first.time_s == pytest.approx(2.5e-6)
    assert first.values["n"] == 1024
    assert isinstance(first.values["n"], int)
    assert second.time_s == pytest.approx(6.25e-6)
    assert third.time_s is None
    # a row without a time, or whose clock dropped, counts for nothing; an unread clock does no harm
    assert [r.trusted for r in (first, second, third, fourth, fifth)] == [
        *(True, True, False, False, True)
    ]


def test_topics_may_lie_in_folders(folder: Folder) -> None:
    assert set(read_recording(folder(name="holdout/runs.csv")).topics) == {"holdout/runs"}


def test_what_programs_read_is_not_measured(folder: Folder) -> None:
    path = folder()
    (path / "program").mkdir()
    (path / "program" / "points.csv").write_text("n\n1\n")
    assert set(read_recording(path).topics) == {"runs"}
    assert set(checksums(path)) == {"runs.csv"}


def test_sealing_again_changes_nothing_but_the_checksums(folder: Folder) -> None:
    path = folder()
    before = (path / "session.toml").read_text()
    seal(path)
    assert (path / "session.toml").read_text() == before
    (path / "runs.csv").write_text(HEAD + "1,8,events,warm,1,2\n")
    seal(path)
    after = (path / "session.toml").read_text()
    assert after.partition("[files]")[0] == before.partition("[files]")[0]
    assert after != before
    assert read_recording(path).topics["runs"].rows[0].values["n"] == 1


def test_sealing_keeps_tables_that_follow(folder: Folder) -> None:
    path = folder()
    session = path / "session.toml"
    session.write_text(session.read_text() + '\n[late]\nkey = "stays"\n')
    seal(path)
    assert read_recording(path).session["late"] == {"key": "stays"}
    assert session.read_text().count("[files]") == 1


def test_a_checksum_is_sha256(folder: Folder) -> None:
    # independent: coreutils, printf 'n,cycles\n1,2\n' | sha256sum
    assert checksums(folder("n,cycles\n1,2\n")) == {
        "runs.csv": "c3eb66e2e99d3ed8312564a02c94b9c107c87290d38edec7b5aa125387ec6030"
    }


@pytest.mark.parametrize("change", [lambda b: b[:-20], lambda b: b.replace(b"2.5", b"2.4")])
def test_what_was_cut_short_or_edited_is_named(
    folder: Folder, change: Callable[[bytes], bytes]
) -> None:
    path = folder()
    csv = path / "runs.csv"
    csv.write_bytes(change(csv.read_bytes()))
    assert re.search(r"runs\.csv is not as it was recorded .*edited or cut short", refusal(path))


def test_missing_and_foreign_files_are_named(folder: Folder) -> None:
    path = folder()
    (path / "more.csv").write_text(HEAD)
    assert "more.csv has no checksum" in refusal(path)
    (path / "more.csv").unlink()
    (path / "runs.csv").unlink()
    assert "runs.csv is missing" in refusal(path)


def test_a_folder_without_a_session_is_refused(folder: Folder, tmp_path: Path) -> None:
    assert "has no session.toml" in refusal(folder(session=None))
    assert "does not exist" in refusal(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("session", "message"),
    [
        ("format = 2\n", "has format 2, but only format = 1"),
        ('format = "1"\n', "has format '1', but only format = 1"),
        ("format = true\n", "has format True, but only format = 1"),
        ("[machine]\n", "states no format"),
        ("format = \n", "is not valid TOML"),
        ("format = 1\nmachine = 3\n", "machine must be a table"),
        ("format = 1\nsession-1 = 3\n", "session-1 must be a table"),
        ("format = 1\n[machine]\nsms = 'many'\n", "machine.sms must be a whole number of SMs from"),
        ("format = 1\n[machine]\nsms = true\n", "machine.sms must be a whole number of SMs from"),
        (
            "format = 1\n[machine]\nl2_bytes = 50\n",
            "machine.l2_bytes must be a whole number of bytes",
        ),
        ("format = 1\n[machine]\nsm_clock_mhz = 1.98e9\n", "to 10000, not 1980000000.0"),
        (
            "format = 1\n[machine]\nsm_clock_mhz = nan\n",
            "a number of MHz from 100 to 10000, not nan",
        ),
        (
            "format = 1\n[protocol]\nevent_floor_us = 'x'\n",
            "protocol.event_floor_us must be a number",
        ),
        ("format = 1\n[session-2]\nevent_floor_us = 2.7e-6\n", "from 0.1 to 1000, not 2.7e-06"),
        ("format = 1\n[machine]\ndevice = 3\n", "machine.device must be a text, not 3"),
    ],
)
def test_sessions_that_cannot_be_read(folder: Folder, session: str, message: str) -> None:
    assert message in refusal(folder(session=session))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (HEAD + "1,8,events,warm,1,nan\n", "line 2: time_us must be finite, not nan"),
        (HEAD + "1,8,events,warm,1,inf\n", "line 2: time_us must be finite, not inf"),
        (HEAD + "1,8,events,warm,1,0\n", "line 2: time_us must be above 0, not 0"),
        (HEAD + "1,8,events,warm,1,-3\n", "line 2: time_us must"),
        (HEAD + "1,8,events,warm,0,3\n", "line 2: repeats must be above 0"),
        (
            HEAD + "1,8,events,warm,1,5e-6\n",
            "time_us is 5e-06, beyond 0.1 to 1e+09, what GPUs have",
        ),
        (HEAD + "1,8,events,warm,1,1e300\n", "is it in another unit? It must be: time of a launch"),
        (HEAD + "1,8,events,warm,1,1_000\n", "time_us must be a number, not '1_000'"),
        (HEAD + "1,8,events,warm,1, 5\n", "time_us must be a number, not ' 5'"),
        (
            "n,timing,repeats,time_us,registers\n1,events,1,5,-8\n",
            "line 2: registers must not be negative, not -8",
        ),
        ("n,timing,repeats,time_us,clock_mhz\n1,events,1,5,1.98\n", "clock_mhz is 1.98, beyond 50"),
        (HEAD + "1,8,events,warm,1,fast\n", "line 2: time_us must be a number, not 'fast'"),
        (HEAD + "nan,8,events,warm,1,3\n", "line 2: n must be finite, not nan"),
        (HEAD + "1,8,events,warm,1,3\n1,8,events,warm,1,4\n", "line 3 repeats the point of line 2"),
        (HEAD + "1,8,events,warm,1\n", "line 2 has 5 cells, but 6 columns"),
        (
            HEAD + "1,8,stopwatch,warm,1,3\n",
            "timing must be profiler or events or graph, not 'stopwatch'",
        ),
        (HEAD + "1,8,events,tepid,1,3\n", "cache must be cold or warm or dirty, not 'tepid'"),
        (HEAD + "1,8,,warm,1,3\n", "has a time, but timing does not say which"),
        (HEAD + "1,8,events,warm,1,\n", "neither a time nor a flag"),
        ("n,n,timing,repeats,time_us\n", "has two columns 'n'"),
        ("n,time_ms,timing,repeats\n", "column 'time_ms' is not allowed: times come in micro"),
        ("n,timing,repeats,time\n", "column 'time' is not allowed: times come in microseconds"),
        ("size_mib,timing,repeats,time_us\n", "sizes come in bytes"),
        ("n,timing,repeats,time_us,clock_ghz\n", "clocks come in megahertz, as clock_mhz"),
        ("n,timing,repeats,time_us,warmth\n", "column 'warmth' is unknown"),
        ("n,timing,repeats,time_us,l2_read_sector\n", "did you mean 'l2_read_sectors'?"),
        ("n,repeats,time_us\n", "has no column timing"),
        ("n,timing,time_us\n", "has no column repeats"),
        ("n,timing,repeats\n", "has no column time_us"),
        ("n p,timing,repeats,time_us\n", "a name is made of letters, digits and '_'"),
        ("", "is empty"),
        (b"n,timing,repeats,time_us\n\xff,events,1,2\n", "is not UTF-8 text (byte 25)"),
    ],
)
def test_what_no_measurement_is(folder: Folder, rows: str | bytes, message: str) -> None:
    assert message in refusal(folder(rows))


def test_a_point_may_return_in_another_protocol_or_session(folder: Folder) -> None:
    head = "session,n,timing,cache,repeats,time_us\n"
    body = "1,8,events,warm,1,3\n1,8,events,cold,1,3\n1,8,profiler,cold,1,3\n2,8,events,warm,1,3\n"
    assert len(read_recording(folder(head + body)).topics["runs"].rows) == 4


def test_our_measurements_are_read_as_they_are() -> None:
    # independent: the reader of the other tests
    found = read_recording(root() / "suite/h200-sxm/foundation")
    assert {name for name in found.topics if "/" not in name} == set(topics())
    for topic in topics():
        expected = csv_rows(topic)
        rows = found.topics[topic].rows
        assert len(rows) == len(expected)
        for row, other in zip(rows, expected, strict=True):
            assert row.values.get("time_us") == other.get("time_us")


@pytest.mark.parametrize("name", sorted(published()))
def test_published_times_are_the_published_rates(name: str) -> None:
    # independent, by hand: bytes over GB/s, or 2 n**3 over GFLOP/s
    arrays = {"init": 1, "read": 1, "scale": 2, "triad": 3, "triad3": 4}
    recording = read_recording(published()[name][0])
    assert recording.machine["origin"] == "published"
    for topic in recording.topics.values():
        for row in topic.rows:
            v = row.values
            assert v["source"]
            if topic.name.startswith("gpu-stream"):
                work = arrays[str(v["kernel"]).removeprefix("stream-")] * 8 * int(v["n"])
            elif topic.name == "gpu-l2-cache":
                work = int(v["blocks"]) * 64 * 1024 * 8
                assert v["bytes"] == int(v["run"]) * 64 * 1024 * 8
            else:
                work = 2 * int(v["M"]) * int(v["N"]) * int(v["K"])
            assert row.time_s == pytest.approx(work / (float(v["published_rate"]) * 1e9), rel=2e-4)


def test_names_of_results_are_fine() -> None:
    assert [name for name in RESULTS if name_fault(name)] == []


def test_folders_of_one_gpu_belong_together() -> None:
    products = ["cublas", "ladder", "narrow", "pytorch", "unseen"]
    names = ["atomics/cas", "built-in-kernels/first", "l2/set-aside", "l2/sets"]
    names += [*(f"matrix-products/{name}" for name in products), "operators/pytorch"]
    names += [f"suite/{name}" for name in ("contention", "foundation", "sweeps", "unseen")]
    paths = [name.replace("/", "/h200-sxm/") for name in names]
    assert [folders.name(path) for path in measured()["h200-sxm"]] == paths


def test_what_an_empty_kernel_read_may_differ_by_session(folder: Folder) -> None:
    session = "format = 1\n\n[session-1]\nevent_floor_us = 5.8\n\n[session-2]\n"
    rows = "session,n,timing,repeats,time_us\n1,8,events,1,9\n2,8,events,1,9\n"
    found = read_recording(folder(rows, session=session))
    first, second = found.topics["runs"].rows
    assert found.event_floor(first) == pytest.approx(5.8e-6)
    assert found.event_floor(second) is None
    found = read_recording(folder(rows, session=session + "[protocol]\nevent_floor_us = 2.7\n"))
    first, second = found.topics["runs"].rows
    assert found.event_floor(first) == pytest.approx(5.8e-6)
    assert found.event_floor(second) == pytest.approx(2.7e-6)


def test_an_empty_kernel_may_read_more_after_a_flush(folder: Folder) -> None:
    session = "format = 1\n\n[protocol]\nevent_floor_us = 2.8\nevent_floor_cold_us = 3.5\n"
    rows = "n,timing,cache,repeats,time_us\n8,events,warm,1,9\n8,events,cold,1,9\n"
    found = read_recording(folder(rows, session=session))
    warm, cold = found.topics["runs"].rows
    assert found.cold_event_floor(warm) is None
    assert found.cold_event_floor(cold) == pytest.approx(3.5e-6)
    # derived: what is predicted of an empty kernel is what was read
    device = as_timed(load_device("h200-sxm"), found, cold)
    assert launch_floor(device, "events", cold=True) == pytest.approx(3.5e-6)
    device = as_timed(load_device("h200-sxm"), found, warm)
    assert launch_floor(device, "events", cold=False) == pytest.approx(2.8e-6)


def test_stated_floors_are_those_of_the_empty_kernels() -> None:
    # independent: medians of the rows
    for name, session, expected in (("h200-sxm", 1, 5.82), ("h200-sxm", 2, 4.53)):
        rows = csv_rows("launch", timing="events", cache="warm", grid=1, session=session)
        assert median(r["time_us"] for r in rows) == pytest.approx(expected, abs=0.01), name
    suite = read_recording(root() / "suite/h200-sxm/sweeps")
    rows = [
        r
        for r in suite.topics["launch"].rows
        if (r.timing, r.cache, r.values["grid"]) == ("events", "warm", 1)
    ]
    floor = suite.event_floor(rows[0])
    assert floor == pytest.approx(median(r.time_s for r in rows if r.time_s), abs=1e-8)


def test_another_profilers_floors_are_stated_for_its_rows_only(folder: Folder) -> None:
    session = "format = 1\n\n[protocol]\nprofiler_floor_us = 0.6\nprofiler_fetch_us = 0.2\n"
    session += "profiler_warp_us = 0.002\n"
    rows = "n,timing,repeats,time_us\n8,events,1,9\n8,profiler,1,7\n"
    found = read_recording(folder(rows, session=session))
    by_events, by_profiler = found.topics["runs"].rows
    assert found.profiler_floors(by_events) == {}
    assert found.profiler_floors(by_profiler) == pytest.approx(
        {"launch_floor": 0.6e-6, "launch_fetch": 0.2e-6, "launch_warp": 2e-9}
    )
