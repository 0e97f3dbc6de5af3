"""Wider threads: a launch whose threads each move several neighbouring words at once.

Where lanes of a warp touch words side by side, one thread may do what 2, 4, ... of them did, by
loads and stores of a vector: there are so many fewer threads then, or iterations of a loop that
goes over the data. This is done to the record of a kernel, so it holds for one from any source.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, Final

import numpy as np

from perfmodel.expressions import Name, Node, Number, evaluate, names, text
from perfmodel.kernels import Access, Kernel, expanded
from perfmodel.kernels.kernel import Arithmetic
from perfmodel.models.requests.request_record import Requests
from perfmodel.prediction.change import Change, changed
from perfmodel.prediction.record import Prediction
from perfmodel.prediction.regular_words import division_work, some, words_of_groups
from perfmodel.prediction.rewrites import (
    ISSUE,
    SETUP,
    TOGETHER,
    count_of,
    cuda_text,
    element_of,
    equal_work,
    fraction,
    kernel_of,
    known_values,
    more_registers,
    plain_index,
    put,
)

WIDEST: Final = 16
"""Bytes that a load or store moves a thread."""
_MOST_LINES: Final = 6
"""Accesses that lines are shown of."""


def wider_threads(base: Prediction) -> Iterator[Change]:
    """Yield the launch with wider threads, in every way that its accesses allow.

    A loop over the data has fewer iterations then, or the launch fewer blocks.
    """
    kernel = kernel_of(base)
    if kernel.pipeline is not None or kernel.menus or not equal_work(kernel.unequal):
        return
    own = (a for a in kernel.accesses if kernel.buffer(a.buffer).space != "shared")
    requests = {
        id(a): replace(r, access=a) for a, r in zip(own, base.details.requests, strict=True)
    }
    for loop in (None, *(x.variable for x in kernel.loops if x.parent is None)):
        scope = tuple(a for a in kernel.accesses if loop is None or _inside(kernel, a.loop, loop))
        if not scope or not _on_its_own(kernel, scope, loop, requests):
            continue
        for words in (2, 4, 8, 16):
            found = _wider(base, [requests[id(a)] for a in scope], loop, words)
            if found is not None:
                yield found


def _inside(kernel: Kernel, variable: str | None, loop: str | None) -> bool:
    return loop is None or any(x.variable == loop for x in kernel.loop_nest(variable))


def _on_its_own(
    kernel: Kernel, scope: tuple[Access, ...], loop: str | None, requests: dict[int, Requests]
) -> bool:
    """Say whether what threads do to each word in some scope is theirs alone, at known places."""
    if any(b.loop is None if loop is None else _inside(kernel, b.loop, loop)
           for b in kernel.barriers):  # fmt: skip
        return False
    if any(a.pipe in TOGETHER and _inside(kernel, a.loop, loop) for a in kernel.arithmetic):
        return False
    if loop is not None and kernel.guard is not None:
        return False
    return all(
        id(a) in requests
        and a.kind != "atomic"
        and a.counted is None
        and not a.needs
        and a.cache != "shared"
        and not a.copied
        and not requests[id(a)].random
        and kernel.buffer(a.buffer).space == "global"
        for a in scope
    )


def _wider(base: Prediction, scope: list[Requests], loop: str | None, words: int) -> Change | None:
    kernel = kernel_of(base)
    threads, blocks = base.block[0], base.grid[0]
    trips = 1 if loop is None else int(np.max(base.details.instance.trips[loop]))
    whole = blocks if loop is None else trips
    cut = all(r.access.guard is not None for r in scope) or kernel.guard is not None
    if threads % words or whole < words or (whole % words and not cut):
        return None
    affine = [r for r in scope if r.strides and r.period is None and r.sampled is None]
    moving = [r for r in affine if _distance(r, "lane.x")]
    ways = {_way(r, loop, words, threads, blocks) for r in moving}
    still = [r for r in affine if not _distance(r, "lane.x")]
    if len(ways) != 1 or None in ways:
        return None
    (scaled,) = ways
    assert scaled is not None
    if any(_distance(r, name) for r in still for name in scaled):
        return None
    counting = ("threadIdx.x", *(v for v in scaled if v not in ("lane.x", "warp.x")))
    for r in (r for r in scope if not any(r is a for a in affine)):
        touched = words_of_groups(base, r, counting, words)
        if touched is None or r.width * (words if touched == "consecutive" else 1) > WIDEST:
            return None
        (moving if touched == "consecutive" else still).append(r)
    if any(r.access.kind == "store" for r in still):
        return None
    guards = [g for g in (kernel.guard, *(r.access.guard for r in scope)) if g is not None]
    if not all(_whole_groups(base, expanded(kernel, g), words) for g in guards):
        return None
    if not any(r.width * words <= WIDEST for r in moving):
        return None
    return _made(base, scope, moving, scaled, loop, words)


def _distance(r: Requests, name: str) -> float:
    """Return the bytes that a step of a variable moves an access."""
    strides = r.strides or {}
    return float(np.max(np.abs(strides.get(name, np.zeros(1)))))


def _way(
    r: Requests, loop: str | None, words: int, threads: int, blocks: int
) -> tuple[str, ...] | None:
    """Return the variables that count words, of which a thread has some now; None: there is no way.

    Lanes, then threads, then blocks or iterations or both come one after the other without gaps;
    everything else moves by whole vectors, so that each begins at a multiple of its size.
    """
    wide = r.width * words
    if wide > WIDEST or r.strides is None:
        return None
    span = r.width * threads
    if any(
        _distance(r, v.name) != r.width * v.weight for v in r.variables
        if v.target == "threadIdx.x" and float(np.max(v.extent)) > 1
    ):  # fmt: skip
        return None
    scaled: tuple[str, ...]
    if loop is None:
        if _distance(r, "blockIdx.x") != span:
            return None
        scaled = ("lane.x", "warp.x", "blockIdx.x")
    elif _distance(r, loop) == span * blocks and _distance(r, "blockIdx.x") in (span, 0.0):
        scaled = ("lane.x", "warp.x", "blockIdx.x", loop)
        if blocks > 1 and not _distance(r, "blockIdx.x"):
            return None
    elif _distance(r, loop) == span:
        scaled = ("lane.x", "warp.x", loop)
    else:
        return None
    others = [float(np.max(s)) for name, s in r.strides.items() if name not in scaled]
    if any(step % wide for step in (*others, float(np.max(r.offset)))):
        return None
    return scaled


def _whole_groups(base: Prediction, guard: Node, words: int) -> bool:
    """Say whether a guard lets all or none of each group of neighbouring threads through.

    Looked at in full blocks: the first, the last and some between, in such iterations.
    """
    used = names(guard)
    instance = base.details.instance
    if "threadIdx.x" not in used:
        return True
    points: dict[str, list[int]] = {}
    for axis, (blocks, threads) in zip("xyz", zip(base.grid, base.block, strict=True), strict=True):
        points[f"blockIdx.{axis}"] = some(blocks)
        points[f"threadIdx.{axis}"] = some(threads) if axis != "x" else [0]
    for variable, trips in instance.trips.items():
        points[variable] = some(int(np.max(trips)))
    chosen = [name for name in points if name in used and name != "threadIdx.x"]
    rows = np.array(list(product(*(points[name] for name in chosen))), dtype=np.int64)
    known = known_values(instance) | {name: rows[:, i : i + 1] for i, name in enumerate(chosen)}
    known["threadIdx.x"] = np.arange(base.block[0])[None, :]
    passed = np.asarray(evaluate(guard, known)) != 0
    passed = np.broadcast_to(passed, (max(len(rows), 1), base.block[0]))
    groups = passed.reshape(len(passed), -1, words)
    return bool(np.all(groups.all(axis=2) == groups.any(axis=2)))


def _made(
    base: Prediction,
    scope: list[Requests],
    moving: list[Requests],
    scaled: tuple[str, ...],
    loop: str | None,
    words: int,
) -> Change:
    kernel = kernel_of(base)
    targets = ["threadIdx.x", *(v for v in scaled if v not in ("lane.x", "warp.x"))]
    puts: dict[str, Node] = {name: Name(name) * words for name in targets}
    if loop is None:
        puts["gridDim.x"] = Number(base.grid[0])
    wide = {id(r.access) for r in moving}

    def moved(access: Access) -> Access:
        guard = None if access.guard is None else put(kernel, access.guard, puts)
        vector = _times(access.vector, words) if id(access) in wide else access.vector
        return replace(access, index=put(kernel, access.index, puts), guard=guard, vector=vector)

    places = {id(r.access): moved(r.access) for r in scope}
    launch, guard, loops = kernel.launch, kernel.guard, kernel.loops
    share = 1.0
    if loop is None:
        fewer = Number(-(-base.grid[0] // words))
        launch = replace(launch, grid=(fewer, *launch.grid[1:]))
        guard = None if guard is None else put(kernel, guard, puts)
    else:
        trips = int(np.max(base.details.instance.trips[loop]))
        fewer = Number(-(-trips // words))
        loops = tuple(replace(x, trips=fewer) if x.variable == loop else x for x in loops)
        share = trips / words / -(-trips // words)
    loaded = sum(r.width for r in moving if r.access.kind == "load") // 4
    arithmetic, paces = _work(base, loop, words, share)
    made = replace(
        kernel,
        launch=replace(launch, registers=more_registers(kernel, (words - 1) * loaded)),
        guard=guard,
        loops=loops,
        accesses=tuple(places.get(id(a), a) for a in kernel.accesses),
        arithmetic=arithmetic,
        paces=paces,
    )
    fewer_of = "the blocks" if loop is None else f"the iterations of loop {loop!r}"
    narrow = ", ".join(dict.fromkeys(repr(r.access.buffer) for r in moving))
    return changed(
        base,
        "vector width",
        f"let each thread move {words} neighbouring words of {narrow} at once, in a "
        f"{fraction(words)} of {fewer_of}",
        cuda=_lines(base, [places[id(r.access)] for r in moving], loop, words),
        kernel=made,
    )


def _lines(
    base: Prediction, accesses: list[Access], loop: str | None, words: int
) -> tuple[str, ...]:
    """Return the lines of some accesses that move several words a thread."""
    fewer = f"launch {-(-base.grid[0] // words)} blocks in x"
    if loop is not None:
        fewer = f"loop {loop!r} takes one iteration in {words}"
    lines = [f"/* a thread does {words} consecutive words; {fewer} */"]
    places: dict[str, str] = {}
    widest = 0
    moved = list({(a.kind, a.buffer, text(a.index)): a for a in accesses}.values())
    for access in sorted(moved[:_MOST_LINES], key=lambda a: a.kind != "load"):
        element = element_of(base, access.buffer)
        size = element * int(evaluate(access.vector, {}))
        widest, kind = max(widest, size), _vector_type(element, size)
        index = cuda_text(access.index)
        if index not in places:
            places[index] = f"at_{len(places) + 1}" if places else "at"
            lines.append(f"const auto {places[index]} = {plain_index(access.index) or '...'};")
        place = f"(&{access.buffer}[{places[index]}])"
        name = f"{access.buffer}_{words}"
        lines.append(
            f"const {kind} {name} = *reinterpret_cast<const {kind}*>{place};"
            if access.kind == "load"
            else f"*reinterpret_cast<{kind}*>{place} = {name};  /* what comes of it */"
        )
    if len(moved) > _MOST_LINES:
        lines.append(f"/* and {len(moved) - _MOST_LINES} more alike */")
    # Accesses know how long an element is, not what it means.
    lines.append("/* types by size: int4 for float4 of integers; a uint holds half2, bfloat162 */")
    lines.append(f"/* pointers must be multiples of {widest} bytes, as those of cudaMalloc are */")
    return tuple(lines)


def _vector_type(element: int, size: int) -> str:
    named = {4: "float", 8: "double"} if size > 4 else {1: "uchar", 2: "ushort"}
    if element in named:
        return f"{named[element]}{size // element}"
    return {2: "ushort", 4: "uint"}.get(size, f"uint{size // 4}")


def _work(
    base: Prediction, loop: str | None, words: int, share: float
) -> tuple[tuple[Arithmetic, ...], tuple[Any, ...]]:
    """Return a thread's work and paces when it does so many words.

    Addresses, guards and loops take as many instructions as before: what integers and moves these
    can be is taken to be theirs. All else is work on the words, for each of them. `share` of the
    loop's iterations have work.
    """
    kernel = kernel_of(base)
    left: dict[tuple[str, str | None], float] = {}
    extra: dict[str | None, float] = {}
    arithmetic = []
    for each in kernel.arithmetic:
        if not _inside(kernel, each.loop, loop):
            arithmetic.append(each)
            continue
        count = count_of(base, each.count)
        beside = sum(a.loop == each.loop for a in kernel.accesses)
        divided = division_work(
            expanded(kernel, a.index) for a in kernel.accesses if a.loop == each.loop
        )
        allowed = divided | {
            "wide": beside + divided["wide"],
            "imad": beside + 2 + divided["imad"],
            "int32": (1 if each.loop is None else 2) + divided["int32"],
            "other": beside + (SETUP if each.loop is None else 2),
            "uniform": count,
            "masked": count,
        }
        key = each.pipe, each.loop
        own = min(count, left.get(key, float(allowed.get(each.pipe, 0))))
        left[key] = left.get(key, float(allowed.get(each.pipe, 0))) - own
        extra[each.loop] = extra.get(each.loop, 0.0) + (count - own) * (words - 1)
        part = share if each.loop == loop and loop is not None else 1.0
        arithmetic.append(replace(each, count=Number((own + (count - own) * words) * part)))
    paces = tuple(
        replace(p, clocks=p.clocks + Number(ISSUE * extra[p.loop])) if extra.get(p.loop) else p
        for p in kernel.paces
    )
    return tuple(arithmetic), paces


def _times(node: Node, factor: int) -> Node:
    if isinstance(node, Number):
        return Number(node.value * factor)
    return node * factor
