"""Circumstances of a launch: what its interval and its warnings depend on, besides its numbers."""

from __future__ import annotations

from typing import Final

import numpy as np

from perfmodel.hardware import Device
from perfmodel.kernels import Kernel
from perfmodel.models.agreement import agreed
from perfmodel.prediction.access_cautions import access_cautions
from perfmodel.prediction.details import Details
from perfmodel.prediction.l2_rules import L2Setting
from perfmodel.records import record

_WHOLE: Final = 16
"""Bytes of a copy that needs no registers (TMA, cp.async past L1)."""
_RETRIES: Final = ("cas-loop", "lock-loop")


@record
class Circumstances:
    """What launches of a kernel that are predicted alike have in common."""

    kernel: Kernel
    device: Device
    setting: L2Setting
    precision: str  # of its operations
    counted: bool  # whether an access has no closed form
    copies_ahead: bool
    narrow: bool  # whether it copies ahead in pieces of less than 16 bytes
    batched: bool  # whether it is of several products
    retries: bool  # whether lanes try again until they succeed
    notes: tuple[str, ...]  # on how the traffic was counted
    of_accesses: tuple[str, ...]  # what is to be said of its accesses

    @classmethod
    def of(cls, details: Details) -> Circumstances:
        """Return the circumstances of an evaluated launch."""
        instance, requests = details.instance, details.requests
        loads = (r for r in requests if r.access.kind == "load")
        ahead = instance.pipeline is not None
        return cls(
            kernel=instance.kernel,
            device=details.device,
            setting=details.setting,
            precision=instance.precision,
            counted=any(access.sampled is not None for access in details.traffic.accesses),
            copies_ahead=ahead,
            narrow=ahead and any(float(np.min(r.width)) < _WHOLE for r in loads),
            batched=agreed(np.asanyarray(instance.known.get("batch", 1)) > 1),
            retries=any(r.access.operation in _RETRIES for r in requests),
            notes=details.notes,
            of_accesses=tuple(access_cautions(details)),
        )
