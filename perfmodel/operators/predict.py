"""Operators of a model shape predicted on a device: each launch, and what a token adds up to."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Literal

from perfmodel.errors import PerfmodelError
from perfmodel.fields import fields_of
from perfmodel.hardware import Device
from perfmodel.models.global_accesses import CacheState
from perfmodel.models.reuse.reuse_windows import resident_share, warm_knee
from perfmodel.models.time.stage import Timing
from perfmodel.operators.model_shape import ModelShape, with_context
from perfmodel.operators.step import MOST_VECTORS, Operator, operators
from perfmodel.prediction.memory_size import not_held
from perfmodel.prediction.predict import predict
from perfmodel.prediction.record import Prediction
from perfmodel.records import record

Tier = Literal["L1/SMEM", "L2", "HBM"]
Caches = Literal["step", "cold", "warm"]


@record
class OperatorTime:
    """An operator on a device."""

    operator: Operator
    prediction: Prediction  # of one launch, with caches as they mostly are when it comes to run
    tier: Tier  # the nearest memory that holds its working set
    # Of one launch [s]: between a warm and a cold one by the share of the step that L2 keeps; and
    # its 90% interval.
    time_s: float
    interval_s: tuple[float, float]

    @property
    def flop(self) -> float:
        """Useful operations of one launch."""
        return self.prediction.roofline.flop

    @property
    def intensity(self) -> float:
        """Operations a byte, each array moved once [FLOP/B]."""
        return self.flop / self.operator.bytes

    @property
    def step_s(self) -> float:
        """Of all its launches in a step [s]."""
        return self.operator.count * self.time_s

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object, times in seconds and sizes in bytes."""
        o = self.operator
        return {
            **fields_of(o, "name", "phase"),
            "kernel": {"name": o.kernel, **fields_of(o, "mapping", "params")},
            "count": o.count,
            "in_totals": not o.beside,
            "tier": self.tier,
            "working_set_bytes": o.working_set,
            **fields_of(o, "read_bytes", "written_bytes", "bytes"),
            **fields_of(self, "flop", "intensity"),
            "cache": self.prediction.cache,
            **fields_of(self, "time_s", "interval_s"),
            "bottleneck": self.prediction.bottleneck,
            "step_s": self.step_s,
            **fields_of(self.prediction, "warnings"),
        }


@record
class StepTimes:
    """All operators of a shape on a device, and their sums."""

    shape: ModelShape
    batch: int
    device: Device
    timing: Timing
    kept: float  # share of weights and cache that L2 still has when the next token comes to them
    each: tuple[OperatorTime, ...]
    warnings: tuple[str, ...]

    @property
    def token(self) -> tuple[OperatorTime, ...]:
        """The operators that a token adds up."""
        return tuple(e for e in self.each if e.operator.phase == "token" and not e.operator.beside)

    @property
    def token_s(self) -> float:
        """Kernels of one token of every sequence, one after the other [s]."""
        return sum(e.step_s for e in self.token)

    @property
    def token_interval_s(self) -> tuple[float, float]:
        """Sums of the ends of their 90% intervals [s]: as if all erred alike."""
        ends = ([e.operator.count * e.interval_s[i] for e in self.token] for i in (0, 1))
        low, high = map(sum, ends)
        return low, high

    @property
    def launches(self) -> int:
        """Kernels of a token."""
        return sum(e.operator.count for e in self.token)

    @property
    def token_bytes(self) -> int:
        """Bytes of a token, each array of each operator once [B]."""
        return sum(e.operator.count * e.operator.bytes for e in self.token)

    @property
    def token_flop(self) -> float:
        """Useful operations of a token of every sequence."""
        return sum(e.operator.count * e.flop for e in self.token)

    @property
    def cache_read_bytes(self) -> int:
        """Keys and values that a token reads, of all layers and every sequence [B]."""
        return self.shape.cache_bytes(self.batch)

    @property
    def cache_read_s(self) -> float:
        """The cache alone at the peak bandwidth of DRAM [s]."""
        return self.cache_read_bytes / self.device.dram_bandwidth

    @property
    def weight_read_s(self) -> float:
        """The matrices alone at the peak bandwidth of DRAM [s]."""
        return self.shape.weight_bytes / self.device.dram_bandwidth

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON object ``perfmodel.operators/1``."""
        shape = self.shape
        sizes = {"cache_bytes": shape.cache_bytes(), "weight_bytes": shape.weight_bytes}
        return {
            "schema": "perfmodel.operators/1",
            "model": asdict(shape) | sizes,
            "batch": self.batch,
            "device": self.device.name,
            "timing": self.timing,
            "l2_kept": self.kept,
            "operators": [e.to_json() for e in self.each],
            "token": {
                "time_s": self.token_s,
                "interval_s": list(self.token_interval_s),
                "launches": self.launches,
                "bytes": self.token_bytes,
                "flop": self.token_flop,
                **fields_of(self, "cache_read_bytes", "cache_read_s"),
                "weight_bytes": shape.weight_bytes,
                "weight_read_s": self.weight_read_s,
            },
            **fields_of(self, "warnings"),
        }


def predict_operators(
    shape: ModelShape,
    device: Device,
    *,
    context: int | None = None,
    batch: int = 1,
    timing: Timing = "profiler",
    cache: Caches = "step",
) -> StepTimes:
    """Predict every operator of a model shape.

    `context`: tokens in the cache, and of the prompt; by default the shape's. `batch`: sequences at
    a time. `cache`: what L2 holds when an operator starts: what the step leaves it (what the kernel
    before wrote; of weights and cache the share that survives a whole token), or nothing, or all
    that the same launch would leave.

    Raises `PerfmodelError` if context or batch is out of range, an operator cannot be launched on
    the device, or weights and cache together exceed its memory.
    """
    if cache not in ("step", "cold", "warm"):
        raise PerfmodelError(f"cache {cache!r} is unknown; choose step, cold or warm")
    shape = with_context(shape, context, batch)
    step = shape.weight_bytes + shape.cache_bytes(batch)
    if step > device.dram_size:
        parts = {"cache": step - shape.weight_bytes, "weights": shape.weight_bytes}
        remedy = "choose a smaller batch or context, or a GPU with more memory"
        what = f"weights and cache of {shape.name} at batch {batch} and context {shape.context}"
        raise not_held(what, parts.items(), device, remedy)
    kept = float(resident_share(step, float(device.l2_size), warm_knee(device)).reshape(-1)[0])
    found = []
    for operator in operators(shape, batch):
        share = {"cold": 0.0, "warm": 1.0}.get(cache, _kept(operator, kept))
        found.append(_timed(operator, device, timing, share))
    return StepTimes(
        shape, batch, device, timing, kept, tuple(found), tuple(_warnings(shape, batch, found))
    )


def tier(operator: Operator, device: Device) -> Tier:
    """Return the nearest memory that holds an operator's working set.

    A block's tile or row lives on its SM if shared memory or L1 has room for it; all else in L2 if
    it fits there, else in DRAM.
    """
    if operator.on_chip and operator.working_set <= device.shared_per_block_max:
        return "L1/SMEM"
    return "L2" if operator.working_set <= device.l2_size else "HBM"


def _kept(operator: Operator, kept: float) -> float:
    """Return the share of an operator's input that L2 has when it starts."""
    if operator.phase == "prompt":
        return 0.0
    return 1.0 if operator.source == "kernel" else kept


def _timed(operator: Operator, device: Device, timing: Timing, share: float) -> OperatorTime:
    """Return an operator's time, with `share` of its input in L2."""

    def launch(cache: CacheState) -> Prediction:
        return predict(
            operator.kernel,
            mapping=operator.mapping,
            device=device,
            timing=timing,
            cache=cache,
            **operator.params,
        )

    cold = launch("cold") if share < 1 else None
    warm = launch("warm") if share > 0 else None
    usual = warm if warm is not None and (cold is None or share >= 0.5) else cold
    assert usual is not None

    def between(value: Callable[[Prediction], float]) -> float:
        low = value(warm) if warm is not None else 0.0
        high = value(cold) if cold is not None else 0.0
        return share * low + (1 - share) * high

    return OperatorTime(
        operator=operator,
        prediction=usual,
        tier=tier(operator, device),
        time_s=between(lambda p: p.time_s),
        interval_s=(between(lambda p: p.interval_s[0]), between(lambda p: p.interval_s[1])),
    )


def _warnings(shape: ModelShape, batch: int, found: Sequence[OperatorTime]) -> list[str]:
    lines = list(dict.fromkeys(w for e in found for w in e.prediction.warnings))
    if batch > MOST_VECTORS and shape.element_bytes > 2:
        launches = -(-batch // MOST_VECTORS)
        lines.append(
            f"FP32 matrix products of {batch} sequences are taken as {launches} launches of at "
            f"most {MOST_VECTORS} each, which all read the weights; a tiled product reads them once"
        )
    if not any(e.operator.mapping == "tiled" for e in found):
        lines.append(
            f"no tiled prefill attention for heads of {shape.head_width} in {shape.dtype}: it "
            "takes heads of 64 or 128 in fp16 or bf16"
        )
    return lines
