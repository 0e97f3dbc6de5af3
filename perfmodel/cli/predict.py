"""`perfmodel predict`: how long a launch takes, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
from perfmodel.cli.program_options import NO_PROGRAM, ProgramOptions, with_program_options
from perfmodel.cli.progress import progress_bar
from perfmodel.cli.tile_options import NO_TILES, TileOptions, with_tile_options
from perfmodel.errors import PerfmodelError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from perfmodel.prediction import Prediction

EXAMPLES = (
    "perfmodel predict gemm --mapping coalesced -D N=4096",
    "perfmodel predict copy --device a100-sxm-80 -D bytes=1GiB --timing events",
    "perfmodel predict gemm --mapping vectorized --tile 64,64,8 -D N=2048",
    "perfmodel predict strided-copy -D stride=1:32:*2",
    "perfmodel predict copy -D bytes=256MiB --traffic simulated --sets 16",
    "perfmodel predict my-kernel.toml --device my-gpu.toml --json",
    "perfmodel predict saxpy.cu --grid 65536 --block 256 --arg n=1.6e7 --arg a=2",
    "perfmodel predict kernels.ptx --launch launches.toml --show",
)


@with_tile_options
@with_l2_options
@with_program_options
def predict(
    kernel: KernelArgument,
    define: DefinesOption = None,
    mapping: MappingOption = None,
    tiles: TileOptions = NO_TILES,
    device: DeviceOption = DEFAULT_DEVICE,
    traffic: TrafficOption = "closed-form",
    timing: TimingOption = "profiler",
    cache: CacheOption = "cold",
    program: ProgramOptions = NO_PROGRAM,
    l2: L2Options = AS_THE_DRIVER,
    sets: Annotated[
        int,
        typer.Option(
            "--sets",
            metavar="N",
            help="With --traffic simulated: one of N sets of L2, which stands for the others.",
        ),
    ] = 1,
    source: Annotated[
        bool,
        typer.Option(
            "--show", help="Print each source line with its accesses: sectors, hits, share of time."
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Predict how long a launch takes, and what binds it.

    A kernel is built in, described in a TOML file, or given as CUDA source (.cu) or PTX (.ptx) with
    its launch; a source is compiled, no GPU is needed.

    Several values for a parameter give one prediction for each combination: a table, or an array
    of JSON objects.
    """
    if not 1 <= sets <= 64 or (sets > 1 and traffic != "simulated"):
        allowed = "1 to 64" if traffic == "simulated" else "left out without --traffic simulated"
        raise PerfmodelError(f"--sets must be {allowed}, not {sets}")
    from perfmodel import predict as predict_one
    from perfmodel.hardware import load_device

    gpu = load_device(device)
    platform: dict[str, Any] = {"traffic": traffic, "timing": timing, "cache": cache}
    platform |= l2.platform()
    platform["sets"] = sets
    predictions: list[Prediction] = []
    for found in program.kernels(kernel, mapping, gpu):
        lists = parse_value_lists(tiles.added_to(define, kernel, mapping), found.word_parameters)
        chosen: list[dict[str, Any]] = combinations(lists)
        control = l2.control(found)
        with progress_bar("predicting") as tell:
            for done, values in enumerate(chosen):
                tell(done, len(chosen))
                predictions.append(predict_one(found, device=gpu, l2=control, **platform, **values))
    if json:
        objects = [_record(prediction, source) for prediction in predictions]
        print_json(objects if len(objects) > 1 else objects[0])
    else:
        show(_report(predictions))
    if source and not json:
        from perfmodel.reports.source_text import source_report

        for prediction in predictions:
            show(source_report(prediction, _sources(prediction, kernel)))


def _record(prediction: Prediction, source: bool) -> dict[str, Any]:
    record = prediction.to_json()
    if source:
        from perfmodel.reports.source_text import source_record

        record["accesses"] = source_record(prediction)
    return record


def _sources(prediction: Prediction, program: str) -> dict[str, list[str]]:
    """Return the lines of the files that accesses are in: the program itself, or beside it."""
    found: dict[str, list[str]] = {}
    for r in prediction.details.requests:
        name = r.access.source.rpartition(":")[0]
        path = Path(program) if name == "PTX" else Path(program).parent / name
        if name and name not in found and path.is_file():
            found[name] = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return found


def _report(predictions: list[Prediction]) -> RenderableType:
    from perfmodel.reports.prediction_text import prediction_report, predictions_report

    return (
        prediction_report(predictions[0])
        if len(predictions) == 1
        else predictions_report(predictions)
    )
