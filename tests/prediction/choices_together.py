"""What a library picks for many launches: one search for all that are alike.

`predict` times every choice of a menu for each launch; arrays of launches take little longer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from perfmodel.kernels import Kernel
from perfmodel.prediction.conditions import Conditions
from perfmodel.prediction.menu import open_parameters
from perfmodel.prediction.predict_many import picked

_PROTOCOL: Final = {"kernel", "device", "timing", "cache", "l2"}


def with_choices(launches: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return launches with what a library picks where they leave parameters of menus open.

    Each is arguments of `predict`, with a kernel, a device and a cache state; its prediction stays
    the same. Launches are searched together if they share these, the very same objects, and name
    the same parameters.
    """
    found = [dict(launch) for launch in launches]
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for launch in found:
        kernel, device, params = launch["kernel"], launch["device"], _params(launch)
        if open_parameters(kernel, params):
            alike = (id(kernel), id(device), launch["cache"], *sorted(params))
            groups.setdefault(alike, []).append(launch)
    for group in groups.values():
        _choose(group[0]["kernel"], group)
    return found


def _params(launch: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in launch.items() if name not in _PROTOCOL}


def _choose(kernel: Kernel, group: Sequence[dict[str, Any]]) -> None:
    """Put the choices in for launches that are searched together."""
    columns = {n: np.array([launch[n] for launch in group]) for n in _params(group[0])}
    under = Conditions(group[0]["device"], "profiler", group[0]["cache"])
    for name, values in picked(kernel, columns, under, compiled=False).items():
        for launch, value in zip(group, values.tolist(), strict=True):
            launch[name] = value
