"""Which rows are predicted by what."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from perfmodel import PerfmodelError
from perfmodel.hardware import load_device
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.measure.folders import published, root
from perfmodel.measure.recorded import Recording, Row, read_recording
from perfmodel.validation.cases import left_out, matched
from perfmodel.validation.sweeps import KERNELS, Sweep, measured_sweeps, read_sweeps, sweeps

ROOT = root()
H200 = read_recording(ROOT / "suite/h200-sxm/foundation")
SUITE = read_recording(ROOT / "suite/h200-sxm/sweeps")


def test_every_case_has_a_kernel_and_whole_parameters() -> None:
    sms = load_device("h200-sxm").sm_count
    for sweep, row in matched(H200):
        kernel = sweep.kernel_of(row)
        given = sweep.params_of(row, sms)
        assert set(given) <= {p.name for p in kernel.parameters}, sweep.name


@pytest.mark.parametrize("recording", [H200, SUITE], ids=lambda r: r.folder.name)
def test_no_row_is_two_cases(recording: Recording) -> None:
    seen = Counter((row.topic, row.line) for _, row in matched(recording))
    assert max(seen.values()) == 1


def test_all_times_are_cases_but_those_of_known_kinds() -> None:
    # independent: what the README and the case file say is left out
    cases = {(row.topic, row.line) for _, row in matched(H200)}
    for topic in H200.topics.values():
        for row in topic.rows:
            if row.time_s is None or (topic.name, row.line) in cases:
                continue
            v = row.values
            assert (
                row.cache == "dirty"
                or topic.name in ("coalescer", "tag-banks")
                or (topic.name == "blocks" and v["vector"] == 4)
                or (topic.name == "l2-states" and v["state"] in ("in", "out"))
            ), (topic.name, row.line)


def test_holdout_and_validation_rows_are_never_for_fitting() -> None:
    for sweep, row in matched(H200):
        apart = row.topic.startswith("holdout/") or row.topic == "validation"
        assert sweep.use_of(row) == ("validation" if apart else "fit")


def test_launches_are_those_measured() -> None:
    # independent: threads and blocks as
    # measurements/suite/h200-sxm/foundation/program/foundation.cu launches them
    first = {}
    for sweep, row in matched(H200):
        first.setdefault(sweep.name, (sweep, row))
    sweep, row = first["loads in flight"]
    assert (row.values["block"], row.values["blocks_per_sm"]) == (32, 1)
    assert sweep.params_of(row, 132)["blocks"] == 132
    sweep, row = first["stores"]
    assert row.values["warps"] == 8
    assert sweep.params_of(row, 132)["blocks"] == 132
    sweep, row = first["working set, read"]
    assert sweep.params_of(row, 132)["blocks"] == 264
    sweep, row = first["L2 states, warm"]
    assert (sweep.cache_of(row), sweep.kernel_of(row).name) == ("warm", "copy")


def test_published_rows_say_themselves_what_they_are_for() -> None:
    uses = {}
    for name, (folder,) in published().items():
        uses[name] = {sweep.use_of(row) for sweep, row in matched(read_recording(folder))}
    assert uses == {
        "a100-sxm-40": {"fit"},
        "a100-sxm-80": {"validation"},
        "gh200": {"validation"},
        "h100-pcie": {"fit"},
        "rtx-a6000": {"validation"},
    }


def test_a_rows_own_use_comes_first() -> None:
    sweep = Sweep("s", "t", "copy", {}, use="fit")
    assert sweep.use_of(Row("t", 2, {"use": "validation"})) == "validation"
    assert sweep.use_of(Row("t", 2, {})) == "fit"


def test_dirty_rows_belong_to_none() -> None:
    sweep = Sweep("s", "t", "copy", {}, where={"n": (1, 2)})
    assert sweep.holds(Row("t", 2, {"n": 1, "cache": "warm"}))
    assert not sweep.holds(Row("t", 2, {"n": 1, "cache": "dirty"}))
    assert not sweep.holds(Row("t", 2, {"n": 1}))
    assert not sweep.holds(Row("t", 2, {"n": 3, "cache": "warm"}))


def test_no_row_of_ours_is_flagged() -> None:
    assert left_out(H200) == 0


def test_every_kernel_file_is_used() -> None:
    named = {sweep.kernel for sweep in sweeps()}
    patterns = {"stream-init", "stream-read", "stream-scale", "stream-triad", "stream-triad3"}
    assert {p.stem for p in KERNELS.glob("*.toml")} <= named | patterns


WHOLE = "[[sweep]]\nname='a'\ntopic='t'\nkernel='copy'\nparams={}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[sweep]]\nname = 'a'\n", "sweep 1 has no topic"),
        ("[[sweep]]\nnome = 'a'\n", "unknown key 'nome'; did you mean 'name'?"),
        ("sweep = 3\n", "sweep must be a list of tables"),
        ("[[sweep]\n", "is not valid TOML"),
        (WHOLE + "use='guess'\n", "use must be fit or validation, not 'guess'"),
        (WHOLE + "use='fit'\ncache='dirty'\n", "cache must be cold or warm, not 'dirty'"),
    ],
)
def test_case_files_are_checked(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "cases.toml"
    path.write_text(text)
    with pytest.raises(PerfmodelError, match=re.escape(message)):
        read_sweeps(path)


def test_rows_without_what_a_parameter_needs_are_named() -> None:
    sweep = Sweep("s", "t", "copy", {"bytes": "size"})
    with pytest.raises(PerfmodelError, match="'size'"):
        sweep.params_of(Row("t", 2, {"bytes": 1}), 132)


SWEEP = """
[[sweep]]
topic = "t"
function = "f"
vary = { n = [1, 2], type = ["a", "b"], set_mib = [0, 8] }
set = { resident = "8", bytes = "n*4" }
l2 = { set_aside = "set_mib << 20", window_buffer = "in", window = "bytes", hit_ratio = "n/4" }
use = "fit"
model = { kernel = "copy", params = { bytes = "bytes", dtype = "type" } }

[[sweep]]
topic = "t"
function = "g"
cases = [{ n = 1, m = 2 }, { n = 3, m = 4 }]
model = { kernel = "copy", params = { bytes = "n" } }

[[sweep]]
topic = "t"
function = "h"
model = { kernel = "nobody-knows", params = {} }

[[sweep]]
topic = "t"
function = "i"
"""


def test_sweeps_of_the_measuring_package(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SWEEP)
    first, second = measured_sweeps(tmp_path)  # the others have no model, or no known kernel
    values = {"function": "f", "n": 1, "type": "a", "set_mib": 8, "resident": 8, "bytes": 4}
    row = Row("t", 2, {**values, "cache": "warm"})
    assert first.holds(row)
    for change in ({"n": 3}, {"type": "c"}, {"resident": 4}, {"function": "g"}):
        assert not first.holds(Row("t", 2, {**row.values, **change})), change
    assert first.params_of(row, 132) == {"bytes": 4, "dtype": "a"}
    assert first.control_of(row) == L2Control(
        set_aside=8 << 20, window=AccessPolicyWindow("in", num_bytes=4, hit_ratio=0.25)
    )
    assert second.control_of(row) == L2Control()
    held = [
        second.holds(Row("t", 2, {"function": "g", "n": n, "m": m, "cache": "cold"}))
        for n, m in ((1, 2), (3, 4), (1, 4))
    ]
    assert held == [True, True, False]


def test_at_least_a_third_of_the_suite_is_never_fitted_on() -> None:
    uses = Counter(r.use for t in SUITE.topics.values() for r in t.rows if r.trusted)
    assert uses["validation"] >= uses.total() / 3
