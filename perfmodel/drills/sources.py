"""Where the numbers of a worked solution come from: records, read from the tables of drill files.

Each kind is one key of a step. Numbers in them are literals, quantities such as ``"16MiB"``, or
expressions over names that are known by then, in the grammar of `perfmodel.expressions`.
"""

import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from perfmodel.drills.quantity import Quantity, is_quantity, read_quantity
from perfmodel.errors import PerfmodelError, shown
from perfmodel.expressions import Node, Number, parse
from perfmodel.records import record
from perfmodel.tables import Reader, check_keys, read_record, read_text

text: Final = partial(read_text, empty=False, most=2000)
"""Reads a text of a drill file, its lines joined."""
_WORD: Final = re.compile(r"[a-z][a-z0-9-]{0,63}")
_CONTROL: Final = (
    *("set_aside", "window", "window_buffer", "hit_ratio", "hit_prop", "miss_prop"),
    *("fetch_granularity", "compression"),
)
_CONTROL_WORDS: Final = frozenset({"window_buffer", "hit_prop", "miss_prop"})
PREDICT_KEYS: Final = (
    *("kernel", "mapping", "device", "params", "timing", "cache", "mig", "mps", "read"),
    *("concurrent", *_CONTROL),
)


@record
class Expression:
    """An expression: its text as written, and its tree."""

    text: str
    node: Node


@record
class FigureOf:
    """A figure of a GPU, such as ``l2_size``; `device` empty: of the drill's."""

    name: str
    device: str = ""


@record
class Predicted:
    """One number of a prediction."""

    kernel: str
    # Which number: ``time_s``, ``traffic.dram_read_bytes``, ``access.A.sectors_per_request``.
    read: str
    mapping: str = ""
    device: str = ""
    # Of the kernel; of `L2Control` and its window; of `perfmodel.predict`.
    params: tuple[tuple[str, Expression | str], ...] = ()
    control: tuple[tuple[str, Expression | str], ...] = ()
    options: tuple[tuple[str, str | bool], ...] = ()
    # Windows of kernels beside it: bytes and hitRatio.
    concurrent: tuple[tuple[Expression, Expression], ...] = ()


@record
class Warp:
    """What one request of a warp touches."""

    address: Expression  # byte address of ``lane``
    read: str  # "granules", "moved_bytes", "wanted_bytes" or "efficiency"
    # Lanes; bytes that each wants; bytes of a granule (sector 32, line 128).
    lanes: Expression = Expression("32", Number(32))
    bytes: Expression = Expression("4", Number(4))
    granule: Expression = Expression("32", Number(32))


@record
class Lru:
    """Lines of a window read in order, pass after pass, in a least-recently-used set-aside."""

    # Lines that the set-aside holds, and lines of the window.
    capacity: Expression
    window: Expression
    read: str  # "hits", "misses" or "hit_share" of the last pass, or "held": lines held at the end
    # Share of the window's lines that persist, evenly spread; the others pass by.
    picked: Expression = Expression("1", Number(1))
    passes: Expression = Expression("2", Number(2))


@record
class FormulaOf:
    """A closed form of perfmodel, such as ``residency.PICKED``, with a number for each symbol."""

    name: str
    values: tuple[tuple[str, Expression], ...] = ()


@record
class Measured:
    """One cell of a recorded measurement: the row of a topic with the given values."""

    folder: str
    topic: str
    column: str
    where: tuple[tuple[str, int | float | str], ...] = ()


@record
class Cited:
    """A number that somebody published."""

    quantity: Quantity
    origin: str


@record
class Trace:
    """A table of expressions over a variable."""

    variable: str
    values: tuple[int, ...]  # what it takes, one row each
    columns: tuple[tuple[str, Expression], ...]


Source = Expression | FigureOf | Predicted | Warp | Lru | FormulaOf | Measured | Cited | Trace

WARP_READS: Final = ("granules", "moved_bytes", "wanted_bytes", "efficiency")
LRU_READS: Final = ("hits", "misses", "hit_share", "held")
MOST_ROWS: Final = 64
"""Rows of a trace."""


def read_expression(value: object, known: Collection[str], where: str) -> Expression:
    """Return a literal, a quantity or an expression over known names."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise PerfmodelError(f"{where} must be a number or an expression, not {shown(value)}")
    if not isinstance(value, str):
        try:
            return Expression(str(value), Number(value))
        except PerfmodelError as error:
            raise PerfmodelError(f"{where}: {error}") from None
    if is_quantity(value):
        found = read_quantity(value, where).value
        assert not isinstance(found, str)
        return Expression(value, Number(found))
    return Expression(value, parse(value, where=where, allowed=known))


def read_source(kind: str, value: object, known: Collection[str], where: str) -> Source:
    """Return the source that one key of a step states.

    Raises `PerfmodelError` if something is missing, unknown or of the wrong type.
    """
    return READERS[kind](value, known, where)


def _figure(value: object, known: Collection[str], where: str) -> FigureOf:
    if isinstance(value, str):
        return FigureOf(text(value, where))
    return read_record(FigureOf, value, where, {"name": text, "device": _text_or_none})


def _predicted(value: object, known: Collection[str], where: str) -> Predicted:
    table = check_keys(value, PREDICT_KEYS, ("kernel", "read"), where)
    params = _table(table.get("params", {}), f"{where}: params")
    concurrent = table.get("concurrent", [])
    if not isinstance(concurrent, list):
        raise PerfmodelError(f"{where}: concurrent must be a list, not {shown(concurrent)}")
    windows = []
    for each in concurrent:
        row = check_keys(each, ("window", "hit_ratio"), ("window",), f"{where}, concurrent")
        size, ratio = row["window"], row.get("hit_ratio", 1)
        windows.append((read_expression(size, known, where), read_expression(ratio, known, where)))

    def read(keys: Collection[str], reader: Reader) -> tuple[tuple[str, Any], ...]:
        return tuple((k, reader(table[k], f"{where}: {k}")) for k in keys if k in table)

    def control(value: object, where: str) -> Expression | str:
        words = where.rpartition(" ")[2] in _CONTROL_WORDS
        return text(value, where) if words else read_expression(value, known, where)

    return Predicted(
        params=tuple((n, _word_or_number(v, known, f"{where}, {n}")) for n, v in params.items()),
        control=read(_CONTROL, control),
        options=read(("timing", "cache", "mig", "mps"), _option),
        concurrent=tuple(windows),
        **dict(read(("kernel", "read"), text)),
        **dict(read(("mapping", "device"), _text_or_none)),
    )


def _warp(value: object, known: Collection[str], where: str) -> Warp:
    readers: dict[str, Reader] = {
        "address": _expression({*known, "lane"}),
        **dict.fromkeys(("lanes", "bytes", "granule"), _expression(known)),
        "read": _one_of(WARP_READS),
    }
    return read_record(Warp, value, where, readers)


def _lru(value: object, known: Collection[str], where: str) -> Lru:
    numbers = dict.fromkeys(("capacity", "window", "picked", "passes"), _expression(known))
    return read_record(Lru, value, where, {**numbers, "read": _one_of(LRU_READS)})


def _formula(value: object, known: Collection[str], where: str) -> FormulaOf:
    def values(value: object, _: str) -> tuple[tuple[str, Expression], ...]:
        found = _table(value, f"{where}: values")
        return tuple((n, read_expression(v, known, f"{where}, {n}")) for n, v in found.items())

    return read_record(FormulaOf, value, where, {"name": text, "values": values})


def _measured(value: object, known: Collection[str], where: str) -> Measured:
    def wanted(value: object, _: str) -> tuple[tuple[str, Any], ...]:
        found = _table(value, f"{where}: where")
        for key, cell in found.items():
            if isinstance(cell, bool) or not isinstance(cell, int | float | str):
                raise PerfmodelError(
                    f"{where}, {key}: must be a number or a word, not {shown(cell)}"
                )
        return tuple(found.items())

    words = dict.fromkeys(("folder", "topic", "column"), text)
    return read_record(Measured, value, where, {**words, "where": wanted})


def _cited(value: object, known: Collection[str], where: str) -> Cited:
    table = check_keys(value, ("value", "source"), ("value", "source"), where)
    number = table["value"]
    given = str(number) if isinstance(number, int | float) else text(number, f"{where}: value")
    return Cited(read_quantity(given, f"{where}: value"), text(table["source"], f"{where}: source"))


def _trace(value: object, known: Collection[str], where: str) -> Trace:
    keys = ("variable", "values", "columns")
    table = check_keys(value, keys, keys, where)
    variable = name(table["variable"], f"{where}: variable")
    values = table["values"]
    if (
        not isinstance(values, list)
        or not 1 <= len(values) <= MOST_ROWS
        or not all(type(v) is int and abs(v) < 2**53 for v in values)
    ):
        raise PerfmodelError(
            f"{where}: values must be a list of 1 to {MOST_ROWS} whole numbers, not {shown(values)}"
        )
    columns = _table(table["columns"], f"{where}: columns").items()
    over = {*known, variable}
    read = tuple((head, read_expression(e, over, f"{where}, {head}")) for head, e in columns)
    return Trace(variable, tuple(values), read)


READERS: Final[Mapping[str, Callable[[object, Collection[str], str], Source]]] = {
    "value": read_expression,
    "figure": _figure,
    "predict": _predicted,
    "warp": _warp,
    "lru": _lru,
    "formula": _formula,
    "measured": _measured,
    "cited": _cited,
    "trace": _trace,
}
"""What a step may take its value from, by key."""


def name(value: object, where: str) -> str:
    """Return an identifier that expressions can use."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,30}", value):
        raise PerfmodelError(
            f"{where} must start with a letter and be of letters, digits and '_', "
            f"not {shown(value)}"
        )
    parse(value, where=where)  # refuses functions and Python's words
    return value


def path_of(kernel: str, file: Path) -> str:
    """Return a kernel's name, or the path of its file beside the drill file."""
    return str(file.parent / kernel) if kernel.endswith(".toml") else kernel


def _table(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or len(value) > MOST_ROWS:
        raise PerfmodelError(f"{where} must be a table, not {shown(value)}")
    return value


def _text_or_none(value: object, where: str) -> str:
    return text(value, where, empty=True)


def _expression(known: Collection[str]) -> Reader:
    return lambda value, where: read_expression(value, known, where)


def _word_or_number(value: object, known: Collection[str], where: str) -> Expression | str:
    if isinstance(value, str) and value not in known and _WORD.fullmatch(value):
        return value
    return read_expression(int(value) if isinstance(value, bool) else value, known, where)


def _option(value: object, where: str) -> str | bool:
    return value if isinstance(value, bool) else text(value, where)


def _one_of(allowed: Collection[str]) -> Reader:
    def read(value: object, where: str) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise PerfmodelError(f"{where} must be {', '.join(allowed)}, not {shown(value)}")
        return value

    return read


Value = Callable[[Expression], float | int]
"""Gives the value of an expression of the step that is being worked out."""


@record
class Found:
    """A number with where it comes from."""

    value: float | int | str
    unit: str = ""  # what it comes in, if the step names no other
    origin: str = ""
    rows: tuple[tuple[str, ...], ...] = ()  # a table: its head, then its rows; empty for most


def whole(value: float) -> int:
    """Return a number that must be whole."""
    if value != int(value):
        raise PerfmodelError(f"{value} must be a whole number here")
    return int(value)
