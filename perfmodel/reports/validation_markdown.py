"""A validation as a Markdown report: every table, and what they mean."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from perfmodel.prediction.interval import origin
from perfmodel.reports.markdown import document, table
from perfmodel.reports.validation_text import (
    baseline_table,
    score_table,
    target_table,
    transfer_table,
    worst_table,
)
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
    source = source or f"--device {validation.device.name}"
    command = (
        f"perfmodel validate {source}{' --transfer' * bool(transfers)} -o FILE.md"
        f"{' --plot FILE.svg' * (plot is not None)}"
    )
    return document(_blocks(validation, transfers, plot, command))


def _blocks(
    validation: Validation, transfers: Sequence[Transfer], plot: str | None, command: str
) -> Iterator[str]:
    held, fit = validation.used("validation"), validation.used("fit")
    yield from _heading(validation, plot, command)
    yield "## Never fitted on"
    if held:
        yield table(score_table("regime", by_regime(held)))
        yield table(score_table("protocol", by_protocol(held)))
    else:
        yield "None of the measured launches was kept from fitting."
    yield from _baselines(validation)
    targets = target_table([j.case for j in validation.judged])
    if targets.rows:
        yield "## Targets"
        yield "Set for an H100; every protocol by itself."
        yield table(targets)
    yield "## Worst ten"
    yield "A factor too short counts as much as the same factor too long. Suspected is not proven."
    yield table(worst_table(held or validation.judged))
    if held:
        yield "## Sweeps never fitted on"
        yield table(score_table("sweep", by_sweep(held)))
    if fit:
        yield "## Sweeps that something was fitted on"
        yield "Not every one of these was: a few are in no fit at all, and show it."
        yield table(score_table("regime", by_regime(fit)))
        yield table(score_table("sweep", by_sweep(fit)))
        yield "Worst ten of these:"
        yield table(worst_table(fit))
    if transfers:
        yield from _transfer(transfers)


def _heading(validation: Validation, plot: str | None, command: str) -> Iterator[str]:
    device, machine = validation.device, validation.machine
    held, fit = validation.used("validation"), validation.used("fit")
    yield f"# Validation on {device.name}"
    yield f"Written by `{command}`; do not edit."
    facts = [str(machine.get("gpu", device.title))]
    facts += [f"driver {machine['driver']}"] if "driver" in machine else []
    facts += [f"CUDA {machine['cuda']}"] if "cuda" in machine else []
    where = " and ".join(f"`{name}`" for name in validation.folders)
    whose = "published by others" if validation.published else "measured by us"
    yield (
        f"{', '.join(facts)}; {whose}, in {where}. {len(validation.judged)} launches: {len(held)} "
        f"never fitted on, {len(fit)} that may have been fitted on. Left out are "
        f"{validation.left_out} rows with a flag, {validation.undescribed} that no kernel "
        "describes, those whose L2 was dirty, and what is no launch time (latency chains, L1 "
        "patterns, the coalescer's counters), which tests hold against the models instead."
    )
    yield (
        "An error is predicted over measured time, less one; bias is its median, the other columns "
        "are of its magnitude. The regime is that of the prediction. 90% of the measured times "
        f"should lie in the interval, whose widths are those of {origin(device)} devices. Profiler "
        "times are of the kernel alone; events see the launch as well, whose floor is that of the "
        "host and session, where the session says it."
    )
    if plot is not None:
        yield f"![Predicted over measured time]({Path(plot).name})"


def _baselines(validation: Validation) -> Iterator[str]:
    yield (
        "Both rooflines are given every array once, or the DRAM bytes that perfmodel predicts if "
        "those are more. The data sheet's takes the larger of FLOP over peak and bytes over peak "
        "DRAM bandwidth; the other has constants "
        "fitted on the fit cases, for each way of timing:"
    )
    yield table(baseline_table(validation))


def _transfer(transfers: Sequence[Transfer]) -> Iterator[str]:
    teacher = transfers[0].teacher
    yield "## Transfer to other GPUs"
    yield (
        f"What the {teacher} taught, and the data sheets, against measurements of other GPUs: "
        "ours, in the topics that both have and in rows that nothing is fitted on, by regime; and "
        "what others published, by kernel. Latencies on an SM and in L2 and L2's bandwidth per "
        "SM carry over in clocks, DRAM's latency beyond L2 and the floors in seconds, DRAM's "
        "efficiencies as shares. The form of the models was found on H200s, so that only figures "
        "are unseen. The last column is the catalogue's device, with that GPU's own "
        "microbenchmarks in it."
    )
    yield table(transfer_table(transfers))
