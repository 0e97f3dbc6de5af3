"""Devices as reports: the catalogue, the memory hierarchy of one, and where each figure is from."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from perfmodel.hardware import Device, Figure, Level, hierarchy
from perfmodel.hardware.coefficients import CoefficientValue
from perfmodel.hardware.device import quantities
from perfmodel.reports import units
from perfmodel.reports.lines import Piece, plain, stack
from perfmodel.reports.tables import labelled, table

LEVEL_HEADERS: Final = ("level", "size", "bandwidth", "cycles", "ns", "scope", "managed by")
LEVEL_NOTE: Final = (
    "Bandwidth: the whole GPU's. Latency: of one dependent load. Where a figure has several "
    "values, its sources disagree, and the first is used."
)


class Sources:
    """Numbered sources, in the order in which figures are shown; equal ones share a number."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str, str, float | None], int] = {}

    def mark(self, *figures: Figure | CoefficientValue) -> str:
        """Return the mark of figures' sources: ``"[3]"``, or ``"[3,7]"``."""
        keys = [(f.kind, f.source, f.note, f.standard_error) for f in figures]
        marks = [self._numbers.setdefault(key, len(self._numbers) + 1) for key in keys]
        return f"[{','.join(map(str, marks))}]"

    def lines(self) -> Iterator[tuple[str, str]]:
        """Return each source's mark and text."""
        for (kind, source, note, error), place in self._numbers.items():
            doubt = "" if error is None else f"; standard error {error:g}"
            yield f"[{place}]", f"{kind}: {source}{f'; {note}' if note else ''}{doubt}"


def devices_report(devices: Iterable[Device]) -> Piece:
    """Return a table of devices, a line each."""
    rows = [
        (
            device.name,
            device.title,
            device.compute_capability,
            str(device.sm_count),
            f"{device.sm_clock / 1e6:.0f}",
            units.number(device.l2_size / 2**20),
            units.number(device.dram_size / 2**30),
            units.number(device.dram_bandwidth / 1e9),
            units.number(device.peak_fp32 / 1e12),
        )
        for device in devices
    ]
    memory = ("L2\nMiB", "DRAM\nGiB", "DRAM\nGB/s")
    headers = ("name", "GPU", "compute\ncapability", "SMs", "MHz", *memory, "FP32\nTFLOP/s")
    return table(headers, rows, "llrrrrrrr")


def device_report(device: Device) -> Piece:
    """Return the memory hierarchy and all other figures of a device, each with its sources."""
    sources = Sources()
    memory = level_rows(device, sources)
    figures = [
        row for name, figure in device.figures.items() for row in figure_rows(name, figure, sources)
    ]
    lacking = [name for name in quantities() if name not in device.figures]
    return stack(
        plain(
            f"{device.name}: {device.title}, compute capability {device.compute_capability}", "bold"
        ),
        "",
        table(LEVEL_HEADERS, memory, "lrrrr", gap=1),
        plain(LEVEL_NOTE),
        "",
        table(("figure", "value", "kind", "source"), figures, "lr"),
        *([plain(f"Unknown: {', '.join(lacking)}.")] if lacking else []),
        *_inherited(device),
        plain(
            f"{len(device.coefficients.origins)} coefficients of the mechanisms, {_whose(device)}: "
            "listed by --coefficients."
        ),
        "",
        plain("Sources", "bold"),
        labelled(sources.lines(), width=4),
    )


def _inherited(device: Device) -> list[Piece]:
    found = device.inherited
    if found is None:
        return []
    whose = f"Inherited from {found.device}, not measured on this GPU"
    return [plain(f"{whose}: {', '.join(found.figures)}.")]


def coefficients_report(device: Device) -> Piece:
    """Return the coefficients of the mechanisms on a device, each with its sources."""
    found, sources = device.coefficients, Sources()
    rows = [
        (name, _coefficient(value), value.kind, sources.mark(value))
        for name, value in sorted(found.origins.items())
    ]
    return stack(
        plain(
            f"{device.name}: {len(rows)} coefficients of the mechanisms, {_whose(device)}", "bold"
        ),
        "",
        table(("stage.mechanism.coefficient", "value", "kind", "source"), rows),
        "",
        plain("Sources", "bold"),
        labelled(sources.lines(), width=5),
    )


def _whose(device: Device) -> str:
    capability = device.coefficients.compute_capability
    if capability == device.compute_capability:
        return f"fitted on GPUs of compute capability {capability}"
    return f"inherited from compute capability {capability}: not measured on this GPU"


def _coefficient(value: CoefficientValue) -> str:
    unit = "" if value.unit == "1" else f" {value.unit}"
    if isinstance(value.value, tuple):
        return f"{value.value[0]:g} to {value.value[-1]:g}{unit}, {len(value.value)} values"
    return f"{value.value:.10g}{unit}"


def level_rows(device: Device, sources: Sources) -> list[tuple[str, ...]]:
    """Return the memory hierarchy, a row a level; values of several sources below one another."""
    return [_level(level, device, sources) for level in hierarchy(device)]


def _level(level: Level, device: Device, sources: Sources) -> tuple[str, ...]:
    latency = level.latency_figure
    per = "/SM" if level.size_per == "SM" else ""

    def si(figure: Figure) -> float:
        return figure.si_value(device.sm_clock, device.sm_count)

    def cycles(figure: Figure) -> str:
        return units.number(si(figure) * device.sm_clock)

    return (
        level.name.removesuffix(" memory"),
        _claims(level.size_figure, lambda f: units.capacity(si(f)) + per, sources),
        _claims(level.bandwidth_figure, lambda f: units.bandwidth(si(f)), sources),
        _claims(latency, cycles, sources),
        "\n".join(units.number(si(group[0]) / 1e-9) for group in _groups(latency, cycles)) or "-",
        level.scope,
        level.managed_by,
    )


def _claims(figure: Figure | None, text: Callable[[Figure], str], sources: Sources) -> str:
    """Return a line for each different value that sources give, with their marks."""
    lines = [text(group[0]) + sources.mark(*group) for group in _groups(figure, text)]
    return "\n".join(lines) or "-"


def _groups(figure: Figure | None, text: Callable[[Figure], str]) -> list[list[Figure]]:
    """Return a figure and its other sources, those together that read the same."""
    groups: dict[str, list[Figure]] = {}
    for one in (figure, *figure.also) if figure else ():
        groups.setdefault(text(one), []).append(one)
    return list(groups.values())


def figure_rows(name: str, figure: Figure, sources: Sources) -> Iterator[Sequence[str]]:
    """Yield name, value, kind and mark of a figure, and of what its other sources say."""
    for position, one in enumerate((figure, *figure.also)):
        yield "" if position else name, figure_value(one), one.kind, sources.mark(one)


def figure_value(figure: Figure) -> str:
    """Return a figure's value and unit as its source gives them; of a list, its range."""
    unit = "" if figure.unit == "1" else f" {figure.unit}"
    value = f"{figure.value:.10g}{unit}"
    if figure.values:
        return f"{min(figure.values):g} to {value}, {len(figure.values)} sizes"
    return value
