"""cuBLAS's FP32 product: the reference that a ladder's rungs are held against.

Its time is measured where somebody did, and else predicted where the described kernel is known to
be near; elsewhere there is none.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

from perfmodel.models.global_accesses import CacheState
from perfmodel.models.time.stage import Timing
from perfmodel.packaged import packaged_toml
from perfmodel.prediction.predict import predict
from perfmodel.prediction.record import Prediction
from perfmodel.records import record

NAME: Final = "cublas-fp32"
LONG: Final = 0.5e-3
"""Time [s] from which protocols differ by about a percent: the 5 us of events, or a cold L2."""


@record
class CublasFp32:
    """What cuBLAS takes for a product of FP32 matrices without tensor cores."""

    time_s: float
    flop_per_s: float
    kind: Literal["measured", "predicted"]
    source: str  # who measured it and how, or how far off such predictions are
    prediction: Prediction | None  # the described kernel's; None of a measured time

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "name": NAME,
            "time_s": self.time_s,
            "flop_per_s": self.flop_per_s,
            "kind": self.kind,
            "source": self.source,
        }


def cublas_fp32(of: Prediction) -> CublasFp32 | None:
    """Return what cuBLAS takes for the FP32 product of a prediction's size, on its GPU.

    None where nobody measured it, and no prediction of it is known to be near.
    """
    known = _known().get(of.device)
    if of.kernel != "gemm" or known is None or of.params.get("batch", 1) != 1:
        return None
    size = {name: int(of.params[name]) for name in ("M", "N", "K")}
    flop = 2.0 * size["M"] * size["N"] * size["K"]
    time = _measured(known, list(size.values()), of.timing, of.cache)
    if time is not None:
        return CublasFp32(time, flop / time, "measured", str(known["source"]), None)
    if "held" not in known:
        return None
    params: dict[str, Any] = {"dtype": "fp32", "operation": "matmul", **size}
    platform: dict[str, Any] = {"device": of.details.device, "timing": of.timing, "cache": of.cache}
    found = predict("gemm", mapping="tensor-core", **platform, **params)
    return CublasFp32(found.time_s, flop / found.time_s, "predicted", str(known["held"]), found)


def _measured(
    known: dict[str, Any], size: list[int], timing: Timing, cache: CacheState
) -> float | None:
    """Return a measured time [s] under this protocol, or under any where they hardly differ."""
    protocols = [tuple(protocol) for protocol in known.get("protocols", ())]
    for row in known.get("times_us", ()):
        if row[:3] != size:
            continue
        times = dict(zip(protocols, row[3:], strict=True))
        time = times.get((timing, cache), row[3] if row[3] >= LONG * 1e6 else None)
        return None if time is None else float(time) * 1e-6
    return None


@lru_cache(maxsize=1)
def _known() -> dict[str, dict[str, Any]]:
    return packaged_toml(Path(__file__).with_name("cublas.toml"))
