"""Reads of the same data by several SMs at a time, and counts that differ from launch to launch."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "measurements" / "l2/h200-sxm/merged-reads"


def rows(name: str, point: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(newline="") as file:
        return [r for r in csv.DictReader(file) if r["point"] == point]


def merged(row: dict[str, str]) -> float:
    """Return how many sectors came into L1 for each that L2 was asked for."""
    return float(row["l1_fill_sectors"]) / float(row["l2_read_sectors"])


def test_l2_is_asked_once_for_two_sms_that_read_the_same_at_a_time() -> None:
    # Those are of one group: SM 0 and 15 others. Of other groups, each asks for itself.
    ratios = {int(r["last_sm"]): merged(r) for r in rows("merged.csv", "pair")}
    together = {sm for sm, ratio in ratios.items() if ratio > 1.5}
    assert together == {1, 16, 17, 32, 33, 48, 49, *range(124, 132)}
    assert all(ratios[sm] == pytest.approx(2, rel=0.05) for sm in together)
    assert all(ratios[sm] == pytest.approx(1, rel=0.01) for sm in ratios.keys() - together)


def test_of_more_sms_four_are_merged() -> None:
    ratios = {int(r["sms"]): merged(r) for r in rows("merged.csv", "first")}
    assert ratios[16] == pytest.approx(2, rel=0.01)  # two of each group
    assert ratios[32] == pytest.approx(4, rel=0.01)
    assert ratios[132] == pytest.approx(3.85, rel=0.01)  # groups of 16 and 18


def test_pauses_do_not_matter_and_a_start_apart_does() -> None:
    assert all(merged(r) > 3.7 for r in rows("merged.csv", "spin"))
    ratios = {int(r["skew"]): merged(r) for r in rows("merged.csv", "skew")}
    assert ratios[30] > 3.6
    assert ratios[100] == pytest.approx(3, rel=0.05)
    assert ratios[300] < 2


def test_retries_differ_from_launch_to_launch_and_lanes_that_leave_apart_do_not() -> None:
    retried = {r["global_atomic_requests"] for r in rows("repeats.csv", "maximum_by_compare")}
    assert len(retried) == 6
    staircase = rows("repeats.csv", "staircase")
    assert len(staircase) == 3
    columns = ("instructions", "global_load_requests", "global_load_sectors")
    assert {tuple(r[c] for c in columns) for r in staircase} == {("15892480", "4128768", "6029312")}


def window(point: str) -> dict[int, float]:
    """Return how many reads of two SMs L2 saw for each of one, by the clocks between them."""
    found = {}
    for r in rows("window.csv", point):
        first = 8192 if r["in_l2"] == "1" else 0  # by the SM that reads all first
        polls = int(r["l1_fill_sectors"]) - 2 * 8192 - first
        found[max(map(int, r["delays"].split()))] = (
            int(r["l2_read_sectors"]) - first - polls
        ) / 8192
    return found


def test_a_read_is_joined_while_it_is_on_its_way() -> None:
    # some 65 clocks where L2 has the data, some 400 where DRAM brings it; of a TPC or of a GPC
    for point in ("same TPC", "same group", "same group first"):
        seen = window(point)
        assert all(seen[clocks] == pytest.approx(1, abs=0.01) for clocks in (0, 10, 20))
        assert 1.5 < seen[75] < 1.9
        assert all(seen[clocks] > 1.97 for clocks in seen if clocks >= 100)
    seen = window("same group cold")
    assert all(seen[clocks] == pytest.approx(1, abs=0.01) for clocks in seen if clocks <= 300)
    assert 1.3 < seen[400] < 1.5
    assert all(seen[clocks] > 1.85 for clocks in seen if clocks >= 600)


def test_reads_of_other_sectors_of_a_line_are_apart() -> None:
    requests = {
        (r["masks"], r["in_l2"], r["delays"]): int(r["l2_read_requests"])
        for r in rows("window.csv", "parts")
    }
    same = [n for (masks, _, _), n in requests.items() if len(set(masks.split())) == 1]
    other = [n for (masks, _, _), n in requests.items() if len(set(masks.split())) == 2]
    assert len(same) == 2
    assert len(other) == 6
    assert max(same) < 4300
    assert min(other) > 6200


def test_l2_gives_its_bandwidth_to_merged_reads_once() -> None:
    # 132 SMs take in up to 22 TB/s, of which L2 gives no more than 9.2
    taken, given = [], []
    for point in ("apart 1", "apart 4", "alike 18"):
        for r in rows("bandwidth.csv", point):
            seconds = float(r["time_us"]) * 1e-6
            taken.append(float(r["l1_fill_sectors"]) * 32e-12 / seconds)
            given.append(float(r["l2_read_sectors"]) * 32e-12 / seconds)
    assert min(taken) < 10.1
    assert max(taken) > 22
    assert all(8.3 < rate < 9.4 for rate in given)
