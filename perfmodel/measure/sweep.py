"""Sweeps: which kernel is launched with which sizes, as the TOML files of `sweeps/` state it.

A sweep varies one mechanism. Its points are the cross product of `vary` (times the explicit
`cases`), with parameters derived by `set`; every other entry is an expression over those, and over
the GPU's ``sms``, ``l2_bytes`` and ``persisting_max``. See ``sweeps/README.md`` for the format.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Final

from perfmodel.errors import PerfmodelError, shown
from perfmodel.expressions import evaluate, parse
from perfmodel.kernels.l2_control import DEFAULT_FETCH, AccessPolicyWindow, L2Control
from perfmodel.tables import check_keys, is_list
from perfmodel.text_files import parse_toml, read_text

SOURCES: Final = Path(__file__).parent / "sources"
SWEEPS: Final = Path(__file__).parent / "sweeps"

FILLS: Final = ("zero", "hash", "int", "index", "perm", "bins")
CACHES: Final = ("warm", "cold")
TIMINGS: Final = ("events", "profiler")

_KEYS: Final = (
    *("topic", "source", "function", "why", "defines", "vary", "cases", "set", "where", "grid"),
    *("block", "shared_bytes", "buffers", "arguments", "cache", "repeats", "clocks"),
    *("check", "l2", "use", "validation", "model", "counters", "timings"),
)
_REQUIRED: Final = ("topic", "source", "function", "why", "grid", "block", "arguments")
_L2_KEYS: Final = (
    *("set_aside", "window_buffer", "window", "hit_ratio", "hit_prop", "miss_prop"),
    "fetch_granularity",
)

Value = int | float | str
Values = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class BufferPlan:
    """Memory that a point needs: its size [B] and what it holds before the launch."""

    bytes: int
    fill: str
    step: int = 4
    range: int = 0


@dataclass(frozen=True, slots=True)
class Point:
    """One launch of a sweep, all numbers known."""

    params: Values  # the sweep's parameters: the columns of its row
    defines: Mapping[str, str]  # macros to compile with
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int  # dynamic shared memory of a block [B]
    buffers: Mapping[str, BufferPlan]
    # In order: ("buffer", name), or "i32", "i64", "f32" and a number.
    arguments: tuple[tuple[str, Any], ...]
    l2: L2Control
    use: str  # "fit", "validation"


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep as its file states it; `points` puts the GPU's numbers in."""

    topic: str  # name of the CSV that its rows go to
    # CUDA file in `SOURCES`, and the kernel in it.
    source: str
    function: str
    why: str  # the mechanism that it varies
    # Protocols that it is run with.
    cache: tuple[str, ...]
    timings: tuple[str, ...]
    repeats: int  # launches whose median is recorded, at most
    clocks: bool  # whether the kernel reports clocks of its own through the buffer ``clocks``
    # Function of `perfmodel.measure.session` that holds the output against its due; or empty.
    check: str
    counters: tuple[str, ...]  # columns that the profiler counts, keys of `counter_metrics`
    # Which kernel predicts a row: ``kernel``, ``mapping`` and ``params``; empty if none does.
    model: Mapping[str, Any]
    where: str  # start of messages about it
    # Its file, and its place there from 0.
    path: Path
    number: int
    table: Mapping[str, Any] = field(repr=False)  # the rest, as written


def read_sweeps(path: Path) -> list[Sweep]:
    """Return the sweeps of a file.

    Raises `PerfmodelError` if it cannot be read, is not TOML, or a key is unknown, missing or
    wrong.
    """
    where = f"sweep file {path.name!r}"
    table = parse_toml(read_text(path, where, "sweep"), where)
    check_keys(table, ("sweep",), ("sweep",), where)
    return [_sweep(entry, path, i) for i, entry in enumerate(table["sweep"])]


def _sweep(table: Any, path: Path, number: int) -> Sweep:
    where = f"sweep file {path.name!r}: sweep {number + 1}"
    check_keys(table, _KEYS, _REQUIRED, where)
    where = f"{where} ({table['function']})"
    check_keys(table.get("l2", {}), _L2_KEYS, (), f"{where}: l2")
    cache = tuple(table.get("cache", CACHES))
    timings = tuple(table.get("timings", TIMINGS))
    for name, values, known in (("cache", cache, CACHES), ("timings", timings, TIMINGS)):
        if not values or set(values) - set(known):
            raise PerfmodelError(f"{where}: {name} must be of {', '.join(known)}")
    if not (SOURCES / table["source"]).exists():
        raise PerfmodelError(f"{where}: there is no source {shown(table['source'])}")
    return Sweep(
        topic=table["topic"],
        source=table["source"],
        function=table["function"],
        why=table["why"],
        cache=cache,
        timings=timings,
        repeats=int(table.get("repeats", 11)),
        clocks=bool(table.get("clocks", False)),
        check=table.get("check", ""),
        counters=_counters(table.get("counters", False), where),
        model=table.get("model", {}),
        where=where,
        path=path,
        number=number,
        table=table,
    )


def _counters(given: Any, where: str) -> tuple[str, ...]:
    """Return the columns to count: all for true, none for false, or those listed."""
    if isinstance(given, bool):
        return tuple(counter_metrics()) if given else ()
    for name in given:
        if name not in counter_metrics():
            raise PerfmodelError(f"{where}: counters has {shown(name)}: see counters.toml")
    return tuple(given)


@cache
def counter_metrics() -> Mapping[str, Sequence[str]]:
    """Return the profiler's columns, and the hardware counters that each adds up."""
    return tomllib.loads((Path(__file__).parent / "counters.toml").read_text())


def points(sweep: Sweep, gpu: Mapping[str, int]) -> Iterator[Point]:
    """Yield the points of a sweep, in order.

    `gpu`: ``sms``, ``l2_bytes`` and ``persisting_max`` of the GPU.
    """
    table = sweep.table
    vary = {name: list(values) for name, values in table.get("vary", {}).items()}
    for case in table.get("cases", [{}]):
        for values in product(*vary.values()):
            params: dict[str, Value] = {**case, **dict(zip(vary, values, strict=True))}
            for name, text in table.get("set", {}).items():
                params[name] = _number(text, {**gpu, **params}, f"{sweep.where}: {name}")
            point = _point(sweep, params, gpu)
            if point is not None:
                yield point


def _point(sweep: Sweep, params: dict[str, Value], gpu: Mapping[str, int]) -> Point | None:
    table, known = sweep.table, {**gpu, **params}

    def number(entry: Any, what: str) -> Any:
        return _number(entry, known, f"{sweep.where}: {what}")

    def whole(entry: Any, what: str) -> int:
        return int(number(entry, what))

    def triple(entry: Any, what: str) -> tuple[int, int, int]:
        entries = [*(entry if is_list(entry) else [entry])]
        x, y, z = (whole(e, what) for e in [*entries, 1, 1][:3])
        return x, y, z

    if not number(table.get("where", 1), "where"):
        return None
    buffers = {}
    for name, plan in table.get("buffers", {}).items():
        check_keys(plan, ("bytes", "fill", "step", "range"), ("bytes",), f"{sweep.where}: {name}")
        fill = plan.get("fill", "hash")
        if fill not in FILLS:
            raise PerfmodelError(f"{sweep.where}: fill of {name} must be of {', '.join(FILLS)}")
        buffers[name] = BufferPlan(
            whole(plan["bytes"], name),
            fill,
            whole(plan.get("step", 4), name),
            whole(plan.get("range", 0), name),
        )
    l2 = dict(table.get("l2", {}))
    for key in ("set_aside", "window", "hit_ratio", "fetch_granularity"):
        if key in l2:
            l2[key] = number(l2[key], f"l2 {key}")
    held = table.get("use", "fit") == "validation" or bool(
        number(table.get("validation", 0), "validation")
    )
    return Point(
        params=params,
        defines={macro: str(params.get(p, p)) for macro, p in table.get("defines", {}).items()},
        grid=triple(table["grid"], "grid"),
        block=triple(table["block"], "block"),
        shared_bytes=whole(table.get("shared_bytes", 0), "shared_bytes"),
        buffers=buffers,
        arguments=tuple(_argument(a, buffers, number, sweep) for a in table["arguments"]),
        l2=l2_control(l2),
        use="validation" if held else "fit",
    )


def l2_control(table: Mapping[str, Any]) -> L2Control:
    """Return the L2 control that a sweep's `l2` table means, its expressions evaluated.

    `table`: ``set_aside`` and ``window`` [B], ``window_buffer``, ``hit_ratio``, ``hit_prop``,
    ``miss_prop``, ``fetch_granularity`` [B]; what is absent is the driver's. A window of no length
    is none.
    """
    window = None
    if table.get("window"):
        window = AccessPolicyWindow(
            buffer=table["window_buffer"],
            num_bytes=int(table["window"]),
            hit_ratio=float(table.get("hit_ratio", 1.0)),
            hit_prop=table.get("hit_prop", "persisting"),
            miss_prop=table.get("miss_prop", "streaming"),
        )
    return L2Control(
        set_aside=int(table.get("set_aside", 0)),
        window=window,
        fetch_granularity=int(table.get("fetch_granularity", DEFAULT_FETCH)),
    )


def _argument(text: str, buffers: Mapping[str, Any], number: Any, sweep: Sweep) -> tuple[str, Any]:
    kind, _, expression = text.partition(" ")
    if not expression:
        if kind not in buffers:
            raise PerfmodelError(f"{sweep.where}: argument {shown(text)} is no buffer")
        return "buffer", kind
    if kind not in ("i32", "i64", "f32"):
        raise PerfmodelError(f"{sweep.where}: argument {shown(text)} must be i32, i64 or f32")
    return kind, number(expression, f"argument {text}")


def _number(entry: Any, known: Mapping[str, Any], where: str) -> Any:
    if isinstance(entry, int | float):
        return entry
    numbers = {k: v for k, v in known.items() if not isinstance(v, str)}
    try:
        return evaluate(parse(entry), numbers)
    except PerfmodelError as error:
        raise PerfmodelError(f"{where}: {error}") from None
