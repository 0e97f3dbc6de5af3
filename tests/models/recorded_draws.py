"""Launches of every built-in with parameters drawn at random: their times and traffic.

The launches of the record are those that somebody measured; these reach what sits between them.
Those of a device are predicted together, which has a digest (`digests.noted`).
`python tests/models/recorded_draws.py` draws them and writes recorded_draws.json anew: needed where
predictions are meant to change, or a built-in comes.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import digests
import numpy as np
from drawn_launches import EVERY, around_defaults
from last_bits import steady

from perfmodel.errors import PerfmodelError
from perfmodel.kernels import Kernel, find_kernel
from perfmodel.prediction import Predictions, predict, predict_many
from perfmodel.prediction.conditions import by_the_models

FILE: Final = Path(__file__).with_suffix(".json")
DIGESTS: Final = FILE.with_suffix(".toml")
DEVICES: Final = ("h100-sxm", "h200-sxm", "a100-sxm-80")
"""Of each third of the launches."""
TRAFFIC: Final = (
    *("global_load_sectors", "l1_data_wavefronts", "l2_read_sectors", "l2_write_sectors"),
    *("dram_read_bytes", "dram_write_bytes"),
)
_COUNT: Final = 12
"""Launches of a kernel, and how often as many are drawn for that, as kernels refuse some."""
_TRIED: Final = 40


@cache
def recorded() -> dict[str, list[dict[str, Any]]]:
    """Return the launches of each built-in: parameters, and what they were predicted to do."""
    found: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return found


def recorded_digests() -> dict[str, str]:
    """Return the digest of each built-in and device."""
    return dict(tomllib.loads(DIGESTS.read_text("utf-8")))


def of(kernel: Kernel) -> Iterator[dict[str, Any]]:
    """Yield drawn launches of a kernel that it takes, with time and traffic."""
    generator = np.random.default_rng(3)
    left = _COUNT
    for _ in range(_TRIED * _COUNT):
        params = around_defaults(kernel, generator)
        device = DEVICES[left % len(DEVICES)]
        try:
            with by_the_models():
                found = predict(kernel, device=device, **params)
        except PerfmodelError:
            continue
        traffic = {name: _rounded(found.traffic[name]) for name in TRAFFIC}
        yield {"device": device, "params": params, "time_s": _rounded(found.time_s), **traffic}
        left -= 1
        if not left:
            return


def together(name: str, launches: list[dict[str, Any]]) -> tuple[Predictions, str]:
    """Return what is predicted of launches of a built-in on a device, and the digest."""
    columns: dict[str, Any] = {n: [x["params"][n] for x in launches] for n in launches[0]["params"]}
    kernel, *mapping = name.split()
    device = launches[0]["device"]
    with by_the_models(), digests.noted() as lines:
        found = predict_many(
            kernel, mapping=mapping[0] if mapping else None, device=device, **columns
        )
    return found, digests.of_lines(lines)


def batches(
    every: Mapping[str, list[dict[str, Any]]],
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the launches of each built-in on each device."""
    return {
        (name, device): launches
        for name, some in every.items()
        for device in DEVICES
        if (launches := [each for each in some if each["device"] == device])
    }


def _rounded(value: float) -> float:
    return float(f"{value:.12g}")


def every() -> dict[str, str]:
    """Return the digest of each built-in and device."""
    found = batches(json.loads(FILE.read_text("utf-8")))
    return {" ".join(at): together(at[0], some)[1] for at, some in found.items()}


def main() -> None:
    drawn = {" ".join(filter(None, one)): list(of(find_kernel(one[0], one[1]))) for one in EVERY}
    parts = [
        f"{json.dumps(name)}: [\n" + ",\n".join(map(json.dumps, launches)) + "]"
        for name, launches in drawn.items()
    ]
    FILE.write_text("{\n" + ",\n".join(parts) + "\n}\n", "utf-8")
    found = steady("recorded_draws", every())
    lines = [f'"{name}" = "{digest}"\n' for name, digest in found.items()]
    DIGESTS.write_text("# Written by recorded_draws.py.\n" + "".join(lines), "utf-8")


if __name__ == "__main__":
    main()
