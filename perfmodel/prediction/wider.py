"""Wider intervals: kernels and GPUs for which residuals are known to say too little.

Three kinds, all data: what a vendor's or a stack's library runs, by architecture, fitted to rows
that others published (``library_intervals.toml``, written by `perfmodel.validation.libraries`);
kernels that work asynchronously and GPUs that nobody measured, stated with their reasons
(``stated_intervals.toml``, written by hand). The wider end on either side counts.
"""

from collections.abc import Iterator
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

from perfmodel.hardware import Device
from perfmodel.packaged import packaged_toml
from perfmodel.prediction.circumstances import Circumstances
from perfmodel.records import record

LIBRARY: Final = Path(__file__).with_name("library_intervals.toml")
STATED: Final = Path(__file__).with_name("stated_intervals.toml")
WORTH_SAYING: Final = 1.5
"""Factor of an interval's end from which on a prediction warns of it."""
Inherits = Literal["", "same architecture", "other architecture"]


@record
class WiderInterval:
    """Where 90% of measured times lie, over predicted ones, and for what."""

    name: str  # what it is of, as a warning says it
    # Factors of the predicted time.
    low: float
    high: float
    because: str  # why, and from what, as a warning says it
    # Built-in kernel; empty for any.
    kernel: str = ""
    mapping: str = ""
    precisions: tuple[str, ...] = ()  # of its operations; empty for any
    compute_capability: str = ""  # of the GPU; empty for any
    # All that a kernel from PTX must have of `perfmodel.cuda.sass.asynchronous`.
    uses: frozenset[str] = field(default_factory=frozenset)
    # For GPUs whose figures are another's: "same architecture" or "other architecture".
    inherits: Inherits = ""
    # Published rows that it was fitted to, and left-out ones.
    rows: int | None = None
    held_out_rows: int | None = None
    # Share of the left-out rows inside the interval of the residuals alone, and inside this one.
    before: float | None = None
    held_out: float | None = None

    def applies(self, of: Circumstances) -> bool:
        """Say whether a prediction is of what it is for."""
        kernel, device = of.kernel, of.device
        if self.kernel and (kernel.translated or kernel.name != self.kernel):
            return False
        if self.mapping and kernel.mapping != self.mapping:
            return False
        if self.precisions and of.precision not in self.precisions:
            return False
        if self.compute_capability and device.compute_capability != self.compute_capability:
            return False
        return self.uses <= kernel.asynchronous and self.inherits in ("", _inherits(device))

    def warning(self) -> str:
        """Return what to say of it, in a line."""
        return (
            f"{self.name}: {self.because}; the 90% interval is widened to {self.low:.2f} to "
            f"{self.high:.2f} times the predicted time"
        )


def wider_intervals(of: Circumstances) -> tuple[WiderInterval, ...]:
    """Return what is known to be predicted worse than residuals say, of a prediction."""
    return tuple(each for each in _all() if each.applies(of))


def wider_warnings(of: Circumstances) -> Iterator[str]:
    """Yield a line for each that is wide enough to say."""
    for each in wider_intervals(of):
        if max(1 / each.low, each.high) > WORTH_SAYING:
            yield each.warning()


def read_wider(path: Path) -> tuple[WiderInterval, ...]:
    """Return the intervals of a data file."""
    tables: list[dict[str, Any]] = packaged_toml(path)["interval"]
    return tuple(_read(table) for table in tables)


def _read(table: dict[str, Any]) -> WiderInterval:
    known = {name for name in WiderInterval.__dataclass_fields__ if name in table}
    given = {name: table[name] for name in known}
    for name, kind in (("precisions", tuple), ("uses", frozenset)):
        if name in given:
            given[name] = kind(given[name])
    return WiderInterval(**given)


def _inherits(device: Device) -> Inherits:
    inherited = device.inherited
    if inherited is None:
        return ""
    same = inherited.compute_capability == device.compute_capability
    return "same architecture" if same else "other architecture"


@lru_cache(maxsize=1)
def _all() -> tuple[WiderInterval, ...]:
    return (*read_wider(LIBRARY), *read_wider(STATED))
