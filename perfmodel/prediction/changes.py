"""Changes worth trying on a launch: what each is, and the launch as it would be with it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import evaluate, names
from perfmodel.kernels import Kernel, bind, builtin_names, find_kernel, mappings
from perfmodel.kernels.l2_control import AccessPolicyWindow
from perfmodel.models.l2.residency import WAYS, best_hit_ratio, granted
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.packaged import packaged_toml
from perfmodel.prediction.bank_layouts import banks
from perfmodel.prediction.change import Change, Kind, changed
from perfmodel.prediction.coarser_threads import coarser_threads
from perfmodel.prediction.cuda_lines import (
    fetch_lines,
    private_lines,
    residency_lines,
    tile_lines,
    vector_lines,
)
from perfmodel.prediction.l2_rules import has_residency, percent_of_l2
from perfmodel.prediction.private_sums import private_sums
from perfmodel.prediction.record import Prediction
from perfmodel.prediction.remaps import coalescing, remapped
from perfmodel.prediction.tiled_loops import tiled_loops
from perfmodel.prediction.wider_threads import wider_threads

_COARSE: Final = 4
"""Set-asides from one that is tried first to the next."""
BLOCKS: Final = (64, 128, 256, 512, 1024)
"""Threads of a block that are tried."""


def changes(
    base: Prediction,
    *,
    fixed_set_aside: int | None = None,
    mps: bool = False,
    in_other_blocks: Sequence[Kernel] = (),
) -> Iterator[Change]:
    """Yield the changes that could concern a launch, whether they gain or not.

    `base`: the launch as it is. `fixed_set_aside`: set-aside that is given and not to be chosen
    [B]. `mps`: whether a multi-process server sets L2 aside. `in_other_blocks`: the same launch in
    blocks of other sizes, if its kernel has no parameter for it.
    """
    yield from _residency(base, fixed_set_aside, mps)
    yield from _granularity(base)
    yield from remapped(base)
    yield from tiled_loops(base)
    yield from _mappings(base)
    yield from _tiles(base)
    yield from coalescing(base)
    yield from _parameters(base)
    if "vector" not in base.params:
        yield from wider_threads(base)
    yield from coarser_threads(base)
    for kernel in in_other_blocks:
        threads = int(np.max(evaluate(kernel.launch.block[0], {})))
        yield _in_blocks(base, threads, kernel=kernel)
    yield from banks(base)
    yield from _privatisation(base)


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
        yield changed(
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
        # A few set-asides first, with the least that holds all: where none gains, no other does.
        coarse = {*steps[::_COARSE], *steps[-1:], *[s for s in steps if s >= length][:1]}
        for set_aside in sorted(filter(None, steps), key=lambda s: (s not in coarse, s)):
            fits = granted(set_aside, device.l2_size)
            ratio = float(best_hit_ratio(fits, float(length), device))
            ratios = {round(ratio, 4), round(min(1.0, set_aside / length), 4)}
            for each in sorted(ratios):
                control = replace(
                    details.setting.control,
                    set_aside=set_aside,
                    window=AccessPolicyWindow(buffer, length, each),
                )
                if control == now:
                    continue
                yield changed(
                    base,
                    "residency",
                    f"keep {buffer!r} ({_mib(size)}, read {times:.0f} times) in L2: set "
                    f"{_mib(set_aside)} aside, window of {_mib(length)}, "
                    f"hitRatio {each:.4g}",
                    cuda=residency_lines(
                        control, percent_of_l2(set_aside, device) if mps else None
                    ),
                    control=control,
                    finer=set_aside not in coarse,
                )


def _granularity(base: Prediction) -> Iterator[Change]:
    control = base.details.setting.control
    for granularity in (32, 64, 128):
        if granularity != control.fetch_granularity:
            yield changed(
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
                params = {k: v for k, v in base.params.items() if k in known}
                kind, what = _difference(base, kernel, params)
                yield changed(
                    base,
                    kind,
                    f"{what} as mapping {name!r} does",
                    cuda=(f"/* perfmodel kernels {base.kernel} --mapping {name} shows how */",),
                    kernel=kernel,
                    params=params,
                )


def _difference(base: Prediction, kernel: Kernel, params: dict[str, int | str]) -> tuple[Kind, str]:
    """Return what it takes to make a kernel of the one that is launched, and the words for it.

    Threads that each do what they did: a remap, or tiles in shared memory if it has none now.
    Fewer or more of them, or tiles given up: a rewrite.
    """
    now = base.details.instance.kernel
    try:
        bound = bind(kernel, params)
    except PerfmodelError:
        return "rewrite", "rewrite it"
    sizes = (int(np.max(n)) for n in (*bound.grid, *bound.block))
    same = prod(sizes) == prod(base.grid) * prod(base.block)
    tiled = [any(b.space == "shared" for b in k.buffers) for k in (now, kernel)]
    if not same or tiled[0]:
        return "rewrite", "rewrite it, a thread's work and all,"
    if tiled[1]:
        return "tiling", "keep tiles of what threads of a block share in shared memory,"
    return "remap", "map work to threads"


def _tiles(base: Prediction) -> Iterator[Change]:
    kernel = base.details.instance.kernel
    chosen = [name for menu in kernel.menus for name in menu.parameters]
    if chosen:
        yield changed(
            base,
            "tiles",
            f"leave {', '.join(chosen)} to the menu of the kernel",
            params={k: v for k, v in base.params.items() if k not in (*chosen, *_derived(kernel))},
        )
    for tile in _other_tiles(base):
        yield changed(
            base,
            "tiles",
            f"use tiles {', '.join(f'{name} {size}' for name, size in tile.items())}",
            cuda=tile_lines(tile),
            params=dict(base.params) | tile,
        )


def _other_tiles(base: Prediction) -> Iterator[dict[str, int]]:
    """Yield the tiles on file for a kernel's mapping that differ from those of the launch."""
    on_file = packaged_toml(Path(__file__).with_name("tiles.toml"))
    stated = on_file.get(base.kernel, {}).get(base.mapping or "", {})
    for row in stated.get("rows", ()):
        tile = dict(zip(stated["parameters"], row, strict=True))
        if any(base.params[name] != size for name, size in tile.items()):
            yield tile


def _derived(kernel: Kernel) -> list[str]:
    """Return the parameters whose defaults are made of those of menus."""
    chosen = {name for menu in kernel.menus for name in menu.parameters}
    found: list[str] = []
    for parameter in kernel.parameters:
        if parameter.default is not None and names(parameter.default) & {*chosen, *found}:
            found.append(parameter.name)
    return found


def _parameters(base: Prediction) -> Iterator[Change]:
    known = {p.name: p for p in base.details.instance.kernel.parameters}
    if "vector" in known and known["vector"].choices:
        for vector in known["vector"].choices:
            if vector > int(base.params["vector"]):
                yield changed(
                    base,
                    "vector width",
                    f"move {vector} bytes per thread instead of {base.params['vector']}",
                    cuda=vector_lines(base.details.instance.kernel.accesses, int(vector)),
                    params=dict(base.params) | {"vector": vector},
                )
    if "block" in known:
        for block in BLOCKS:
            if block != base.params["block"] and _allowed(known["block"], block):
                yield _in_blocks(base, block, params=dict(base.params) | {"block": block})


def _in_blocks(base: Prediction, threads: int, **other: Any) -> Change:
    now = base.block[0]
    return changed(base, "block size", f"use blocks of {threads} threads instead of {now}", **other)


def _allowed(parameter: Any, value: int) -> bool:
    within = bool(parameter.minimum <= value <= parameter.maximum)
    return within and (not parameter.choices or value in parameter.choices)


def _privatisation(base: Prediction) -> Iterator[Change]:
    """Yield the privatised form of a built-in that has one, and of any other kernel."""
    private = base.kernel.removesuffix("-add") + "-privatized"
    if base.kernel == private or private not in builtin_names() or not _is_counter(base):
        yield from private_sums(base)
        return
    kernel = find_kernel(private)
    known = {p.name for p in kernel.parameters}
    accesses = base.details.instance.kernel.accesses
    counter = next(a.buffer for a in accesses if a.kind == "atomic")
    yield changed(
        base,
        "privatisation",
        "add up within each block in shared memory, then one global atomic per block",
        cuda=private_lines(counter),
        kernel=kernel,
        params={k: v for k, v in base.params.items() if k in known},
    )


def _is_counter(base: Prediction) -> bool:
    """Say whether all threads add 32-bit integers to one element, as the privatised form does."""
    counter = {"addresses": 1, "dtype": "int32", "returns": "false"}
    return all(base.params.get(name, value) == value for name, value in counter.items())


def _mib(size: float) -> str:
    return f"{size / 2**20:.4g} MiB"
