"""Changes worth trying on a launch: what each is, and the launch as it would be with it."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from perfmodel.expressions import Name, Node, Number, Operation, evaluate, names, substitute
from perfmodel.kernels import Access, Kernel, builtin_names, expanded, find_kernel, mappings
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.reuse.residency import WAYS, best_hit_ratio, granted
from perfmodel.prediction.bank_layouts import conflict, layouts
from perfmodel.prediction.cuda_lines import (
    FIRST,
    fetch_lines,
    index_lines,
    private_lines,
    residency_lines,
    tile_lines,
    vector_lines,
)
from perfmodel.prediction.l2_rules import has_residency, percent_of_l2
from perfmodel.prediction.record import Prediction
from perfmodel.traffic import AccessTraffic

Kind = Literal[
    "residency",
    "fetch granularity",
    "coalescing",
    "vector width",
    "block size",
    "mapping",
    "tiles",
    "padding",
    "swizzle",
    "privatisation",
]

_WASTE: Final = 1.3
"""Sectors over those that the wanted bytes need, from which an access counts as uncoalesced."""
BLOCKS: Final = (64, 128, 256, 512, 1024)
"""Threads of a block that are tried."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change to try.

    Attributes
    ----------
    kind : str
    what : str
        What to do, as a sentence.
    cuda : tuple of str
        Lines to write; empty where the kernel itself has to change.
    kernel : Kernel
    params : mapping of str to int
    control : L2Control
        The launch with it.
    """

    kind: Kind
    what: str
    cuda: tuple[str, ...]
    kernel: Kernel
    params: dict[str, int | str]
    control: L2Control


def changes(
    base: Prediction,
    *,
    fixed_set_aside: int | None = None,
    mps: bool = False,
    in_other_blocks: Sequence[Kernel] = (),
) -> Iterator[Change]:
    """Yield the changes that could concern a launch, whether they gain or not.

    Parameters
    ----------
    base : Prediction
        The launch as it is.
    fixed_set_aside : int, optional
        Set-aside that is given and not to be chosen [B].
    mps : bool
        Whether a multi-process server sets L2 aside.
    in_other_blocks : sequence of Kernel
        The same launch in blocks of other sizes, if its kernel has no parameter for it.
    """
    yield from _residency(base, fixed_set_aside, mps)
    yield from _granularity(base)
    yield from _mappings(base)
    yield from _tiles(base)
    yield from _coalescing(base)
    yield from _parameters(base)
    for kernel in in_other_blocks:
        threads = int(np.max(evaluate(kernel.launch.block[0], {})))
        yield _in_blocks(base, threads, kernel=kernel)
    yield from _banks(base)
    yield from _privatisation(base)


def _with(base: Prediction, kind: Kind, what: str, **other: Any) -> Change:
    details = base.details
    return Change(
        kind=kind,
        what=what,
        cuda=other.get("cuda", ()),
        kernel=other.get("kernel", details.instance.kernel),
        params=other.get("params", dict(base.params)),
        control=other.get("control", details.setting.control),
    )


def reused_buffers(base: Prediction) -> dict[str, float]:
    """Return the buffers that a launch reads from L2 more than once, and how often."""
    found: dict[str, float] = {}
    instance = base.details.instance
    for access in base.details.traffic.accesses:
        size = float(
            np.max(instance.lengths[access.buffer] * instance.element_bytes[access.buffer])
        )
        asked = float(np.max(access.l1_fill_sectors)) * SECTOR
        if access.kind == "load" and size > 0 and asked > 1.5 * size:
            found[access.buffer] = max(found.get(access.buffer, 0.0), asked / size)
    return found


def _residency(base: Prediction, fixed: int | None, mps: bool) -> Iterator[Change]:
    details = base.details
    device, instance = details.device, details.instance
    now = details.setting.control
    if now.window is not None or now.set_aside:
        control = replace(now, set_aside=0, window=None)
        yield _with(
            base,
            "residency",
            "close the window and set nothing aside: all of L2 is everyone's then",
            cuda=residency_lines(control, 0 if mps else None),
            control=control,
        )
    most = device.l2_persisting_max
    if not has_residency(device) or not most:
        return
    way = device.l2_size // WAYS
    steps = [*range(way, most + 1, way)] if fixed is None else [fixed]
    for buffer, times in reused_buffers(base).items():
        size = int(np.max(instance.lengths[buffer] * instance.element_bytes[buffer]))
        length = min(size, device.l2_window_max or size)
        for set_aside in filter(None, steps):
            ratio = float(best_hit_ratio(granted(set_aside, device.l2_size), float(length)))
            ratios = {round(ratio, 4), round(min(1.0, set_aside / length), 4)}
            for each in sorted(ratios):
                control = replace(
                    details.setting.control,
                    set_aside=set_aside,
                    window=AccessPolicyWindow(buffer, length, each),
                )
                if control == now:
                    continue
                yield _with(
                    base,
                    "residency",
                    f"keep {buffer!r} ({_mib(size)}, read {times:.0f} times) in L2: set "
                    f"{_mib(set_aside)} aside, window of {_mib(length)}, "
                    f"hitRatio {each:.4g}",
                    cuda=residency_lines(
                        control, percent_of_l2(set_aside, device) if mps else None
                    ),
                    control=control,
                )


def _granularity(base: Prediction) -> Iterator[Change]:
    control = base.details.setting.control
    for granularity in (32, 64, 128):
        if granularity != control.fetch_granularity:
            yield _with(
                base,
                "fetch granularity",
                f"let an L2 miss fetch {granularity} B instead of {control.fetch_granularity} B",
                cuda=fetch_lines(granularity),
                control=replace(control, fetch_granularity=granularity),
            )


def _mappings(base: Prediction) -> Iterator[Change]:
    if base.mapping and base.kernel in builtin_names():
        for name in mappings(base.kernel):
            kernel = find_kernel(base.kernel, name)
            # Another precision would be another result.
            if name != base.mapping and kernel.precision == base.details.instance.kernel.precision:
                known = {p.name for p in kernel.parameters}
                yield _with(
                    base,
                    "mapping",
                    f"map work to threads as {name!r} does",
                    cuda=(f"// perfmodel kernels {base.kernel} --mapping {name} shows how",),
                    kernel=kernel,
                    params={k: v for k, v in base.params.items() if k in known},
                )


def _tiles(base: Prediction) -> Iterator[Change]:
    kernel = base.details.instance.kernel
    chosen = [name for menu in kernel.menus for name in menu.parameters]
    if chosen:
        yield _with(
            base,
            "tiles",
            f"leave {', '.join(chosen)} to the menu of the kernel",
            params={k: v for k, v in base.params.items() if k not in (*chosen, *_derived(kernel))},
        )
    for tile in _other_tiles(base):
        yield _with(
            base,
            "tiles",
            f"use tiles {', '.join(f'{name} {size}' for name, size in tile.items())}",
            cuda=tile_lines(tile),
            params=dict(base.params) | tile,
        )


def _other_tiles(base: Prediction) -> Iterator[dict[str, int]]:
    """Yield the tiles on file for a kernel's mapping that differ from those of the launch."""
    stated = _tiles_on_file().get(base.kernel, {}).get(base.mapping or "", {})
    for row in stated.get("rows", ()):
        tile = dict(zip(stated["parameters"], row, strict=True))
        if any(base.params[name] != size for name, size in tile.items()):
            yield tile


@lru_cache(maxsize=1)
def _tiles_on_file() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "tiles.toml").read_text(encoding="utf-8"))


def _derived(kernel: Kernel) -> list[str]:
    """Return the parameters whose defaults are made of those of menus."""
    chosen = {name for menu in kernel.menus for name in menu.parameters}
    found: list[str] = []
    for parameter in kernel.parameters:
        if parameter.default is not None and names(parameter.default) & {*chosen, *found}:
            found.append(parameter.name)
    return found


def _coalescing(base: Prediction) -> Iterator[Change]:
    """Yield the uncoalesced accesses of each buffer as they would be with neighbouring lanes.

    An unrolled loop accesses a buffer in many places: moving one of them would not help.
    """
    kernel = base.details.instance.kernel
    far: dict[tuple[str, str], list[tuple[Access, AccessTraffic, Node, Node]]] = defaultdict(list)
    for access, found, request in zip(
        (a for a in kernel.accesses if kernel.buffer(a.buffer).space == "global"),
        base.details.traffic.accesses,
        base.details.requests,
        strict=True,
    ):
        sectors, wanted = float(np.max(found.sectors)), float(np.max(found.wanted_bytes))
        if access.kind == "atomic" or request.strides is None or not wanted:
            continue
        if sectors * SECTOR <= _WASTE * max(wanted, SECTOR * float(np.max(found.requests))):
            continue
        element = float(np.max(base.details.instance.element_bytes[access.buffer]))
        apart = round(float(np.max(request.strides.get("lane.x", 0.0))) / element)
        far[access.buffer, access.kind].append((access, found, *_neighbours(access, kernel, apart)))
    for (buffer, kind), group in far.items():
        dense = {
            id(access): replace(access, index=substitute(index, {FIRST.name: start}))
            for access, _, start, index in group
        }
        accesses = tuple(dense.get(id(a), a) for a in kernel.accesses)
        wanted = sum(float(np.max(found.wanted_bytes)) for _, found, *_ in group)
        share = sum(float(np.max(found.sectors)) for _, found, *_ in group) * SECTOR / wanted
        yield _with(
            base,
            "coalescing",
            f"lay {buffer!r} out, or map threads, so that lanes of a warp {kind} "
            f"neighbouring elements ({share:.1f} times the wanted bytes now): at best",
            cuda=index_lines(group[0][0], *group[0][2:], len(group) - 1),
            kernel=replace(kernel, accesses=accesses),
        )


def _neighbours(access: Access, kernel: Kernel, apart: int) -> tuple[Node, Node]:
    """Return lane 0's index, and from it an index whose lanes are neighbours.

    Elements between those of two lanes, `apart`, are other accesses' or iterations': each of them
    gets a row of neighbours in the same place.
    """
    lane = Operation("%", (Name("threadIdx.x"), Number(32)))
    start = substitute(
        expanded(kernel, access.index),
        {"threadIdx.x": Operation("-", (Name("threadIdx.x"), lane))},
    )
    first: Node = FIRST
    if apart > 1:
        between = Operation("%", (FIRST, Number(apart)))
        first = Operation("+", (FIRST, Operation("*", (Number(31), between))))
    across = lane if access.vector == Number(1) else Operation("*", (lane, access.vector))
    return start, Operation("+", (first, across))


def _parameters(base: Prediction) -> Iterator[Change]:
    known = {p.name: p for p in base.details.instance.kernel.parameters}
    if "vector" in known and known["vector"].choices:
        for vector in known["vector"].choices:
            if vector > int(base.params["vector"]):
                yield _with(
                    base,
                    "vector width",
                    f"move {vector} bytes a thread instead of {base.params['vector']}",
                    cuda=vector_lines(base.details.instance.kernel.accesses, int(vector)),
                    params=dict(base.params) | {"vector": vector},
                )
    if "block" in known:
        for block in BLOCKS:
            if block != base.params["block"] and _allowed(known["block"], block):
                yield _in_blocks(base, block, params=dict(base.params) | {"block": block})


def _in_blocks(base: Prediction, threads: int, **other: Any) -> Change:
    now = base.block[0]
    return _with(base, "block size", f"use blocks of {threads} threads instead of {now}", **other)


def _allowed(parameter: Any, value: int) -> bool:
    within = bool(parameter.minimum <= value <= parameter.maximum)
    return within and (not parameter.choices or value in parameter.choices)


def _banks(base: Prediction) -> Iterator[Change]:
    """Yield the launch with the rows of conflicting shared arrays padded, or swizzled."""
    instance = base.details.instance
    for layout, kernel in layouts(base):
        name = layout.buffer
        length, element = (
            int(np.max(instance.lengths[name])),
            int(np.max(instance.element_bytes[name])),
        )
        worst = max(conflict(r) for r in base.details.on_chip if r.access.buffer == name)
        how = (
            f"leave {layout.pad} element{'s' * (layout.pad > 1)} out after each row of {layout.row}"
            if layout.pad
            else f"XOR the column with the row's number, in rows of {layout.row}"
        )
        yield _with(
            base,
            "padding" if layout.pad else "swizzle",
            f"lay shared {name!r} out so that lanes spread over the banks ({worst:.1f} times the "
            f"clocks of its data now): {how}",
            cuda=layout.cuda(length, element),
            kernel=kernel,
        )


def _privatisation(base: Prediction) -> Iterator[Change]:
    """Yield the privatised form of a built-in that has one."""
    private = base.kernel.removesuffix("-add") + "-privatized"
    if base.kernel == private or private not in builtin_names() or not _is_counter(base):
        return
    kernel = find_kernel(private)
    known = {p.name for p in kernel.parameters}
    yield _with(
        base,
        "privatisation",
        "add up within each block in shared memory, then one global atomic a block",
        cuda=private_lines(_counter(base)),
        kernel=kernel,
        params={k: v for k, v in base.params.items() if k in known},
    )


def _counter(base: Prediction) -> str:
    """Return the buffer that a launch adds to."""
    return next(a.buffer for a in base.details.instance.kernel.accesses if a.kind == "atomic")


def _is_counter(base: Prediction) -> bool:
    """Say whether all threads add 32-bit integers to one element, as the privatised form does."""
    counter = {"addresses": 1, "dtype": "int32", "returns": "false"}
    return all(base.params.get(name, value) == value for name, value in counter.items())


def _mib(size: float) -> str:
    return f"{size / 2**20:.4g} MiB"
