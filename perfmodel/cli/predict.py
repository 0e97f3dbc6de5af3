"""`perfmodel predict`: how long a launch takes, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfmodel.cli.defines import combinations, parse_value_lists
from perfmodel.cli.l2_options import AS_THE_DRIVER, L2Options, with_l2_options
from perfmodel.cli.options import (
    DEFAULT_DEVICE,
    CacheOption,
    DefinesOption,
    DeviceOption,
    JsonOption,
    KernelArgument,
    MappingOption,
    TimingOption,
    TrafficOption,
)
from perfmodel.cli.output import print_json, show
from perfmodel.cli.tile_options import with_tile_options

if TYPE_CHECKING:
    from rich.console import RenderableType

    from perfmodel.prediction import Prediction

EXAMPLES = (
    "perfmodel predict gemm --mapping coalesced -D N=4096",
    "perfmodel predict copy --device a100-sxm-80 -D bytes=1GiB --timing events",
    "perfmodel predict gemm --mapping vectorized --tile 64,64,8 -D N=2048",
    "perfmodel predict strided-copy -D stride=1:32:*2",
    "perfmodel predict my-kernel.toml --device my-gpu.toml --json",
)


@with_tile_options
@with_l2_options()
def predict(
    kernel: KernelArgument,
    define: DefinesOption = None,
    mapping: MappingOption = None,
    device: DeviceOption = DEFAULT_DEVICE,
    traffic: TrafficOption = "closed-form",
    timing: TimingOption = "profiler",
    cache: CacheOption = "cold",
    l2: L2Options = AS_THE_DRIVER,
    json: JsonOption = False,
) -> None:
    """Predict how long a launch takes, and what binds it.

    Several values for a parameter give one prediction for each combination: a table, or an array
    of JSON objects.
    """
    from perfmodel import predict as predict_one
    from perfmodel.hardware import load_device
    from perfmodel.kernels import find_kernel

    found, gpu = find_kernel(kernel, mapping), load_device(device)
    lists = parse_value_lists(define or (), found.word_parameters)
    chosen: list[dict[str, Any]] = [*combinations(lists)]
    control = l2.control(found)
    platform: dict[str, Any] = {
        "traffic": traffic,
        **l2.platform(),
    }
    predictions = (
        predict_one(found, device=gpu, timing=timing, cache=cache, l2=control, **platform, **values)
        for values in chosen
    )
    if json:
        objects = [prediction.to_json() for prediction in predictions]
        print_json(objects if len(chosen) > 1 else objects[0])
    else:
        show(_report(list(predictions)))


def _report(predictions: list[Prediction]) -> RenderableType:
    from perfmodel.reports.prediction_text import prediction_report, predictions_report

    return (
        prediction_report(predictions[0])
        if len(predictions) == 1
        else predictions_report(predictions)
    )
