"""Slices: how atomics to neighbouring pieces of 256 B spread over L2."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.models.l2.slices import most_answers, most_pieces, slice_slot

H200 = load_device("h200-sxm")
CLOCK = H200.sm_clock
# measured: lts__t_sectors.max over .sum/1.5 of int32 additions on an H200, one session
COUNTED = {8: 2, 16: 2, 32: 3, 64: 3, 128: 5.5, 256: 6, 512: 12}


@pytest.mark.parametrize(("pieces", "most"), COUNTED.items())
def test_the_busiest_slice_is_the_counted_one(pieces: int, most: float) -> None:
    assert float(most_pieces(pieces, H200)) == pytest.approx(most, rel=0.12)


def test_the_busiest_slice_has_no_less_than_the_average_and_no_more_than_all() -> None:
    pieces = np.unique(np.geomspace(1, 1e7, 400).astype(int))
    for slices in (80, 94, 96):
        found = most_pieces(pieces, replace(H200, l2_slices=slices))
        assert np.all(found >= pieces / slices)
        assert np.all(found <= pieces)
        assert np.all(np.diff(found) >= 0)
        # property: of very many pieces each slice has its share
        assert float(found[-1]) == pytest.approx(pieces[-1] / slices, rel=0.05)


def _clocks(
    sectors: float, most: float, least: float = 0, lines: bool = False, pieces: bool = False
) -> float:
    alone, lone = np.array(1.48 / CLOCK), (np.array(lines), np.array(pieces))
    given = np.array(sectors), np.array(most), np.array(least / CLOCK)
    return float(slice_slot(alone, *given, *lone, H200)) * CLOCK


@pytest.mark.parametrize("answers", [0.0, 1.57])
def test_few_pieces_wait_for_each_pass(answers: float) -> None:
    assert _clocks(4, 1, answers) == pytest.approx(1.48)
    # lone sectors of one line at random
    assert _clocks(1, 2, answers) == pytest.approx(1.48)
    # measured: 16 words 32 B apart, 12 words 256 B apart, and 2 and 16 words 128 B apart
    assert _clocks(4, 2, answers) == pytest.approx(1.36)
    assert _clocks(1, 2, answers, pieces=True) == pytest.approx(1.36)
    assert _clocks(1, 1, answers, lines=True) == pytest.approx(1.68)
    assert _clocks(1, 2, answers, lines=True) == pytest.approx(1.5)


def test_several_pieces_keep_a_slice_busy() -> None:
    # definition: what goes back may take longer
    assert _clocks(4, 6, 1.57) == pytest.approx(1.57)
    # measured: 0.98 clocks a pass with packets of four sectors
    assert _clocks(4, 6) == pytest.approx(0.98, rel=0.01)


def test_one_piece_has_the_way_back_to_itself() -> None:
    # by hand: of one piece the busiest way has all, of two no more than both and more than a half
    few = most_answers(np.array([0.5, 1.0, 2.0]), np.full(3, 99.0), H200)
    assert few[:2] == pytest.approx(1.0)
    assert 1.0 < few[2] <= 2.0
    # of more pieces than were measured it is as the busiest slice
    assert most_answers(np.array([1e9]), np.array([99.0]), H200) == pytest.approx(99.0)
