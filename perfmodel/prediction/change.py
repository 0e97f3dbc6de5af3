"""Change: something to try on a launch, the launch as it would be with it, and what was untried."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Literal

from perfmodel.kernels import Kernel
from perfmodel.kernels.l2_control import L2Control
from perfmodel.packaged import packaged_toml
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

_KINDS: Final = packaged_toml(Path(__file__).with_name("changes.toml"))

CATEGORIES: Final[dict[Kind, str]] = _KINDS["categories"]
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
    now: dict[str, Any] = {"kernel": details.instance.kernel, "params": dict(base.params)}
    now |= {"control": details.setting.control, "cuda": ()}
    return Change(kind, what, **(now | other))


NEVER: Final = (
    "another algorithm or precision, asynchronous copies (cp.async, TMA), fusion with other "
    "kernels, compiler options"
)
"""What no advice tries."""

_ABSENT: Final[dict[Kind, str]] = _KINDS["absent"]
"""Why a kind of change is absent: no launch of that kind could be made from this one."""


@record
class Untried:
    """A kind of change that was not tried, and why."""

    kind: Kind
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"kind": self.kind, "category": CATEGORIES[self.kind], "reason": self.reason}


def untried(tried: Iterable[Kind], residency: str = "") -> tuple[Untried, ...]:
    """Return the kinds of change that were not tried.

    `tried`: kinds of which some change was predicted. `residency`: why the GPU as it is set up has
    no residency control; empty where it has.
    """
    known = frozenset(tried)
    reasons = _ABSENT | ({"residency": residency} if residency else {})
    return tuple(Untried(kind, why) for kind, why in reasons.items() if kind not in known)
