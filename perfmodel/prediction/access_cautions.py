"""What a prediction warns of its accesses: counted ones, and what L2's models leave out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfmodel.kernels.l2_control import L2Control
from perfmodel.prediction.details import Details


def access_cautions(details: Details) -> Iterator[str]:
    """Yield what a reader should know of a launch's accesses, a sentence each."""
    yield from _counted(details)
    yield from _atomics_and_weights(details)


def _counted(details: Details) -> Iterator[str]:
    """Yield which accesses have no closed form, those with a sample of equal size together."""
    names: dict[str, list[str]] = {}
    for access in details.traffic.accesses:
        if access.sampled is not None:
            share = "all" if access.sampled >= 1 else f"a sample of {access.sampled:.1%}"
            names.setdefault(share, []).append(access.name)
    for share, alike in names.items():
        what, whose = ("access", "its index") if len(alike) == 1 else ("accesses", "their indices")
        yield (
            f"{what} {', '.join(alike)}: no closed form for {whose}, so {share} of the warps "
            "were counted"
        )


def _atomics_and_weights(details: Details) -> Iterator[str]:
    """Yield what L2's models leave out of atomics, and of places that are not equally likely."""
    asked = details.setting.control
    controlled = asked != L2Control(compression=asked.compression)
    for r, access in zip(details.requests, details.traffic.accesses, strict=True):
        if r.access.kind == "load" and r.access.weights is not None:
            yield f"access {access.name}: L2 is modelled as if its places were equally likely"
        if not controlled or r.sharing is None:
            continue
        if float(np.max(access.dram_bytes)) > details.device.l2_size:
            yield (
                f"access {access.name}: atomics past L2 are modelled with the driver's fetch "
                "granularity and no set-aside"
            )
