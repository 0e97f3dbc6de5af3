"""Lines of reports, held against what rich draws of the same pieces."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from perfmodel.reports.lines import (
    COLOURS,
    STYLES,
    Cell,
    Indented,
    Look,
    Piece,
    Stack,
    Words,
    cells,
    plain,
    stack,
)
from perfmodel.reports.tables import Bar, Columns, Labelled, beside, labelled, table

WIDTHS = st.integers(24, 90)
LETTERS = st.sampled_from("abcdefghij0123456789.,-_ \n\u00b5\u00d7")
TEXT = st.text(LETTERS, max_size=90)
TABS = st.text(st.sampled_from("ab \t\n"), max_size=40)
LINE = st.text(st.sampled_from("abcdefgh0123456789._ "), max_size=60)
WORD = st.text(st.sampled_from("abcdef0123._"), min_size=1, max_size=9)


def drawn(piece: Piece | str, width: int) -> list[str]:
    """Return what rich prints without colours; independent but for the widths of columns."""
    console = Console(width=width, color_system=None, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        console.print(of_rich(piece, width))
    return [line.rstrip() for line in captured.get().split("\n")[:-1]]


def of_rich(piece: Any, width: int) -> Any:
    if isinstance(piece, str):
        return piece
    if isinstance(piece, Words):
        return Text(piece.text, piece.style)
    if isinstance(piece, Bar):
        return piece.lines(width)[0]
    if isinstance(piece, Indented):
        return Padding(of_rich(piece.piece, width - piece.by), (0, 0, 0, piece.by))
    if isinstance(piece, Stack):
        return Group(*(of_rich(part, width) for part in piece.parts))
    if isinstance(piece, Labelled):
        grid = Table.grid(padding=(0, piece.gap, 0, 0))
        grid.add_column(style=piece.style, no_wrap=True, min_width=piece.width)
        grid.add_column(overflow="fold")
        for label, text in piece.rows:
            grid.add_row(Text(label), of_rich(text, width))
        return grid
    assert isinstance(piece, Columns)
    parts = [columns_of_rich(piece, *part) for part in piece._parts(width)]
    return Group(*parts[:1], *(each for part in parts[1:] for each in ("", part)))


def columns_of_rich(piece: Columns, places: list[int], widths: list[int]) -> Table:
    made = Table(box=None, padding=(0, piece.gap, 0, 0), pad_edge=False, header_style="bold")
    for i, room in zip(places, widths, strict=True):
        side = "right" if piece.align[i : i + 1] == "r" else "left"
        head = of_rich(piece.headers[i], room)
        made.add_column(head, justify=side, overflow="fold", width=room)
    for row in piece.rows:
        made.add_row(*(of_rich(row[i], room) for i, room in zip(places, widths, strict=True)))
    return made


def stripped(lines: list[str]) -> list[str]:
    return [line.rstrip() for line in lines]


@given(st.one_of(TEXT, TABS), st.integers(1, 90))
@example("a word-that-is-far-too-long b", 7)
@example("", 5)
@example("  leading and trailing  ", 9)
@settings(max_examples=300, deadline=None)
def test_words_wrap_as_by_rich(text: str, width: int) -> None:
    assert plain(text).lines(width) == drawn(plain(text), width)


@pytest.mark.parametrize("width", [3, 4, 5, 12])
def test_wide_characters_take_two_columns(width: int) -> None:
    # U+6838 is wide, U+0301 a combining accent
    text = "a\u6838\u6838\u6838 e\u0301e\u0301 b"
    assert cells(text) == 12
    assert plain(text).lines(width) == drawn(plain(text), width)


@st.composite
def tables(draw: st.DrawFn) -> Columns:
    """Tables as reports have them: words and numbers in a row, and a text or a bar at its end."""
    columns = draw(st.integers(1, 5))
    last: st.SearchStrategy[str | Cell | None] = st.one_of(
        LINE,
        st.builds(Bar, st.floats(0, 1)),
        st.none(),
        st.builds(Indented, st.builds(Words, WORD), st.just(2)),
    )
    row = st.tuples(*[WORD] * columns, last)
    headers = draw(st.tuples(*[st.one_of(WORD, st.just(""))] * columns, LINE))
    align = draw(st.text("lr", max_size=columns))
    return table(headers, draw(st.lists(row, max_size=5)), align)


@given(tables(), WIDTHS)
@settings(max_examples=300, deadline=None)
def test_tables_are_those_of_rich(made: Columns, width: int) -> None:
    assert stripped(made.lines(width)) == drawn(made, width)


@given(st.lists(st.tuples(WORD, TEXT), max_size=4), WIDTHS)
@settings(max_examples=200, deadline=None)
def test_labelled_lines_are_those_of_rich(rows: list[tuple[str, str]], width: int) -> None:
    assert labelled(rows).lines(width) == drawn(labelled(rows), width)


@given(WORD, TEXT, WIDTHS)
@settings(deadline=None)
def test_a_stack_is_that_of_rich(word: str, text: str, width: int) -> None:
    inner = table((word, "number"), [(word, "12")], "lr")
    made = stack(
        plain(text, "bold"), "", Indented(plain(text), 3), beside("1. ", plain(text)), inner
    )
    assert stripped(made.lines(width)) == drawn(made, width)


def test_no_line_is_wider_than_a_very_narrow_terminal() -> None:
    # by hand: three columns each, two between them
    made = table(("name", "value"), [("abcdefgh", "1234567")], "lr")
    assert made.lines(8) == ["nam  val", "e     ue", "abc  123", "def  456", "gh     7"]


def test_bars_where_only_ascii_goes() -> None:
    # by hand: half of twenty
    assert (
        stack(table(("", ""), [("a", Bar(0.5))])).lines(80, Look(ascii_only=True))[1]
        == "a  " + 10 * "#"
    )


@pytest.mark.parametrize(("style", "code"), [*STYLES.items(), *COLOURS.items()])
def test_styles_are_those_of_rich(style: str, code: str) -> None:
    console = Console(width=20, force_terminal=True, color_system="standard", legacy_windows=False)
    with console.capture() as captured:
        console.print(Text("some words that wrap", style))
    look = Look(styles=STYLES | COLOURS)
    assert look.styled("a", style) == f"\x1b[{code}ma\x1b[0m"
    assert plain("some words that wrap", style).lines(20, look) == captured.get().splitlines()


@given(tables(), WIDTHS)
@settings(deadline=None)
def test_styles_move_nothing(made: Columns, width: int) -> None:
    # property: without its codes the text is that of a pipe
    piece = stack(made, labelled([("label", "some words")]), beside("1. ", plain("text", "bold")))
    look = Look(styles=STYLES)
    styled = [
        line.replace("\x1b[1m", "").replace("\x1b[0m", "") for line in piece.lines(width, look)
    ]
    assert stripped(styled) == stripped(piece.lines(width))


def test_codes_within_a_text_never_reach_a_terminal() -> None:
    assert plain("a\x1b[31mb\a").lines(20) == ["a[31mb"]
