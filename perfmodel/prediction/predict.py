"""From a kernel's name and sizes to predictions: one launch, or arrays of launches at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.errors import PerfmodelError
from perfmodel.hardware import Device, load_device
from perfmodel.kernels import Instance, Kernel, bind, check_bounds, find_kernel
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.models.agreement import DisagreementError
from perfmodel.models.global_accesses import CacheState
from perfmodel.models.grid.geometry import alike
from perfmodel.models.mechanism import switch_off, switched_off
from perfmodel.models.requests.unrolled import runs_once
from perfmodel.models.time.stage import Timing
from perfmodel.prediction.contents import contents_doubt
from perfmodel.prediction.details import Details
from perfmodel.prediction.evaluate import evaluate, prediction_of
from perfmodel.prediction.interval import bottleneck
from perfmodel.prediction.l2_rules import l2_setting
from perfmodel.prediction.menu import fastest, open_parameters
from perfmodel.prediction.record import Method, Prediction

Array = npt.NDArray[Any]

# Most configurations worked on at a time: few enough for the CPU's caches, enough to share
# patterns. What is worked on together does not depend on the CPU, nor then does any result.
_CHUNK: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Predictions:
    """Predicted times of many launches, arrays of the shape that the parameters broadcast to.

    Attributes
    ----------
    time_s : array
    terms_s : mapping of str to array
    bottleneck : array of str
    traffic : mapping of str to array
    """

    time_s: Array
    terms_s: Mapping[str, Array]
    bottleneck: Array
    traffic: Mapping[str, Array]


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
    timing : {"profiler", "events"}
        Whether the kernel alone is timed, or what two events around it see.
    cache : {"cold", "warm"}
        Whether L2 starts empty, or as the same launch just left it.
    traffic : {"closed-form", "simulated"}
        Who counts requests, sectors and bytes; the simulator takes seconds.
    sets : int
        Let the simulator have one of so many sets of L2, which stands for the others.
    l2 : L2Control, optional
        Set-aside, access policy window, fetch granularity and compression; by default the
        driver's.
    mig, mps : bool
        Whether the GPU is in multi-instance mode (no set-aside), or shared by a multi-process
        server (which alone can set L2 aside).
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
    chosen = _kernel(kernel, mapping)
    gpu = _device(device)
    _check_protocol(timing, cache, traffic)
    given = _scalars(params)
    if open_parameters(chosen, given):
        # What the profiler sees decides: a library does not know how it will be timed.
        alone = {name: np.asarray([value]) for name, value in given.items()}
        picked = fastest(chosen, alone, _times_of(chosen, gpu, cache))
        given |= {name: int(values[0]) for name, values in picked.items()}
    instance = bind(chosen, given)
    check_bounds(instance)
    setting = l2_setting(l2 or L2Control(), instance, gpu, mig=mig, mps=mps, concurrent=concurrent)

    def evaluated(bound: Instance, method: Method) -> Details:
        return evaluate(bound, gpu, timing, cache, setting, method, sets)

    if chosen.assumption is not None:
        doubt = contents_doubt(chosen, lambda kernel: evaluated(bind(kernel, given), "closed-form"))
        instance = replace(instance, kernel=replace(chosen, doubt=doubt))
    return prediction_of(evaluated(instance, traffic), timing, cache, traffic)


def predict_many(
    kernel: str | Path | Kernel,
    *,
    mapping: str | None = None,
    device: str | Path | Device = "h100-sxm",
    timing: Timing = "profiler",
    cache: CacheState = "cold",
    l2: L2Control | None = None,
    mig: bool = False,
    mps: bool = False,
    concurrent: Sequence[AccessPolicyWindow] = (),
    **params: npt.ArrayLike,
) -> Predictions:
    """Predict arrays of launches in one call; arguments are those of `predict`, or arrays.

    Parameters that change the block or the width of an access are split into one pass each, and
    so are configurations that the models' forms would be chosen differently for.
    """
    chosen = _kernel(kernel, mapping)
    gpu = _device(device)
    _check_protocol(timing, cache)
    given = {name: np.asarray(value) for name, value in params.items()}
    try:
        shape = np.broadcast_shapes(*(value.shape for value in given.values()))
    except ValueError as error:
        raise PerfmodelError(
            f"parameters of shapes {[v.shape for v in given.values()]} do not broadcast"
        ) from error
    if 0 in shape:
        raise PerfmodelError("no configurations: an array of parameters is empty; give some values")
    flat = {name: np.broadcast_to(value, shape).reshape(-1) for name, value in given.items()}
    size = int(np.prod(shape))
    flat |= fastest(chosen, flat, _times_of(chosen, gpu, cache))
    columns: dict[str, Array] = {}

    def work(start: int) -> None:
        waiting = list(_batches(chosen, flat, slice(start, min(start + _CHUNK, size))))
        while waiting:
            rows, instance = waiting.pop()
            try:
                found = predicted(instance)
            except DisagreementError as parted:
                places = np.arange(size)[rows]
                for label in np.unique(parted.labels):
                    part = places[parted.labels == label]
                    bound = bind(chosen, {name: value[part] for name, value in flat.items()})
                    waiting.append((part, bound))
                continue
            for name, value in found.items():
                # Each row is in one batch, and terms that a batch has not are none.
                columns.setdefault(name, np.zeros(size))[rows] = value

    def predicted(instance: Instance) -> dict[str, Array]:
        setting = l2_setting(
            l2 or L2Control(), instance, gpu, mig=mig, mps=mps, concurrent=concurrent
        )
        details = evaluate(instance, gpu, timing, cache, setting)
        found = {"time": details.time.time_s, **_named("term ", details.time.terms_s)}
        return found | _named("traffic ", _totals(details))

    starts = range(0, size, _CHUNK)
    if len(starts) == 1:
        work(0)
    else:
        # NumPy works without the interpreter lock, so batches run side by side; more of them than
        # cores would only push each other out of the caches.
        off = switched_off()
        with ThreadPoolExecutor(_cores(), initializer=switch_off, initargs=(off,)) as pool:
            for _ in pool.map(work, starts):
                pass
    terms = {n.removeprefix("term "): c.reshape(shape) for n, c in columns.items() if "term " in n}
    return Predictions(
        time_s=columns["time"].reshape(shape),
        terms_s=terms,
        bottleneck=bottleneck(terms),
        traffic={
            n.removeprefix("traffic "): c.reshape(shape)
            for n, c in columns.items()
            if "traffic " in n
        },
    )


def _cores() -> int:
    """Return the CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _times_of(
    kernel: Kernel, gpu: Device, cache: CacheState
) -> Callable[[Mapping[str, Array]], Array]:
    def times(every: Mapping[str, Array]) -> Array:
        params: dict[str, Any] = dict(every)
        return predict_many(kernel, device=gpu, cache=cache, **params).time_s

    return times


def _batches(
    kernel: Kernel, flat: Mapping[str, Array], chunk: slice
) -> Iterator[tuple[slice | Array, Instance]]:
    """Yield configurations that share a block shape and access widths: places, and bound."""
    instance = bind(kernel, {name: value[chunk] for name, value in flat.items()})
    returns = [kind.returns for kind in instance.atomics if kind is not None]
    keys = [*instance.block, *instance.element_bytes.values(), *instance.vectors, *returns]
    keys += runs_once(instance)
    if instance.pipeline is not None:  # with parts, the slowest block index means another thing
        keys.append(np.minimum(instance.pipeline.parts, 2))
    differing = [key for key in map(alike, map(np.asarray, keys)) if key.size > 1]
    if not differing:
        yield chunk, instance
        return
    _, inverse = np.unique(np.stack(differing), axis=1, return_inverse=True)
    for group in range(int(inverse.max()) + 1):
        rows = chunk.start + np.flatnonzero(np.ravel(inverse) == group)
        yield rows, bind(kernel, {name: value[rows] for name, value in flat.items()})


def _totals(details: Details) -> dict[str, Array]:
    names = details.traffic.numbers()
    return {name: np.asarray(getattr(details.traffic, name)) for name in names}


def _named(prefix: str, values: Mapping[str, Array]) -> dict[str, Array]:
    return {prefix + name: value for name, value in values.items()}


def _kernel(kernel: str | Path | Kernel, mapping: str | None) -> Kernel:
    return kernel if isinstance(kernel, Kernel) else find_kernel(kernel, mapping)


def _device(device: str | Path | Device) -> Device:
    return device if isinstance(device, Device) else load_device(device)


def _check_protocol(timing: str, cache: str, traffic: str = "closed-form") -> None:
    for name, value, allowed in (
        ("timing", timing, ("profiler", "events")),
        ("cache", cache, ("cold", "warm")),
        ("traffic", traffic, ("closed-form", "simulated")),
    ):
        if value not in allowed:
            raise PerfmodelError(f"{name} {value!r} is unknown; choose {' or '.join(allowed)}")


def _scalars(params: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in params.items():
        if np.ndim(value):
            raise PerfmodelError(f"parameter {name!r} is an array; predict_many takes arrays")
    return dict(params)
