"""Device: what a GPU is, as plain SI numbers with a provenance for each.

The fields of `Device` are the schema of a device file: each is declared once, with its dimension
and its meaning, through `quantity`. To add a figure, add one line here and its rows in the files.
"""

from collections.abc import Mapping
from dataclasses import field, fields, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from perfmodel.errors import PerfmodelError, nearest
from perfmodel.hardware.coefficients import Coefficients
from perfmodel.hardware.figure import Figure, Kind, units_of
from perfmodel.records import record

WARP_SIZE: Final = 32
"""Threads in a warp, on every GPU that CUDA runs on (CUDA C++ Programming Guide)."""
SCHEDULERS: Final = 4
"""Warp schedulers of an SM: CUDA C++ Programming Guide, compute capabilities 8.x and 9.0."""

# Dimensions that come in whole numbers.
_WHOLE = frozenset(
    {
        *("bytes", "SMs", "threads", "warps", "blocks", "registers"),
        *("schedulers", "lanes", "partitions", "slices", "GPCs"),
    }
)


@record
class Inheritance:
    """What a GPU that nobody measured has from the one whose file its own extends."""

    device: str  # name of that GPU
    compute_capability: str  # of that GPU
    # Names of the figures that were measured or worked out for it, or, where the compute capability
    # differs, of all that are taken over.
    figures: tuple[str, ...]


@record
class Quantity:
    """What a field of `Device` holds."""

    dimension: str  # dimension of its unit (see `perfmodel.hardware.figure.UNITS`)
    doc: str  # what it is, in one line
    # Whether every device has it; an optional one is None where unknown or absent.
    required: bool = True
    many: bool = False  # whether it is a list
    # Bounds on the SI value; `minimum` None means above zero, without the zero.
    minimum: float | None = None
    maximum: float | None = None

    @property
    def whole(self) -> bool:
        """Whether the SI value is a whole number."""
        return self.dimension in _WHOLE


def quantity(dimension: str, doc: str, **more: Any) -> Any:
    """Declare a field of `Device`; the arguments are the attributes of `Quantity`."""
    return field(metadata={"quantity": Quantity(dimension, doc, **more)})


def optional(dimension: str, doc: str, **more: Any) -> Any:
    """Declare a field that is None where it is unknown, or where a device has no such thing."""
    what = Quantity(dimension, doc, required=False, **more)
    return field(default=None, metadata={"quantity": what})


@record(slots=False, kw_only=True)
class Device:
    """A GPU: figures in SI (bytes, seconds, hertz, operations a second), None where unknown.

    Bandwidths and peak rates are those of the whole GPU. `figures` maps each field's name to its
    `Figure`: the number as written, its unit, kind and source. Two devices are equal when their
    numbers are, whatever the sources.
    """

    name: str
    title: str
    compute_capability: str
    figures: Mapping[str, Figure] = field(compare=False, repr=False)

    sm_count: int = quantity("SMs", "streaming multiprocessors")
    gpcs: int | None = optional("GPCs", "GPU processing clusters, of SMs")
    merged_sms: int | None = optional(
        "SMs", "SMs of a GPC whose reads of the same at a time L2 sees as one"
    )
    sm_clock: float = quantity(
        "hertz", "clock that kernels run at: the largest boost clock", minimum=1e6
    )

    tensor_clock: float | None = optional(
        "hertz", "clock while tensor cores work by mma.sync", minimum=1e6
    )

    max_threads_per_block: int = quantity("threads", "threads in a block, at most")
    max_threads_per_sm: int = quantity("threads", "threads resident on an SM, at most")
    max_warps_per_sm: int = quantity("warps", "warps resident on an SM, at most")
    max_blocks_per_sm: int = quantity("blocks", "blocks resident on an SM, at most")
    registers_per_sm: int = quantity("registers", "32-bit registers of an SM")
    max_registers_per_block: int = quantity("registers", "32-bit registers of a block, at most")
    max_registers_per_thread: int = quantity("registers", "32-bit registers of a thread, at most")
    register_allocation_unit: int = quantity("registers", "registers of a warp round up to this")
    warp_allocation_granularity: int = quantity("warps", "warps of a block round up to this")

    shared_per_sm: int = quantity("bytes", "shared memory of an SM, at most")
    shared_per_block_max: int = quantity("bytes", "shared memory of a block, at most, by opt-in")
    shared_per_block_default: int = quantity("bytes", "shared memory of a block without opt-in")
    shared_allocation_unit: int = quantity("bytes", "shared memory of a block rounds up to this")
    shared_reserved_per_block: int = quantity("bytes", "shared memory the driver takes per block")
    l1_shared_size: int = quantity("bytes", "memory of an SM that L1 and shared memory divide")
    shared_carveouts: tuple[int, ...] = quantity(
        "bytes", "sizes that an SM's shared memory can be set to", many=True, minimum=0
    )

    schedulers_per_sm: int = quantity("schedulers", "warp schedulers of an SM, one issue a clock")
    fp32_lanes: int = quantity("lanes", "FP32 operations that an SM starts in a clock")
    fp64_lanes: int = quantity("lanes", "FP64 operations that an SM starts in a clock")
    int32_lanes: int = quantity("lanes", "32-bit integer operations that an SM starts in a clock")
    imad_lanes: int | None = optional(
        "lanes", "32-bit integer multiplies that an SM starts in a clock"
    )
    conversion_lanes: int | None = optional(
        "lanes", "conversions and bit counts that an SM starts in a clock"
    )
    tensor16_lanes: int | None = optional(
        "lanes", "16-bit tensor-core multiply-adds of an SM in a clock, by mma.sync"
    )
    sfu_lanes: int = quantity("lanes", "special functions that an SM starts in a clock")
    lsu_lanes: int = quantity("lanes", "threads' loads or stores that an SM starts in a clock")

    peak_fp64: float | None = optional("operations/second", "FP64")
    peak_fp64_tensor: float | None = optional("operations/second", "FP64, tensor cores")
    peak_fp32: float = quantity("operations/second", "FP32")
    peak_tf32_tensor: float | None = optional("operations/second", "TF32, tensor cores, dense")
    peak_fp16_tensor: float | None = optional("operations/second", "FP16, tensor cores, dense")
    peak_bf16_tensor: float | None = optional("operations/second", "BF16, tensor cores, dense")
    peak_fp8_tensor: float | None = optional("operations/second", "FP8, tensor cores, dense")
    peak_int8_tensor: float | None = optional("operations/second", "INT8, tensor cores, dense")
    reached_tf32_tensor: float | None = optional(
        "operations/second", "TF32 on random operands, clock as it falls under load"
    )
    reached_fp16_tensor: float | None = optional(
        "operations/second", "FP16 on random operands, likewise"
    )
    reached_bf16_tensor: float | None = optional(
        "operations/second", "BF16 on random operands, likewise"
    )
    reached_fp8_tensor: float | None = optional(
        "operations/second", "FP8 on random operands, likewise"
    )

    sustained_bf16_tensor: float | None = optional(
        "operations/second", "BF16, once the power limit has lowered the clock"
    )

    register_file_size: int = quantity("bytes", "register file of an SM")
    register_bandwidth: float | None = optional(
        "bytes/second", "one 32-bit register a clock and FP32 lane"
    )
    register_latency: float | None = optional("seconds", "register to lane")
    shared_bandwidth: float = quantity("bytes/second", "shared memory, without bank conflicts")
    shared_latency: float = quantity("seconds", "dependent load from shared memory")
    l1_bandwidth: float = quantity("bytes/second", "L1 hits, coalesced")
    l1_latency: float = quantity("seconds", "dependent load that hits L1")
    l2_size: int = quantity("bytes", "L2")
    l2_partitions: int = quantity("partitions", "L2 partitions, one near and the others far")
    l2_slices: int | None = optional("slices", "L2 slices")
    l2_read_bandwidth: float = quantity("bytes/second", "private working sets re-read from L2")
    l2_write_bandwidth: float | None = optional("bytes/second", "L2 writes")
    l2_crossing_bandwidth: float | None = optional(
        "bytes/second", "between the two sides of L2, both directions"
    )
    l2_latency: float = quantity("seconds", "dependent load that hits the near L2 partition")
    l2_far_latency: float | None = optional(
        "seconds", "dependent load that hits the far L2 partition"
    )
    atomic_interval: float | None = optional(
        "seconds", "from one atomic of an L2 slice to the next, a part of a sector each"
    )
    atomic_full_interval: float | None = optional("seconds", "the same where lanes fill the sector")
    atomic_float_interval: float | None = optional(
        "seconds", "from one floating-point atomic of a sector to the next"
    )
    atomic_sector_rate: float | None = optional(
        "operations/second", "sectors that atomics of one lane each change all over L2"
    )
    atomic_full_sector_rate: float | None = optional(
        "operations/second", "the same where lanes fill the sectors"
    )
    l2_kept_half: float | None = optional(
        "ratio", "lines that a launch touches, over L2: the next one finds half"
    )
    l2_persisting_max: int | None = optional(
        "bytes", "L2 that can be set aside for persisting accesses"
    )
    l2_window_max: int | None = optional("bytes", "access policy window, at most")
    dram_size: int = quantity("bytes", "DRAM")
    dram_bandwidth: float = quantity("bytes/second", "DRAM peak: memory clock x bus width")
    dram_read_efficiency: float = quantity("ratio", "share of peak that reads reach", maximum=1.0)
    dram_write_efficiency: float = quantity("ratio", "share of peak that writes reach", maximum=1.0)
    dram_copy_efficiency: float = quantity(
        "ratio", "share of peak that equal reads and writes reach", maximum=1.0
    )
    dram_latency: float = quantity("seconds", "dependent load that misses L2")
    dram_access_size: int = quantity("bytes", "least that an L2 miss moves, default granularity")

    launch_floor: float = quantity("seconds", "an empty kernel by the profiler")
    launch_code: float | None = optional(
        "seconds", "what a launch with any work takes beyond an empty one"
    )
    launch_fetch: float | None = optional(
        "seconds", "the same on every SM by a profiler that leaves caches alone"
    )
    launch_beside: float | None = optional(
        "seconds", "what overlaps with work, of an empty kernel by such a profiler"
    )
    launch_warp: float | None = optional(
        "seconds", "what a profiler adds to the start of each warp of an SM"
    )
    event_floor: float = quantity("seconds", "an empty kernel between two events")
    block_dispatch_rate: float | None = optional(
        "blocks/second", "blocks that the GPU starts in a second"
    )

    coefficients: Coefficients = field(repr=False)
    """The fitted numbers of the mechanisms, of its architecture or inherited from another."""
    inherited: Inheritance | None = field(default=None, compare=False, repr=False)
    """Set for a GPU that differs from the one that its file extends and states no measurements."""

    @property
    def dram_read_bandwidth(self) -> float:
        """DRAM bandwidth that reads reach [B/s], read efficiency x peak."""
        return self.dram_read_efficiency * self.dram_bandwidth

    @property
    def capability(self) -> tuple[int, ...]:
        """Compute capability, major and minor."""
        return tuple(map(int, self.compute_capability.split(".")))

    @property
    def has_clusters(self) -> bool:
        """Whether blocks form clusters, which read L2 once for several (from sm_90 on)."""
        return self.capability >= (9, 0)

    def tensor_rate(self, precision: str) -> float:
        """Return the rate that tensor cores reach in a precision, else their peak [1/s].

        `precision`: "bf16_tensor" and the like.

        Raises
        ------
        PerfmodelError
            If this GPU's tensor cores do not know the precision.
        """
        reached: float | None = getattr(self, f"reached_{precision}")
        return self.require(f"peak_{precision}") if reached is None else reached

    def require(self, name: str) -> float:
        """Return the number of field `name` in SI, for a model that cannot do without it.

        Raises
        ------
        PerfmodelError
            If there is no such figure, if it is a list, or if this GPU does not have it.
        """
        what = quantities().get(name)
        if what is None:
            raise PerfmodelError(f"no figure is called {name!r}{nearest(name, quantities())}")
        if what.many:
            raise PerfmodelError(f"figure {name!r} is a list, not a number: read device.{name}")
        value: float | None = getattr(self, name)
        if value is None:
            raise PerfmodelError(
                f"device {self.name!r} has no figure {name!r} ({what.doc}): add [{name}] to a "
                f"device file with extends = {self.name!r} and load that file"
            )
        return value

    def with_figures(self, values: Mapping[str, float], kind: Kind, source: str) -> "Device":
        """Return the device with other numbers, in SI, of one kind and source."""
        known = quantities()
        stated = {
            name: Figure(value, units_of(known[name].dimension)[0], kind, source)
            for name, value in values.items()
        }
        changes: dict[str, Any] = dict(values)
        return replace(self, figures=MappingProxyType({**self.figures, **stated}), **changes)

    # A mapping proxy cannot be pickled, and sweeps send devices to other processes.
    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "figures": dict(self.figures)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, figures=MappingProxyType(state["figures"]))


@cache
def quantities() -> Mapping[str, Quantity]:
    """Return the figures of a device: field name to `Quantity`, in the order of the fields."""
    return MappingProxyType(
        {f.name: f.metadata["quantity"] for f in fields(Device) if "quantity" in f.metadata}
    )
