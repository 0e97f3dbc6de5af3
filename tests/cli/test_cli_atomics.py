"""Atomics on the command line: words as parameters, the derivation and the timeline."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from perfmodel import predict
from perfmodel.reports.timeline_figure import timeline

Run = Callable[..., str]
Refused = Callable[..., str]


def test_words_as_parameters(run: Run) -> None:
    words = ("-D", "n=1MiB", "-D", "dtype=float32", "-D", "pattern=random", "-D", "addresses=64")
    found = json.loads(run("predict", "atomic-add", *words, "--json"))
    same = predict("atomic-add", n=1 << 20, dtype="float32", pattern="random", addresses=64)
    assert found == same.to_json()
    assert found["kernel"]["params"]["dtype"] == "float32"
    assert found["bottleneck"] == "atomics"
    assert found["traffic"]["l2_atomic_sectors"] > 0


def test_what_binds_is_said_with_numbers(run: Run) -> None:
    # measured on an H100: about 1.5 clocks an addition of int32 to one address
    text = " ".join(run("predict", "atomic-add", "-D", "n=16MiB", columns=100).split())
    found = re.search(r"Atomics in L2 take .*: 16.8M passes .* every ([0-9.]+) clocks", text)
    assert found is not None
    assert float(found[1]) == pytest.approx(1.5, rel=0.1)
    # patterns that are not asked for make no accesses
    assert "atomic modulo" in text
    assert "atomic random" not in text


def test_lists_of_words(run: Run) -> None:
    lists = ("-D", "dtype=int32, float32", "-D", "returns=false,true", "-D", "n=65536")
    found = json.loads(run("predict", "atomic-add", *lists, "--json"))
    chosen = [(f["kernel"]["params"]["dtype"], f["kernel"]["params"]["returns"]) for f in found]
    assert chosen == [(d, r) for d in ("int32", "float32") for r in ("false", "true")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-D", "dtype=float31"), "did you mean 'float32'"),
        (("-D", "pattern=zipf"), "must be one of modulo, random, warp"),
        (("-D", "addresses=many"), "must be a whole number"),
    ],
)
def test_words_that_are_none(refused: Refused, words: tuple[str, ...], message: str) -> None:
    assert message in refused("predict", "atomic-add", "-D", "n=1024", *words)


def test_kernels_shows_words(run: Run) -> None:
    text = run("kernels", "atomic-add", columns=100)
    assert re.search(r"dtype +int32 +int32, uint32, uint64, float32", text)
    record = json.loads(run("kernels", "atomic-add", "--json"))
    pattern = next(p for p in record["parameters"] if p["name"] == "pattern")
    assert pattern["choices"] == ["modulo", "random", "warp"]
    assert pattern["default"] == "modulo"


@pytest.mark.parametrize(
    "words",
    [
        ("atomic-add", "-D", "n=1MiB"),
        ("atomic-add", "-D", "n=4MiB", "-D", "addresses=64MiB", "-D", "pattern=random"),
        ("atomic-add", "-D", "n=1MiB", "-D", "returns=true", "-D", "dtype=half2"),
        ("atomic-privatized", "-D", "n=1MiB"),
        ("shared-atomic", "-D", "dtype=float32", "-D", "addresses=4"),
    ],
)
def test_explanations_end_in_the_time(run: Run, words: tuple[str, ...]) -> None:
    # property: the term that binds is derived to its value, and the last step is the time
    found = json.loads(run("explain", *words, "--json"))
    steps = found["steps"]
    assert steps[-1]["title"] == "time"
    assert steps[-1]["result"] == pytest.approx(found["prediction"]["time_s"], rel=1e-9)
    term = found["prediction"]["bottleneck"]
    seconds = found["prediction"]["terms_s"][term]
    assert any(s["result"] == pytest.approx(seconds, rel=1e-6) for s in steps)
    assert run("explain", *words)


def test_timeline_is_a_figure(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "four.svg"
    text = run("explain", "atomic-add", "-D", "n=1MiB", "--timeline", str(path))
    assert text == ""
    drawn = path.read_text()
    for words in ("serialised", "in parallel", "near", "far", "queued"):
        assert words in drawn


def test_timeline_needs_atomics(refused: Refused, tmp_path: Path) -> None:
    message = refused("explain", "copy", "--timeline", str(tmp_path / "four.svg"))
    assert "this kernel has none" in message
    assert not list(tmp_path.iterdir())
    assert "must end in" in refused("explain", "atomic-add", "--timeline", "four.txt")


def test_four_in_single_file_take_four_times_as_long() -> None:
    # derived: four warps of 32 additions, 1.48 clocks each, one after the other
    details = predict("atomic-add", n=1 << 20, device="h200-sxm").details
    found = timeline(details.device, list(details.requests), list(details.time.atomics))
    interval = details.device.require("atomic_interval")
    together, alone = found.adding
    assert alone == pytest.approx(32 * interval)
    assert together == pytest.approx(4 * alone)
    for before, after in zip(found.single_file, found.single_file[1:], strict=False):
        assert after.starts == max(before.ends, after.arrives)


def test_sweep_over_words(run: Run, refused: Refused, tmp_path: Path) -> None:
    words = ("sweep", "atomic-add", "-D", "n=65536", "-D", "pattern=warp", "--over")
    found = json.loads(run(*words, "dtype=int32,float32", "--json"))[0]
    assert found["values"] == ["int32", "float32"]
    params = [p["kernel"]["params"] for p in found["predictions"]]
    assert [(p["dtype"], p["pattern"]) for p in params] == [("int32", "warp"), ("float32", "warp")]
    assert re.search(r"float32 +[0-9.]+ .s", run(*words, "dtype=int32,float32"))
    run(*words, "dtype=int32,float32", "-o", str(tmp_path / "words.svg"))
    assert "float32" in (tmp_path / "words.svg").read_text(encoding="utf-8")
    assert "did you mean 'float32'" in refused(*words, "dtype=float31")


def test_simulate_takes_words(run: Run) -> None:
    # by hand: 2048 warps add to one of 33 elements each; the other patterns do nothing
    words = ("simulate", "atomic-add", "-D", "n=65536", "-D", "pattern=warp", "-D", "addresses=33")
    found = json.loads(run(*words, "--json"))
    assert found["kernel"]["params"]["pattern"] == "warp"
    assert [a["requests"] for a in found["accesses"]] == [0, 0, 2048]
    assert found["accesses"][2]["atomic_addresses"] == 2048


@pytest.mark.parametrize("addresses", ["1", "8", "32", "1000"])
def test_sectors_do_not_depend_on_who_counts(run: Run, addresses: str) -> None:
    # independent: the simulator's lanes, one by one, against the closed form; the profiler's
    # counters, which both are held against, say the same
    words = ("predict", "atomic-add", "-D", "n=65536", "-D", f"addresses={addresses}", "--json")
    closed, simulated = (
        json.loads(run(*words, "--traffic", method))["traffic"]
        for method in ("closed-form", "simulated")
    )
    for name in ("global_atomic_requests", "l2_atomic_sectors", "l2_hit_rate"):
        assert simulated[name] == pytest.approx(closed[name], rel=0.01)


def test_privatised_only_where_it_does_the_same(run: Run) -> None:
    # by hand: sums of 1 or 16 words fit a block's shared memory, those of a million do not, and
    # who uses the old value needs the one that all blocks see
    words = ("advise", "atomic-add", "-D", "n=1MiB", "--json")

    def tried(value: str) -> set[str]:
        found = json.loads(run(*words, "-D", value))
        return {option["kind"] for option in (*found["options"], *found["rejected"])}

    for some in ("addresses=1", "addresses=16", "dtype=float32"):
        assert "privatisation" in tried(some)
    for other in ("addresses=1048576", "returns=true"):
        assert "privatisation" not in tried(other)
