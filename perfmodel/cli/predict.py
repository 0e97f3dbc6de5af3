"""`perfmodel predict`: how long a launch takes, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfmodel.cli.defines import combinations, parse_value_lists
from perfmodel.cli.l2_options import (
    CompressionOption,
    ConcurrentOption,
    FetchGranularityOption,
    HitPropOption,
    HitRatioOption,
    MigOption,
    MissPropOption,
    MpsOption,
    SetAsideOption,
    WindowBufferOption,
    WindowOption,
    concurrent_windows,
    l2_control,
)
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

if TYPE_CHECKING:
    from rich.console import RenderableType

    from perfmodel.prediction import Prediction

EXAMPLES = (
    "perfmodel predict gemm --mapping coalesced -D N=4096",
    "perfmodel predict copy --device a100-sxm-80 -D bytes=1GiB --timing events",
    "perfmodel predict strided-copy -D stride=1:32:*2",
    "perfmodel predict my-kernel.toml --device my-gpu.toml --json",
)


def predict(
    kernel: KernelArgument,
    define: DefinesOption = None,
    mapping: MappingOption = None,
    device: DeviceOption = DEFAULT_DEVICE,
    traffic: TrafficOption = "closed-form",
    timing: TimingOption = "profiler",
    cache: CacheOption = "cold",
    set_aside: SetAsideOption = None,
    window: WindowOption = None,
    window_buffer: WindowBufferOption = None,
    hit_ratio: HitRatioOption = 1.0,
    hit_prop: HitPropOption = "persisting",
    miss_prop: MissPropOption = "streaming",
    fetch_granularity: FetchGranularityOption = 64,
    compression: CompressionOption = 1.0,
    mig: MigOption = False,
    mps: MpsOption = False,
    concurrent: ConcurrentOption = None,
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
    control = l2_control(
        found,
        set_aside=set_aside,
        window=window,
        window_buffer=window_buffer,
        hit_ratio=hit_ratio,
        hit_prop=hit_prop,
        miss_prop=miss_prop,
        fetch_granularity=fetch_granularity,
        compression=compression,
    )
    platform: dict[str, Any] = {
        "traffic": traffic,
        "mig": mig,
        "mps": mps,
        "concurrent": concurrent_windows(concurrent),
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
