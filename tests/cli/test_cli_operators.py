"""`perfmodel operators` as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., str]
Refused = Callable[..., str]
WORDS = ("operators", "--model", "llama-2-7b", "--context", "4096", "--device", "a100-sxm-80")


@pytest.mark.parametrize("columns", [80, 120])
def test_the_table_fits(run: Run, columns: int) -> None:
    text = run(*WORDS, columns=columns)
    assert all(len(line) <= columns for line in text.splitlines())
    told = " ".join(text.split())
    cache = "K and V: 2 x 32 layers x 4096 tokens x 4096 wide x 2 B = 2.15 GB (2 GiB)"
    for part in ("decode attention", "HBM", cache, "1.05 ms", "One token"):
        assert part in told
    # one line an operator: nothing is folded at 80 columns
    assert sum(line.startswith("decode ") for line in text.splitlines()) == 2


def test_json(run: Run) -> None:
    found = json.loads(run(*WORDS, "--json"))
    assert found["schema"] == "perfmodel.operators/1"
    assert found["device"] == "a100-sxm-80"
    assert found["model"]["cache_bytes"] == 2 << 30
    # by hand: 2*32*4096*4096*2
    assert found["token"]["cache_read_bytes"] == 2_147_483_648
    low, high = found["token"]["interval_s"]
    assert low < found["token"]["time_s"] < high
    decode = next(o for o in found["operators"] if o["name"] == "decode attention")
    assert decode["tier"] == "HBM"
    assert decode["kernel"]["name"] == "decode-attention"
    assert decode["bytes"] == decode["read_bytes"] + decode["written_bytes"]


def test_a_file_and_a_batch(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "mine"\nlayers = 2\nwidth = 512\nheads = 8\nkv_heads = 2\nffn_width = 2048\n'
        'vocab = 1000\ncontext = 300\ndtype = "fp32"\n'
    )
    found = json.loads(run("operators", "--model", str(path), "--batch", "3", "--json"))
    # by hand: 2*2 layers*300 tokens*2 heads of 64*4 bytes*3 sequences
    assert found["token"]["cache_read_bytes"] == 2 * 2 * 300 * 2 * 64 * 4 * 3
    assert any("no tiled prefill attention" in w for w in found["warnings"])
    assert all(o["name"] != "prefill attention, tiled" for o in found["operators"])
    events = run("operators", "--model", str(path), "--timing", "events")
    assert "mine on h100-sxm" in events


def test_the_real_entry_point() -> None:
    words = [sys.executable, "-m", "perfmodel", "operators", "--model", "minigpt", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["model"]["cache_bytes"] == 16 << 20
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--model", "llama"], "did you mean"),
        (["--model", "zzz.toml"], "does not exist"),
        (["--model", "/"], "is a directory"),
        (["--context", "0"], "context must be 1 to"),
        (["--context", "-1"], "context must be 1 to"),
        (["--context", "many"], "is not a valid int"),
        (["--context", str(1 << 80)], "context must be 1 to"),
        (["--batch", "0"], "batch must be 1 to"),
        (["--context", str(1 << 24), "--batch", str(1 << 14)], "more than 281474976710656"),
        (["--device", "a100-sxm"], "did you mean"),
        (["--cache", "hot"], "is not one of"),
        (["llama-2-7b"], "unexpected extra argument"),
    ],
)
def test_refusals(refused: Refused, words: list[str], part: str) -> None:
    assert part in refused("operators", *words)


@pytest.mark.parametrize(
    "words",
    [
        ["predict", "softmax", "-D", "rows=4096,8192", "-D", "cols=4096"],
        ["predict", "prefill-attention", "--mapping", "naive", "-D", "tokens=512"],
        ["predict", "prefill-attention", "-D", "tokens=512", "-D", "causal=true"],
        ["explain", "decode-attention"],
        ["explain", "prefill-attention"],
        ["roofline", "ffn-gemv"],
        ["advise", "layernorm"],
        ["kernels", "argmax"],
        ["simulate", "kv-append"],
        ["simulate", "softmax", "-D", "rows=64", "-D", "cols=1000"],
        ["simulate", "decode-attention", "-D", "context=512"],
    ],
)
def test_the_kernels_work_with_every_command(run: Run, words: list[str]) -> None:
    assert run(*words)
