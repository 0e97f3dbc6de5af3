"""From a kernel's name and sizes to the prediction of one launch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from perfmodel.errors import PerfmodelError
from perfmodel.hardware import Device
from perfmodel.kernels import Kernel, bind, check_bounds
from perfmodel.kernels.doubt import Doubt
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.kernels.lifted import lifted
from perfmodel.models.global_accesses import CacheState
from perfmodel.models.time.stage import Timing
from perfmodel.prediction.conditions import Conditions, check_protocol, device_of, kernel_of
from perfmodel.prediction.details import Details
from perfmodel.prediction.evaluate import prediction_of
from perfmodel.prediction.launch_numbers import prediction_from
from perfmodel.prediction.menu import open_parameters
from perfmodel.prediction.predict_many import Predictions, picked, predict_many
from perfmodel.prediction.record import Behind, Method, Prediction

__all__ = ["Predictions", "predict", "predict_many"]


def predict(
    kernel: str | Path | Kernel,
    *,
    mapping: str | None = None,
    device: str | Path | Device = "h100-sxm",
    timing: Timing = "profiler",
    cache: CacheState = "cold",
    traffic: Method = "closed-form",
    sets: int = 1,
    l2: L2Control | None = None,
    mig: bool = False,
    mps: bool = False,
    concurrent: Sequence[AccessPolicyWindow] = (),
    **params: int | str,
) -> Prediction:
    """Predict one launch.

    Parameters
    ----------
    kernel : str, Path or Kernel
        A built-in's name, a kernel file, or a kernel.
    mapping : str, optional
        Variant of a built-in, such as "naive" or "coalesced".
    device : str, Path or Device
        A catalogue name, a device file, or a device.
    timing : {"profiler", "events", "graph"}
        Whether the kernel alone is timed, what two events around it see, or a kernel of a replayed
        CUDA graph.
    cache : {"cold", "warm"}
        Whether L2 starts empty, or as the same launch just left it.
    traffic : {"closed-form", "simulated"}
        Who counts requests, sectors and bytes; the simulator takes seconds.
    sets : int
        Let the simulator have one of so many sets of L2, which stands for the others.
    l2 : L2Control, optional
        Set-aside, access policy window, fetch granularity and compression; by default the
        driver's.
    mig : bool
        Whether the GPU is in multi-instance mode (no set-aside).
    mps : bool
        Whether it is shared by a multi-process server (which alone can set L2 aside).
    concurrent : sequence of AccessPolicyWindow
        Windows of kernels that run at the same time and share the set-aside.
    **params : int or str
        The kernel's parameters: whole numbers, or words where it has a choice of words.

    Returns
    -------
    Prediction

    Raises
    ------
    PerfmodelError
        For anything unknown, out of range or impossible, in one line.

    Examples
    --------
    >>> predict("gemm", mapping="coalesced", device="h100-sxm", N=4096).bottleneck
    'l1'
    """
    chosen = kernel_of(kernel, mapping)
    check_protocol(timing, cache, traffic)
    under = Conditions(device_of(device), timing, cache, l2, mig, mps, concurrent)
    gpu = under.device
    given = _scalars(params)
    compiled = traffic == "closed-form" and under.came_before(chosen)
    if open_parameters(chosen, given):
        alone = {name: np.asarray([value]) for name, value in given.items()}
        found = picked(chosen, alone, under, compiled)
        given |= {name: int(values[0]) for name, values in found.items()}
    if chosen.translated and not given and traffic == "closed-form":
        return _of_source(chosen, under)
    forms = under.forms(chosen, given) if compiled else None
    numbers = None if forms is None else forms.numbers(given)
    if forms is not None and numbers is not None:
        behind = Behind(
            *(partial(under.details, chosen, given), timing, cache),
            partial(forms.reliability, given, under.evaluated),
        )
        return prediction_from(chosen, gpu, numbers, traffic, timing, cache, behind)
    predicted = _by_models(chosen, given, under, traffic, sets)
    if forms is not None:
        forms.learn(given, under.evaluated)
    return predicted


def _by_models(
    kernel: Kernel, given: Mapping[str, Any], under: Conditions, traffic: Method, sets: int = 1
) -> Prediction:
    instance = bind(kernel, given)
    check_bounds(instance)
    if kernel.assumption is not None:
        doubt = contents_doubt(kernel, lambda kernel: under.details(kernel, given))
        instance = replace(instance, kernel=replace(kernel, doubt=doubt))
    found = under.evaluated(instance, traffic, sets)
    return prediction_of(found, under.timing, under.cache, traffic)


def _of_source(kernel: Kernel, under: Conditions) -> Prediction:
    """Predict a kernel from a source, by what earlier ones that differ in numbers have taught."""
    same = lifted(kernel)
    known = same is not None and under.came_before(same.kernel)
    forms = under.forms(same.kernel, same.values) if same is not None and known else None
    if same is None or forms is None:
        return _by_models(kernel, {}, under, "closed-form")
    if (numbers := forms.numbers(same.values)) is not None:
        numbers = replace(numbers, params={p.name: same.values[p.name] for p in kernel.parameters})
        behind = Behind(partial(under.details, kernel, {}), under.timing, under.cache)
        protocol = under.timing, under.cache
        return prediction_from(kernel, under.device, numbers, "closed-form", *protocol, behind)
    found = _by_models(kernel, {}, under, "closed-form")
    forms.learn(same.values, under.evaluated)
    forms.hold_to(same.values, found.time_s)
    return found


def _scalars(params: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in params.items():
        if np.ndim(value):
            raise PerfmodelError(f"parameter {name!r} is an array; predict_many takes arrays")
    return dict(params)


MOST: Final = 10.0
"""Longest over shortest time, of plausible contents, from which on no time is given."""


def contents_doubt(kernel: Kernel, evaluated: Callable[[Kernel], Details]) -> Doubt:
    """Return how far the time of a kernel with assumed contents may be off.

    `kernel`: one with an assumption. `evaluated`: returns the details of a kernel on the device, as
    it is timed.

    Raises `PerfmodelError` if plausible contents make times that differ more than `MOST` times,
    unless the kernel's assumption allows it.
    """
    found = kernel.assumption
    if found is None or not found.others:
        return kernel.doubt
    plain = [replace(k, assumption=None) for k in (kernel, *found.others)]
    times = [float(evaluated(k).time.time_s[0]) for k in plain]
    shortest, longest = min(times), max(times)
    if longest > MOST * shortest and not found.allowed:
        raise PerfmodelError(
            f"content of {', '.join(found.names[:8])} decides the time, and nobody states it: "
            f"{1e3 * shortest:.3g} to {1e3 * longest:.3g} ms with contents that are as plausible; "
            f"give it (--arg {found.names[0]}=FILE.npy, or fill or npy in a launch file), or "
            f"--assume to go on with {found.words}"
        )
    return kernel.doubt.combined(Doubt(times[0] / shortest, longest / times[0]))
