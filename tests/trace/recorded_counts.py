"""Small launches of all kinds, and what the simulator counts of them, to the last sector.

`python tests/trace/recorded_counts.py` writes recorded_counts.toml anew: needed only where the
simulator is meant to count otherwise.
"""

from __future__ import annotations

import hashlib
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1] / "models")]

from drawn_kernels import drawn

from perfmodel.calibration.against_simulator import small_gpu
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.prediction.simulated import simulate
from perfmodel.trace.cache import Engine
from perfmodel.trace.counts import Simulation

FILE: Final = Path(__file__).with_suffix(".toml")
_KIB: Final = 1 << 10
_WINDOW: Final = L2Control(384 * _KIB, AccessPolicyWindow("persistent", 512 * _KIB, 0.6))
_STREAMED: Final = L2Control(
    256 * _KIB, AccessPolicyWindow("in", 200 * _KIB, 0.5, "persisting", "streaming")
)
_PRODUCT: Final = {"M": 70, "N": 60, "K": 45}
_HEADS: Final = {"heads": 2, "width": 64}

LAUNCHES: Final[dict[str, dict[str, Any]]] = {
    "copy": {"bytes": 3000 * _KIB + 4096, "vector": 4},
    "copy warm": {"bytes": 1000 * _KIB, "cache": "warm"},
    "copy in 128 bytes": {"bytes": 700 * _KIB, "control": L2Control(fetch_granularity=128)},
    "read in parts": {"bytes": 9000 * _KIB, "sample": 0.3},
    "write": {"bytes": 2500 * _KIB, "vector": 8},
    "write, some sets": {"bytes": 5000 * _KIB, "sets": 4},
    "strided-copy": {"n": 50_000, "stride": 3, "offset": 1},
    "strided-copy in 32 bytes": {
        **{"n": 30_000, "stride": 9},
        "control": L2Control(fetch_granularity=32),
    },
    "gather": {"n": 1 << 15, "run": 3, "table_bytes": 1 << 21},
    "gather, another seed": {"n": 1 << 14, "table_bytes": 1 << 20, "seed": 7},
    "embedding": {"table_bytes": 1 << 20, "stream_bytes": 1 << 20, "lookups": 1 << 14},
    "working-set-read": {"bytes": 1200 * _KIB, "iterations": 3, "blocks": 8},
    "working-set-read warm": {"bytes": 900 * _KIB, "iterations": 2, "blocks": 8, "cache": "warm"},
    "stream-persistent": {
        **{"persistent_bytes": 512 * _KIB, "stream_bytes": 2 << 20},
        "control": _WINDOW,
    },
    "stream-persistent, some sets": {
        **{"persistent_bytes": 512 * _KIB, "stream_bytes": 4 << 20, "sets": 2, "seed": 3},
        "control": _WINDOW,
    },
    "data-reset": {"in_bytes": 200 * _KIB, "out_bytes": 3 << 20, "control": _STREAMED},
    "atomic-add": {"n": 1 << 14, "addresses": 100, "spacing": 3},
    "atomic-privatized": {"n": 1 << 15},
    "cas-loop": {"n": 1 << 12, "addresses": 64},
    "argmax": {"rows": 3, "cols": 5000},
    "softmax": {"rows": 16, "cols": 3000},
    "layernorm": {"rows": 16, "cols": 1000},
    "kv-append": {"batch": 3, "kv_heads": 4, "context": 64},
    "decode-combine": {"context": 700, **_HEADS},
    "ffn-gemv:warp": {"rows": 64, "columns": 1001},
    "ffn-gemv:rows": {"rows": 70, "columns": 640},
    "decode-attention:split": {"context": 300, **_HEADS},
    "decode-attention:flash": {"context": 300, **_HEADS},
    "prefill-attention:naive": {"tokens": 70, **_HEADS},
    "prefill-attention:tiled": {"tokens": 130, **_HEADS, "causal": "true"},
    "gemm:naive": _PRODUCT,
    "gemm:coalesced": _PRODUCT,
    "gemm:smem": _PRODUCT,
    "gemm:blocktile-1d": _PRODUCT,
    "gemm:blocktile-2d": {"M": 200, "N": 136, "K": 40},
    "gemm:vectorized": {"M": 200, "N": 136, "K": 40},
    "gemm:warptile": {"M": 200, "N": 136, "K": 48},
    "gemm:tensor-core": {"M": 200, "N": 136, "K": 160},
}
"""By a kernel, its mapping and what is special: arguments of `simulate`."""
DRAWN: Final = (
    *(1, 4, 8, 9, 11, 12, 13, 14, 17, 20, 22, 25, 26, 30),
    *(31, 33, 34, 36, 37, 38, 39, 40, 43, 44, 49, 50, 51, 53),
    *(55, 60, 61, 62, 63, 64, 65, 70, 71, 74, 75, 76, 77, 78),
    *(81, 83, 84, 86, 87, 88, 89, 90, 91, 93, 94, 95, 96, 97),
    *(98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 111, 112, 113),
    *(114, 117, 118, 119, 120, 121, 122, 124, 125, 127),
    *(128, 129, 131, 132, 133, 134, 135, 137, 139, 142, 149, 150, 151, 154),
    *(155, 157, 159, 160, 167, 169, 170, 171, 172, 175, 177, 183, 184, 186),
    *(187, 190, 195, 196, 197, 199, 200, 201, 206, 209, 210, 211, 213, 214),
    *(216, 217, 219, 222, 223, 224, 225, 226, 228, 229, 235, 242, 244, 247),
    *(250, 251, 254, 257, 260, 261, 265, 269, 272, 273, 275, 277, 279, 283),
    *(289, 290, 300, 301, 302, 304, 305, 309, 312, 313, 314, 315, 316, 319),
    *(321, 323, 324, 325, 326, 328, 329, 330, 335, 337, 338, 339, 343, 344),
    *(346, 347, 348, 350, 353, 355, 356, 358, 359),
)
"""Numbers of drawn kernels that the simulator takes, and in no time."""


ENGINES: Final[tuple[Engine, ...]] = ("auto", "numpy")

_LARGER: Final = 128
_HOW: Final[tuple[tuple[int, dict[str, Any]], ...]] = (
    (5000, {}),
    (60_000, {}),
    (60_000, {"sets": 4, "seed": 5}),
    (60_000, {"sample": 0.5}),
    (30_000, {"seed": 2}),
)
"""Most threads of drawn kernels, and how they are simulated; from number `_LARGER` on in turn."""


def simulated(name: str, engine: Engine = "auto") -> Simulation:
    """Return what is counted of a launch, on a GPU of a 32nd of an H200's SMs and L2."""
    if name.isdecimal():
        return _simulated_drawn(int(name), engine)
    kernel, _, mapping = name.split(",", maxsplit=1)[0].split(maxsplit=1)[0].partition(":")
    given: dict[str, Any] = {"mapping": mapping or None, "device": small_gpu(), **LAUNCHES[name]}
    return simulate(kernel, engine=engine, **given).simulation


def _simulated_drawn(seed: int, engine: Engine) -> Simulation:
    kernel, launch = drawn(seed)
    most, given = _HOW[seed >= _LARGER and seed % len(_HOW)]
    numbers = {"n": min(launch["n"], most), "rounds": min(launch["rounds"], 4), "s": launch["s"]}
    given = {"cache": launch["cache"], "control": launch["l2"], "engine": engine} | given
    return simulate(kernel, device=small_gpu(), **given, **numbers).simulation


def names() -> list[str]:
    """Return the names of all launches; those of drawn kernels are their numbers."""
    return [*LAUNCHES, *map(str, DRAWN)]


def counted(found: Simulation) -> dict[str, Any]:
    """Return totals that say what differs, and a digest of all that was counted, by access."""
    totals = {
        "sectors": found.total("sectors"),
        "l1_hit_sectors": found.total("l1_hit_sectors"),
        "l2_sectors": found.total("l2_passes"),
        "l2_missed_sectors": found.total("l2_missed_sectors"),
        "dram_read_bytes": found.dram_read_bytes,
        "dram_write_bytes": found.dram_write_bytes,
        "dirty_left_bytes": found.dirty_left_bytes,
    }
    digest = hashlib.sha256("\n".join(_lines(found)).encode()).hexdigest()[:16]
    return {name: float(_digits(total)) for name, total in totals.items()} | {"digest": digest}


def recorded() -> dict[str, dict[str, Any]]:
    """Return what is recorded of each launch."""
    return dict(tomllib.loads(FILE.read_text("utf-8")))


def _lines(found: Simulation) -> Iterator[str]:
    """Yield all counts and shares as text, with the nine digits that any machine agrees on."""
    whole = replace(found, seconds=0.0)
    for each in (*whole.accesses, *whole.buffers):
        names = each.__dataclass_fields__
        yield " ".join(_digits(getattr(each, name)) for name in names)
    for name, values in sorted(whole.series.items()):
        yield " ".join([name, *map(_digits, values)])
    yield " ".join(_digits(each) for each in (whole.sampled, whole.error, whole.sets))


def _digits(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, int | float) else str(value)


def main() -> None:
    lines = ["# Written by recorded_counts.py."]
    for name in names():
        found = counted(simulated(name))
        cells = ", ".join(f"{key} = {value!r}".replace("'", '"') for key, value in found.items())
        lines.append(f'"{name}" = {{ {cells} }}')
    FILE.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
