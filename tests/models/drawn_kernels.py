"""Kernels drawn at random, of what built-ins and measured programs hold few of or none.

Guards and blocks of all shapes, loops in loops, strides of both signs, indices that start again or
are random, accesses beside each other, atomics of every kind in both memories, local memory,
accesses that were counted, and L2 control.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from perfmodel.expressions import Number
from perfmodel.kernels import Kernel, kernel_from_table
from perfmodel.kernels.access import DATA_TYPES, Access
from perfmodel.kernels.counted import Counted
from perfmodel.kernels.kernel import Buffer
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control

_BLOCKS = (32, 64, 100, 256, 256, 1024, [16, 16], [32, 8], [8, 4, 3], [64, 2])
_GRIDS = (
    1,
    132,
    "ceil_div(n, 256)",
    "ceil_div(n, 256)",
    ["ceil_div(n, 4096)", 8],
    [3, "ceil_div(n, 2048)", 2],
)
_GUARDS = ("i < n", "i % 3 == 0", "threadIdx.x < 20", "blockIdx.x % 2 == 0", "i < n and i % 32 < 9")
_STEPS = (0, 1, 2, 3, 8, 32, 33, 256, 4096)
_OPERATIONS = ("add", "increment", "raise", "exchange", "cas", "cas-loop")
_LOOPS = ({"variable": "a", "trips": "rounds"}, {"variable": "b", "trips": 5, "parent": "a"})
_PIPES = ("fma32", "fma64", "int32", "imad", "wide", "sfu", "tensor16", "uniform", "other", "other")
_LENGTHS = (1 << 20, 1 << 20, 1 << 27)
_SHARED = 1024


def drawn(seed: int) -> tuple[Kernel, dict[str, Any]]:
    """Return a kernel, and its parameters and how it is launched; `predict` may refuse it."""
    rng = random.Random(seed)
    length = rng.choice(_LENGTHS)
    accesses: list[dict[str, Any]] = []
    for _ in range(rng.choice((1, 2, 3, 3, 4, 5))):
        beside = rng.random() < 0.35 and accesses
        accesses.append(_beside(rng, accesses) if beside else _access(rng, len(accesses), length))
    alike = [a for a in accesses if "load" in a and a.get("loop") == accesses[-1].get("loop")]
    if len(alike) > 1 and alike[-1] is accesses[-1]:
        accesses[-1]["needs"] = alike[0]["name"]
    table: dict[str, Any] = {
        "name": "drawn",
        "parameters": {"n": {"default": 1 << 18}, "rounds": {"default": 4}, "s": {"default": 1}},
        "launch": {
            "grid": rng.choice(_GRIDS),
            "block": rng.choice(_BLOCKS),
            "registers": rng.choice((16, 32, 64, 128)),
            "shared_bytes": rng.choice((30_000, 30_000, 60_000)),
        },
        "definitions": {"i": "blockIdx.x*blockDim.x + threadIdx.x"},
        "buffers": {
            name + end: {"length": length, "element_bytes": size, "space": space}
            for end, space, length in (("", "global", length), ("-shared", "shared", _SHARED))
            for name, size in _ELEMENTS.items()
        },
        "loops": _LOOPS,
        "accesses": accesses,
        "arithmetic": [
            {"pipe": rng.choice(_PIPES), "count": rng.choice((1, 10, 60)), **where}
            for where in ({}, {}, {"loop": "a"}, {"loop": "b"})
        ],
    }
    for key, values in _OF_KERNEL.items():
        if rng.random() < 0.25:
            table[key] = rng.choice(values)
    kernel = kernel_from_table(table)
    if rng.random() < 0.3:
        kernel = _as_translated(kernel, rng, length)
    return kernel, _launch(rng)


def _beside(rng: random.Random, accesses: list[dict[str, Any]]) -> dict[str, Any]:
    """Return an access to what another goes to, a few elements on, perhaps from another loop."""
    one = rng.choice(accesses)
    further = rng.choice((0, 1, 4, 64, 4096))
    index = one["index"].replace(") % ", f" + {further}) % ", 1)
    made = one | {"name": f"m{len(accesses)}", "index": index}
    if "load" in one and "cache" not in one and rng.random() < 0.3:
        made["store"] = made.pop("load")
    if "loop" not in one and rng.random() < 0.3:
        made["loop"] = "a"
    return made


_ELEMENTS = {"bytes": 1, "words": 4, "pairs": 8, "quads": 16}
_OF_KERNEL: dict[str, tuple[Any, ...]] = {
    "guard": _GUARDS,
    "barriers": ([{"loop": "a", "count": 2}], [{"loop": "b"}], [{}]),
    "loads_in_flight": (1, 4),
    "loads_a_wait": (1, 2),
    "dependent": (True,),
    "longest": ("3/2", 4),
    "strands": (2,),
    "paces": ([{"clocks": 300, "loop": "a"}], [{"clocks": 40, "loop": "b", "abreast": 2}]),
}
"""Keys of a kernel that few state, and what they may be."""


def _launch(rng: random.Random) -> dict[str, Any]:
    return {
        "n": rng.choice((1000, 1 << 14, 1 << 18, 300_001, 1 << 22, 1 << 25)),
        "rounds": rng.choice((1, 2, 4, 17)),
        "s": rng.choice((1, 1, 2, 7)),
        "device": rng.choice(("h100-sxm", "h200-sxm", "a100-sxm-80", "rtx-a6000")),
        "cache": rng.choice(("cold", "warm")),
        "timing": rng.choice(("profiler", "events")),
        "l2": _l2_control(rng) if rng.random() < 0.25 else L2Control(),
    }


def _l2_control(rng: random.Random) -> L2Control:
    ratio, size = rng.choice((0.4, 1.0)), rng.choice((1 << 19, 1 << 23, 1 << 26))
    miss = rng.choice(("streaming", "normal"))
    window = AccessPolicyWindow("words", size, ratio, "persisting", miss)
    return L2Control(
        set_aside=rng.choice((0, 1 << 20, 8 << 20)),
        window=rng.choice((None, window, window)),
        fetch_granularity=rng.choice((32, 64, 128)),
        compression=rng.choice((1.0, 1.0, 2.0)),
    )


def _access(rng: random.Random, number: int, whole: int) -> dict[str, Any]:
    kind = rng.choice(("load", "load", "load", "store", "atomic"))
    shared = rng.random() < 0.3
    of_atomics = ("words", "pairs")
    buffer = rng.choice(of_atomics if kind == "atomic" else ("words", "words", *_ELEMENTS))
    loop = rng.choice((None, None, "a", "b"))
    length = _SHARED if shared else whole
    made: dict[str, Any] = {
        kind: f"{buffer}-shared" if shared else buffer,
        "name": f"m{number}",
        "index": _index(rng, loop, length),
    }
    if loop:
        made["loop"] = loop
    if rng.random() < 0.25:
        made["guard"] = rng.choice((*_GUARDS, "threadIdx.x % 2 == 0", "i >= 40"))
    if kind == "atomic":
        size = _ELEMENTS[buffer]
        made["operation"] = rng.choice(_OPERATIONS)
        made["dtype"] = rng.choice([name for name, each in DATA_TYPES.items() if each == size])
        made["returns"] = made["operation"] in ("cas", "cas-loop") or rng.random() < 0.5
        if made["operation"] == "add" and made["dtype"] == "int32" and rng.random() < 0.3:
            made["aggregated"] = True
        if made["index"].startswith("random(") and "*" not in made["index"].rpartition(")")[2]:
            made["weights"] = "1/(bin + 1)"
    elif buffer in ("words", "bytes") and rng.random() < 0.25:
        made["vector"] = rng.choice((2, 4))
        made["index"] = f"({made['index']}) // 4 * 4"
    if kind == "load" and not shared and rng.random() < 0.2:
        made["cache"] = "l2"
    return made


def _index(rng: random.Random, loop: str | None, length: int) -> str:
    """Return an index below `length`."""
    step = f" + {loop}*{rng.choice(_STEPS)}" if loop else ""
    if loop == "b":
        step += f" + a*{rng.choice(_STEPS)}"
    kind = rng.random()
    if kind < 0.2:
        bins = rng.choice((1, 16, 500, 1024, length))
        return f"random(i{step}, {bins})" + rng.choice(("", "", f"*{length // bins}"))
    if kind < 0.3:
        run = rng.choice((2, 8, 32))
        return f"random(i // {run}{step}, {length // run})*{run} + i % {run}"
    if kind < 0.45:
        return f"(i + {loop or 0}*gridDim.x*blockDim.x) % {length}"
    across = rng.choice(
        ("threadIdx.x", "threadIdx.x", "threadIdx.x*s", "threadIdx.x*33", "threadIdx.x // 4", "0")
    )
    down = rng.choice(("", " + threadIdx.y*16", " + threadIdx.y*1024"))
    of_block = rng.choice(
        ("blockIdx.x*blockDim.x", "blockIdx.x*blockDim.x", "blockIdx.x*8192", "0", "blockIdx.y*512")
    )
    place = f"{of_block} + {across}{down}{step} + {rng.choice((0, 0, 1, 16))}"
    if rng.random() < 0.15:
        place = f"{length - 1} - ({place}) % {length}"
    bound = rng.choice((length, length, length, 1024, 96))
    return (
        f"({place}) % {min(bound, length)}" if rng.random() < 0.8 else f"min({place}, {length - 4})"
    )


def _as_translated(kernel: Kernel, rng: random.Random, length: int) -> Kernel:
    """Return a kernel with local memory and an access that was counted, as sources have."""
    accesses = list(kernel.accesses)
    at = rng.choice(range(len(accesses)))
    one = accesses[at]
    if rng.random() < 0.4:
        local = Buffer("local", Number(length), Number(4), "local")
        kernel = replace(kernel, buffers=(*kernel.buffers, local))
        if one.kind != "atomic":
            accesses[at] = replace(one, buffer="local", vector=Number(1), cache="l1", needs="")
    elif one.buffer in _ELEMENTS:
        accesses[at] = replace(one, counted=_counted(one, rng))
    return replace(kernel, accesses=tuple(accesses), translated=True)


def _counted(one: Access, rng: random.Random) -> Counted:
    requests = rng.choice((100.0, 8192.0, 60_000.0))
    lanes = requests * rng.choice((4, 17.5, 32))
    different = lanes * rng.choice((0.3, 1.0))
    sectors = min(different, requests * rng.choice((4, 20)))
    return Counted(
        requests,
        lanes,
        different,
        sectors,
        lines=sectors * 0.4,
        pairs=sectors * 0.6,
        data_wavefronts=requests * 2.5,
        tag_wavefronts=requests * 1.5,
        sampled=rng.choice((0.1, 1.0)),
        misses=rng.choice(((), ((64, 0.9), (1024, 0.4)))),
        once=rng.choice(((1.0, 1.0), (0.5, 0.3))),
        drawn=rng.choice((0.0, 5000.0)),
        apart=rng.random() < 0.3,
        jumping=rng.random() < 0.3,
        alike=rng.choice((1.0, 3.0)),
        met=rng.choice((1.0, 0.4)),
    )
