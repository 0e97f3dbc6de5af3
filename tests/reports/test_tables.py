"""Tables on narrow terminals: words stay whole, columns go below, bars keep their scale."""

from __future__ import annotations

import pytest

from perfmodel.reports.tables import Bar, Columns, table

ACCESSES = ("access", "requests", "sectors", "L2")
ROWS = [("load A", "2.15G", "8.59G", "8.59 GB"), ("store C", "524k", "2.10M", "67.1 MB")]


def drawn(made: Columns, width: int) -> list[str]:
    return [line.rstrip() for line in made.lines(width)]


def test_a_table_that_fits_is_as_wide_as_what_is_in_it() -> None:
    # by hand: columns as wide as their widest cell, two spaces between them
    assert drawn(table(ACCESSES, ROWS, "lrrr"), 80) == [
        "access   requests  sectors       L2",
        "load A      2.15G    8.59G  8.59 GB",
        "store C      524k    2.10M  67.1 MB",
    ]


def test_columns_without_room_go_below() -> None:
    # by hand
    assert drawn(table(ACCESSES, ROWS, "lrrr"), 26) == [
        "access   requests  sectors",
        "load A      2.15G    8.59G",
        "store C      524k    2.10M",
        "",
        "access        L2",
        "load A   8.59 GB",
        "store C  67.1 MB",
    ]


def test_text_wraps_at_words_before_columns_move() -> None:
    # by hand
    rows = [("l1", "L1 and shared memory"), ("blocktile-1d", "x")]
    assert drawn(table(("term", "what it is"), rows), 26) == [
        "term          what it is",
        "l1            L1 and",
        "              shared",
        "              memory",
        "blocktile-1d  x",
    ]


@pytest.mark.parametrize("width", [18, 20, 30, 60, 200])
def test_no_line_is_wider_than_the_terminal_and_no_cell_is_lost(width: int) -> None:
    made = table(ACCESSES, ROWS, "lrrr")
    lines = drawn(made, width)
    assert max(map(len, lines)) <= width
    for cell in ("requests", "8.59G", "67.1", "GB"):
        assert cell in " ".join(lines)


def test_a_bar_is_a_share_of_the_room_it_has() -> None:
    # property: half a bar is half of its column, however narrow that is
    for width in (8, 12, 20, 40):
        assert Bar(0.5).lines(width) == ["\u2588" * (min(width, 20) // 2)]
