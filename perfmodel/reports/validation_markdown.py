"""A validation as a Markdown report: every table, and what they mean."""

from collections.abc import Sequence
from pathlib import Path

from perfmodel.prediction.interval import origin
from perfmodel.reports import validation_text
from perfmodel.reports.markdown import rendered
from perfmodel.reports.validation_text import target_table
from perfmodel.validation.scores import by_protocol, by_regime, by_sweep
from perfmodel.validation.validate import Transfer, Validation


def validation_markdown(
    validation: Validation,
    transfers: Sequence[Transfer] = (),
    plot: str | None = None,
    source: str | None = None,
) -> str:
    """Return the report of a validation.

    `plot` is the file of the figure, which the report shows if it lies beside it, and `source` the
    options that say what was validated, as they were given; the device's name without.
    """
    device, machine = validation.device, validation.machine
    source = source or f"--device {device.name}"
    command = (
        f"perfmodel validate {source}{' --transfer' * bool(transfers)} -o FILE.md"
        f"{' --plot FILE.svg' * (plot is not None)}"
    )
    facts = [str(machine.get("gpu", device.title))]
    facts += [f"driver {machine['driver']}"] if "driver" in machine else []
    facts += [f"CUDA {machine['cuda']}"] if "cuda" in machine else []
    tables = ("score_table", "baseline_table", "worst_table", "transfer_table")
    found = rendered(
        "validation.md",
        v=validation,
        transfers=transfers,
        command=command,
        facts=facts,
        held=validation.used("validation"),
        fit=validation.used("fit"),
        origin=origin(device),
        plot=None if plot is None else Path(plot).name,
        targets=target_table([j.case for j in validation.judged]),
        by_regime=by_regime,
        by_protocol=by_protocol,
        by_sweep=by_sweep,
        **{name: getattr(validation_text, name) for name in tables},
    )
    return found.rstrip("\n") + "\n"
