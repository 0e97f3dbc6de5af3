"""`perfmodel draw` on the command line: files, JSON, and refusals of one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., str]
Refused = Callable[..., str]


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("sectors gemm --mapping naive -D N=256", "Lanes and sectors of load A[m*K + k], every k"),
        ("tiles gemm --mapping smem -D N=256", "Tiles of a block, gemm smem"),
        ("pipeline gemm --mapping smem -D N=256", "Steps of a block over time, gemm smem"),
        (
            "l2 data-reset --set-aside 8MiB --window 8MiB",
            "L2 set-aside and access policy window, data-reset",
        ),
    ],
)
def test_a_picture_is_written(words: str, title: str, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "picture.svg"
    assert run("draw", *words.split(), "-o", str(path)) == ""
    text = path.read_text("utf-8")
    assert text.startswith("<?xml")
    assert f"<title>{title}" in text
    assert json.loads(run("draw", *words.split(), "--json"))["schema"].startswith("perfmodel.draw.")


def test_json_of_a_chosen_request(run: Run) -> None:
    # by hand: block 3 of 256 threads, warp 1: threads 800 to 831, 8 B from one to the next
    words = "sectors strided-copy -D stride=2 --at blockIdx.x=3 --at warp=1 --access in --json"
    record = json.loads(run("draw", *words.split()))
    assert record["lanes"] == [8 * i for i in range(800, 832)]
    assert len(record["sectors"]) == 8


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("sectors copy", "nowhere to draw it: give -o FILE.svg, or --json"),
        ("circles copy --json", "'circles' is not one of"),
        ("tiles copy --json", "copy is no matrix product: tiles are drawn of"),
        ("pipeline copy --json", "copy has no pipeline to draw"),
        ("l2 copy --json", "give --window SIZE, and --set-aside SIZE"),
        ("l2 copy --window 1MiB --at warp=1 --json", "--access and --at are for sectors and tiles"),
        ("tiles gemm --over-time --json", "--over-time is for l2, not for tiles: leave it out"),
        ("tiles gemm --access A --json", "--access is for sectors"),
        ("sectors copy --at k --json", "--at 'k' must be NAME=N, such as k=5 or blockIdx.x=3"),
        ("sectors copy --at warp=1 --at warp=2 --json", "--at warp is given twice"),
        ("sectors copy -o picture.gif", "must end in .svg, .png or .pdf"),
    ],
)
def test_refusals(words: str, message: str, refused: Refused) -> None:
    assert message in refused("draw", *words.split())


def test_arrows_need_a_figure(run: Run, refused: Refused, tmp_path: Path) -> None:
    assert "give -o FILE.svg too" in refused("roofline", "gemm", "--arrows")
    assert "give -o FILE.svg too" in refused("ladder", "--roofline")
    path = tmp_path / "versions.svg"
    run("ladder", "-D", "N=256", "--roofline", "-o", str(path))
    assert "from 1 to 2: " in path.read_text("utf-8")
