"""A figure: one number about a GPU with its unit, its kind and its source.

Files and views keep figures as they were written (3352 GB/s, 29 cycles); everything that computes
uses SI. The table of units, ``units.toml``, is the only place that converts between the two.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, get_args

from perfmodel.packaged import packaged_toml
from perfmodel.records import record

Kind = Literal["datasheet", "measured", "fitted", "derived", "assumed"]
KINDS: Final[tuple[str, ...]] = get_args(Kind)


class Unit(NamedTuple):
    """What a unit string stands for: SI = value * factor * sm_clock**clock * sm_count**sms."""

    # What the unit measures, e.g. ``"bytes/second"``. Units convert within one dimension only.
    dimension: str
    factor: float  # SI units in one of this unit
    # Powers of the GPU's SM clock (Hz) and of its number of SMs in the conversion; 0 for a unit
    # that means the same on every GPU.
    clock: int = 0
    sms: int = 0

    def si_factor(self, sm_clock: float, sm_count: int) -> float:
        """Return the SI units in one of this unit on a GPU of this clock [Hz] and number of SMs."""
        factor = self.factor
        if self.clock:
            factor *= sm_clock**self.clock
        if self.sms:
            factor *= sm_count**self.sms
        return factor


UNITS: Final[Mapping[str, Unit]] = MappingProxyType(
    {
        name: Unit(**stated)
        for name, stated in packaged_toml(Path(__file__).with_name("units.toml")).items()
    }
)


def units_of(dimension: str) -> list[str]:
    """Return the unit strings that measure `dimension`, in the order of the table: SI first."""
    return [name for name, unit in UNITS.items() if unit.dimension == dimension]


@record
class Figure:
    """A number as its source gives it."""

    # The number in `unit`. For a figure that is a list (``shared_carveouts``), the largest.
    value: float
    unit: str  # a key of `UNITS`
    # Vendor's figure; measurement; fit to measurements; computed from other figures or taken over
    # from a sibling GPU; or a guess or an unmeasured claim, with its reasoning in `note`.
    kind: Kind
    source: str  # where the number comes from: document, measurement or definition
    note: str = ""  # what a reader must know to use it: conditions, reasoning, doubts
    # Standard error in `unit`, for fits and repeated measurements.
    standard_error: float | None = None
    also: "tuple[Figure, ...]" = ()  # other sources for the same figure, mostly such as disagree
    values: tuple[float, ...] = ()  # the whole list, for a figure that is one; else empty

    @property
    def dimension(self) -> str:
        """What the figure measures, e.g. ``"bytes/second"``."""
        return UNITS[self.unit].dimension

    def si_value(self, sm_clock: float, sm_count: int) -> float:
        """Return `value` in SI units (bytes, seconds, hertz, operations).

        `sm_clock`: SM clock [Hz] of the GPU, of cycle-based units. `sm_count`: its SMs, of units
        per SM.
        """
        return self.value * UNITS[self.unit].si_factor(sm_clock, sm_count)
