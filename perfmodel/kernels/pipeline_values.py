"""What a kernel says of its pipeline and of its operations' precision, with numbers put in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perfmodel.expressions import Node
from perfmodel.kernels.kernel import PRECISIONS, Kernel, Pipeline

Integers = int | npt.NDArray[np.int64]

_MOST_PARTS = 2**20
_MOST_BYTES = 2**48


@dataclass(frozen=True, eq=False)
class PipelineValues:
    """A `Pipeline` in numbers, one for each configuration."""

    # As in `perfmodel.kernels.kernel.Pipeline`.
    tiles: Integers
    launched: Integers
    resident: Integers
    waits: Integers
    parts: Integers
    parts_ns: Integers
    part_bytes: Integers
    result_bytes: Integers


def pipeline_values(
    stated: Pipeline | None, whole: Callable[[Node, str, int, int], Any], shape: tuple[int, ...]
) -> PipelineValues | None:
    """Return a pipeline in numbers; `whole` evaluates an expression and checks its range."""
    if stated is None:
        return None
    found = (
        whole(stated.tiles, "pipeline tiles", 0, _MOST_BYTES),
        whole(stated.launched, "pipeline launched", 0, _MOST_BYTES),
        whole(stated.resident, "pipeline resident", 1, _MOST_PARTS),
        whole(stated.waits, "pipeline waits", 0, _MOST_BYTES),
        whole(stated.parts, "pipeline parts", 1, _MOST_PARTS),
        whole(stated.parts_ns, "pipeline parts_ns", 0, _MOST_PARTS),
        whole(stated.part_bytes, "pipeline part_bytes", 0, _MOST_BYTES),
        whole(stated.result_bytes, "pipeline result_bytes", 0, _MOST_BYTES),
    )
    return PipelineValues(*(np.broadcast_to(v, shape) if shape else v for v in found))


def tensor_precision(kernel: Kernel, values: Mapping[str, Any]) -> str:
    """Return a kernel's precision; where a parameter names it, that of the first configuration."""
    for parameter in kernel.parameters:
        if parameter.name == kernel.precision:
            word = parameter.shown(int(np.ravel(values[parameter.name])[0]))
            return word if word in PRECISIONS else f"{word}_tensor"
    return kernel.precision
