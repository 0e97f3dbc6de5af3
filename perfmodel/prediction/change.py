"""Change: something to try on a launch, and the launch as it would be with it."""

from __future__ import annotations

from typing import Any, Final, Literal

from perfmodel.kernels import Kernel
from perfmodel.kernels.l2_control import L2Control
from perfmodel.prediction.record import Prediction
from perfmodel.records import record

Kind = Literal[
    "residency",
    "fetch granularity",
    "remap",
    "coalescing",
    "vector width",
    "coarsening",
    "block size",
    "tiling",
    "tiles",
    "rewrite",
    "padding",
    "swizzle",
    "privatisation",
]

CATEGORIES: Final[dict[Kind, str]] = {
    "residency": "L2 residency",
    "fetch granularity": "launch configuration",
    "block size": "launch configuration",
    "remap": "remap",
    "coalescing": "data layout",
    "vector width": "vectorisation",
    "coarsening": "coarsening",
    "tiling": "tiling",
    "tiles": "tile sizes",
    "padding": "shared-memory layout",
    "swizzle": "shared-memory layout",
    "privatisation": "privatisation",
    "rewrite": "rewrite",
}
"""What each kind of change is: what somebody has to touch to make it."""


@record
class Change:
    """A change to try."""

    kind: Kind
    what: str  # what to do, as a sentence
    cuda: tuple[str, ...]  # lines to write; empty where the kernel itself has to change
    kernel: Kernel
    params: dict[str, int | str]
    control: L2Control  # the launch with it
    # Whether it lies between changes of its kind: worth trying only where one of those gains.
    finer: bool = False


def changed(base: Prediction, kind: Kind, what: str, **other: Any) -> Change:
    """Return a change, with what it leaves alone as the launch has it."""
    details = base.details
    return Change(
        kind=kind,
        what=what,
        cuda=other.get("cuda", ()),
        kernel=other.get("kernel", details.instance.kernel),
        params=other.get("params", dict(base.params)),
        control=other.get("control", details.setting.control),
        finer=other.get("finer", False),
    )
