"""`perfmodel simulate`, and `predict --traffic simulated`."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from perfmodel.cli.app import app
from perfmodel.cli.simulate import watched
from perfmodel.kernels import bind, find_kernel

Run = Callable[..., str]


def test_json(run: Run) -> None:
    # by hand: 1 MiB in vectors of 16 B: 2048 warp requests of 16 sectors each way
    found = json.loads(run("simulate", "copy", "-D", "bytes=1MiB", "--json"))
    assert found["schema"] == "perfmodel.simulation/1"
    traffic = found["traffic"]
    assert traffic["global_load_requests"] == traffic["global_store_requests"] == 2048
    assert traffic["l2_read_sectors"] == traffic["l2_write_sectors"] == 32768
    assert (traffic["dram_read_bytes"], traffic["dram_write_bytes"]) == (2**20, 0)
    assert found["dirty_left_bytes"] == 2**20
    assert [b["name"] for b in found["buffers"]] == ["in", "out"]
    assert found["accesses"][0]["l2_missed_sectors"] == 32768
    assert sum(found["series"]["l2_sectors"]) == 65536
    assert (found["sampled"], found["error"], found["interrupted"]) == (1.0, None, False)


def test_text(run: Run) -> None:
    text = run("simulate", "gemm", "--mapping", "coalesced", "-D", "N=128")
    assert text.startswith("gemm coalesced on h100-sxm, simulated\n")
    for part in ("load A", "store C", "L1 hits", "buffer", "still in L2 at the end"):
        assert part in text


def test_text_leaves_out_what_says_nothing(run: Run) -> None:
    # property: accesses whose guards held all back, and rates over time at a single time
    text = run("simulate", "atomic-add", "-D", "n=1003", "-D", "addresses=17")
    assert "atomic modulo" in text
    assert "atomic random" not in text
    assert "over time" not in text


def test_warm_caches_hit(run: Run) -> None:
    # by hand: 1 MiB is all in L2 after the first launch
    found = json.loads(run("simulate", "read", "-D", "bytes=1MiB", "--cache", "warm", "--json"))
    assert found["traffic"]["dram_read_bytes"] == 0
    assert found["traffic"]["l2_hit_rate"] == 1


@pytest.mark.parametrize(("granularity", "each"), [("32", 32), ("64", 64), ("128", 128)])
def test_fetch_granularity(run: Run, granularity: str, each: int) -> None:
    # by hand: one float of every 128 B
    words = ("-D", "n=4096", "-D", "stride=32", "--fetch-granularity", granularity, "--json")
    found = json.loads(run("simulate", "strided-copy", *words))
    assert found["traffic"]["dram_read_bytes"] == 4096 * each


def test_window(run: Run) -> None:
    words = ["simulate", "read", "-D", "bytes=48MiB", "--cache", "warm", "--json"]
    window = ["--set-aside", "16MiB", "--window", "48MiB", "--window-buffer", "in"]
    found = json.loads(run(*words, *window, "--hit-ratio", "0.25", "--miss-prop", "streaming"))
    assert found["l2"]["window"]["hit_ratio"] == 0.25
    assert found["traffic"]["l2_hit_rate"] == pytest.approx(0.25, abs=0.07)


def test_sets(run: Run) -> None:
    # by hand: each set of eight stands for the others; requests and sectors are all counted
    text = run("simulate", "copy", "-D", "bytes=16MiB", "--sets", "8")
    assert "in one of 8 sets of L2" in text
    found = json.loads(run("simulate", "copy", "-D", "bytes=16MiB", "--sets", "8", "--json"))
    assert (found["sampled"], found["sets"]) == (1, 0.125)
    assert found["traffic"]["l2_read_sectors"] == 2**19
    stated = max(found["error"], 0.001)
    assert found["traffic"]["dram_read_bytes"] == pytest.approx(2**24, rel=stated)


def test_plot(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "hits.svg"
    run("simulate", "copy", "-D", "bytes=1MiB", "--plot", str(path))
    assert "sectors that hit" in path.read_text()


def test_predict_with_simulated_traffic(run: Run) -> None:
    # property: the same time model; for a stream both count alike
    words = ("predict", "copy", "-D", "bytes=64MiB", "--json")
    closed = json.loads(run(*words))
    simulated = json.loads(run(*words, "--traffic", "simulated"))
    assert (closed["method"], simulated["method"]) == ("closed-form", "simulated")
    assert simulated["time_s"] == pytest.approx(closed["time_s"], rel=0.05)
    assert simulated["traffic"].keys() == closed["traffic"].keys()
    for name in ("global_load_requests", "global_store_sectors", "l2_read_sectors"):
        assert simulated["traffic"][name] == closed["traffic"][name]


def test_predict_with_a_sample_of_sets(run: Run, refused: Callable[..., str]) -> None:
    # property: it says so, and comes near all sets; the closed forms have none to leave out
    words = ("predict", "copy", "-D", "bytes=32MiB", "--json")
    sampled = json.loads(run(*words, "--traffic", "simulated", "--sets", "8"))
    assert any("one of 8 sets of L2" in w for w in sampled["warnings"])
    assert sampled["traffic"]["dram_read_bytes"] == pytest.approx(2**25, rel=0.01)
    assert "--sets must be left out" in refused("predict", "copy", "--sets", "8")
    many = ("predict", "copy", "--traffic", "simulated", "--sets", "65")
    assert "--sets must be 1 to 64, not 65" in refused(*many)


def test_half_a_simulation_makes_no_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    # property: an interruption ends the command, whatever was counted until then
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("perfmodel.trace.launch.Run._to_l2", stop)
    result = CliRunner().invoke(app, ["predict", "copy", "--traffic", "simulated"])
    assert (result.exit_code, result.stdout) == (130, "")


@pytest.mark.parametrize("kernel", ["cas-loop", "lock-loop"])
def test_tries_that_are_not_counted(kernel: str, run: Run) -> None:
    words = (kernel, "-D", "n=4096", "--json")
    says = "the simulator counts the first try of each lane"
    assert says in json.loads(run("simulate", *words))["notes"][0]
    predicted = json.loads(run("predict", *words, "--traffic", "simulated"))
    assert any(says in w for w in predicted["warnings"])
    assert json.loads(run("simulate", "copy", "-D", "bytes=4096", "--json"))["notes"] == []


def test_long_simulations_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    # property: the note comes once the speed is known, here from a clock on which every batch
    # takes a second; an interruption prints what was counted
    words = ["simulate", "gemm", "--mapping", "naive", "-D", "N=4096"]
    clock = SimpleNamespace(perf_counter=count().__next__)
    monkeypatch.setattr("perfmodel.cli.simulate.time", clock)
    calls = []

    def stop(*_: object) -> None:
        calls.append(1)
        if len(calls) > 20:
            raise KeyboardInterrupt

    monkeypatch.setattr("perfmodel.trace.launch.Run._to_l2", stop)
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 130
    assert result.stderr.startswith("note: 4.30G warp requests will take about ")
    assert "--sample" in result.stderr
    assert "interrupted after" in result.stdout


@pytest.mark.parametrize(
    ("sample", "runs", "says"),
    [(1.0, 1, "4096 warp requests will take about 83 minutes; --sample 0.012 "),
     (0.5, 2, "8192 warp requests will take about 42 minutes; --sample 0.012 "),
     (0.1, 1, "")],
)  # fmt: skip
def test_estimates_are_measured(
    sample: float, runs: int, says: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    # by hand: a thousandth of the launch takes 5 s after a first batch that takes any time, so all
    # of it 5000 s; a tenth of it is within ten minutes
    now = count(100.0)
    clock = SimpleNamespace(perf_counter=now.__next__)
    monkeypatch.setattr("perfmodel.cli.simulate.time", clock)
    told: list[tuple[float, float]] = []
    instance = bind(find_kernel("copy"), {"bytes": 2**20})
    progress = watched(lambda done, total: told.append((done, total)), instance, sample, runs)
    for i in range(8):
        progress(0.01 + i * 2e-4)
    error = capsys.readouterr().err
    assert error.startswith(f"note: {says}") if says else error == ""
    # told from then on, as a share of what is run
    assert told[0] == (pytest.approx((0.01 + 3 * 2e-4) * runs / sample), runs)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--sample", "0"], "--sample must be over 0 and up to 1"),
        (["--sample", "nan"], "--sample must be over 0 and up to 1"),
        (["--seed", "-1"], "--seed must be 0 to 65535"),
        (["--sets", "0"], "--sets must be 1 to 64, not 0"),
        (["-D", "block=0"], "must be 1 to 1024"),
        (["--window-buffer", "in"], "needs --window SIZE"),
        (["--window", "1MiB", "--window-buffer", "x"], "window buffer 'x' is no global buffer"),
        (["--window", "1GiB", "--window-buffer", "in"], "accessPolicyMaxWindowSize"),
        (["-D", "bytes=1MiB", "--window", "2MiB", "--window-buffer", "in"], "not inside buffer"),
        (["--set-aside", "1TB"], "persistingL2CacheMaxSize"),
        (["--fetch-granularity", "48"], "must be 32, 64 or 128"),
        (["--hit-ratio", "2", "--window", "128", "--window-buffer", "in"], "hit_ratio must be"),
        (["--plot", "x.gif"], "must end in"),
        (["-D", "bytes=0"], "must be 1 to"),
    ],
)
def test_refusals(refused: Callable[..., str], words: list[str], says: str) -> None:
    assert says in refused("simulate", "copy", *words)


def test_a_kernel_without_addresses_is_refused(
    refused: Callable[..., str], kernel_file: Callable[..., str]
) -> None:
    text = "\n".join(['name = "none"', 'summary = "nothing"', "[launch]", "grid = 1", "block = 32"])
    assert "no addresses" in refused("simulate", kernel_file(text=text))
