"""`perfmodel predict`: how long a launch takes, and why."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfmodel.cli.grouped_options import option
from perfmodel.cli.kernel_list import (
    KERNELS,
    Configuration,
    NamedKernel,
    configurations,
    find_kernels,
    value_lists,
)
from perfmodel.cli.l2_options import L2Options
from perfmodel.cli.options import (
    CACHE,
    DEFINES,
    DEVICES,
    JSON,
    MAPPINGS,
    TIMING,
    TRAFFIC,
    Cache,
    TileOptions,
    Timing,
    Traffic,
    load_devices,
    parts,
)
from perfmodel.cli.output import print_json, show
from perfmodel.cli.program_options import ProgramOptions
from perfmodel.cli.progress import tracked
from perfmodel.errors import PerfmodelError

if TYPE_CHECKING:
    from perfmodel.hardware import Device
    from perfmodel.prediction import Prediction


def predict(
    *,
    kernels: list[str] = KERNELS,
    define: list[str] | None = DEFINES,
    mapping: str | None = MAPPINGS,
    tiles: TileOptions,
    device: str = DEVICES,
    traffic: Traffic = TRAFFIC,
    timing: Timing = TIMING,
    cache: Cache = CACHE,
    program: ProgramOptions,
    l2: L2Options,
    sets: int = option(
        "With --traffic simulated: one of N sets of L2, which stands for the others.",
        metavar="N",
        default=1,
    ),
    source: bool = option(
        "Print each source line with its accesses: sectors, hits, share of time.",
        "--show",
        default=False,
    ),
    littles_law: bool = option(
        "Print the bytes in flight that L2 and DRAM need, and those that the launch has.",
        default=False,
    ),
    json: bool = JSON,
) -> None:
    """Predict how long a launch takes, and what binds it.

    A kernel is built in, described in a TOML file, or given as CUDA source (.cu) or PTX (.ptx) with
    its launch; a source is compiled, no GPU is needed.

    Several kernels, mappings, GPUs or values of a parameter give one prediction for each
    combination: a table, or an array of JSON objects. Then a parameter given with -D goes to every
    kernel that has it. Of a source, -D gives arguments and the names that rules of --grid, --block,
    --shared and --arg use.
    """
    if not 1 <= sets <= 64 or (sets > 1 and traffic != "simulated"):
        allowed = "1 to 64" if traffic == "simulated" else "left out without --traffic simulated"
        raise PerfmodelError(f"--sets must be {allowed}, not {sets}")
    from perfmodel import predict as predict_one

    platform: dict[str, Any] = {"traffic": traffic, "timing": timing, "cache": cache}
    platform |= {**l2.platform(), "sets": sets}
    chosen = [
        (each, gpu)
        for gpu in load_devices(device)
        for each in _configurations(kernels, mapping, tiles, define, program, gpu)
    ]
    predictions = []
    for each, gpu in tracked(chosen):
        control = l2.control(each.kernel, gpu, each.values)
        predictions.append(
            predict_one(each.kernel, device=gpu, l2=control, **platform, **each.values)
        )
    if json:
        objects = [_record(prediction, source, littles_law) for prediction in predictions]
        print_json(objects if len(objects) > 1 else objects[0])
    elif littles_law:
        from perfmodel.reports.littles_law_text import littles_law_reports

        show(littles_law_reports(predictions))
    else:
        from perfmodel.reports.prediction_text import prediction_report, predictions_report

        several = len(predictions) > 1
        launches = [each.launch for each, _ in chosen]
        show(
            predictions_report(predictions, launches)
            if several
            else prediction_report(predictions[0])
        )
    if source and not json:
        from perfmodel.reports.source_text import source_report

        for (each, _), prediction in zip(chosen, predictions, strict=True):
            show(source_report(prediction, _sources(prediction, each.text)))


def _configurations(
    texts: Sequence[str],
    mapping: str | None,
    tiles: TileOptions,
    define: list[str] | None,
    program: ProgramOptions,
    gpu: "Device",
) -> list[Configuration]:
    """Return the kernels in all mappings, at all values of their parameters, on one GPU."""
    found: list[NamedKernel] = []
    for name in [None] if mapping is None else parts(mapping):
        found += find_kernels(texts, name, program, gpu)
    return configurations(found, value_lists(tiles.added_to(define, found), found))


def _record(prediction: "Prediction", source: bool, littles_law: bool) -> dict[str, Any]:
    record = prediction.to_json()
    if littles_law:
        from perfmodel.prediction.littles_law import littles_law as law_of

        record["littles_law"] = law_of(prediction).to_json()
    if source:
        from perfmodel.reports.source_text import source_record

        record["accesses"] = source_record(prediction)
    return record


def _sources(prediction: "Prediction", program: str) -> dict[str, list[str]]:
    """Return the lines of the files that accesses are in, by the names that accesses give."""
    from perfmodel.text_files import source_lines

    details = prediction.details
    accesses = [r.access for r in (*details.requests, *details.on_chip)]
    names = {a.source.rpartition(":")[0] for a in accesses} - {""}
    return {
        # Names are relative to the folder of the program, or absolute.
        name: source_lines(program if name == "PTX" else Path(program).parent / name)
        for name in names
    }
