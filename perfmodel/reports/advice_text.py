"""Advice as a report: what the launch does now, what would gain, and the lines to write."""

from collections.abc import Iterator
from typing import Final

from perfmodel.prediction.advise import Advice, Option, dram_bytes
from perfmodel.prediction.change import NEVER
from perfmodel.reports import units
from perfmodel.reports.binding_text import binding
from perfmodel.reports.lines import Piece, plain, stack
from perfmodel.reports.prediction_text import answer, title
from perfmodel.reports.tables import Table, beside

_ALTERNATIVES: Final = {
    "padding": "swizzle",
    "swizzle": "padding",
    "coalescing": "remap",
    "coarsening": "vector width",
}
"""Two ways to the same thing."""
_CODE: Final = 7
"""Spaces before a line of code."""


def advice_report(advice: Advice) -> Piece:
    """Return the report of an `Advice`."""
    base = advice.base
    parts: list[Piece | str] = [
        plain(title(base), "bold"),
        plain(f"now {answer(base)}, {units.data(dram_bytes(base))} to and from DRAM"),
        plain(binding(base)),
        "",
    ]
    if advice.options:
        numbers: dict[str, int] = {o.kind: i for i, o in enumerate(advice.options, 1)}
        for option in advice.options:
            other = numbers.get(_ALTERNATIVES.get(option.kind, ""), len(numbers) + 1)
            parts += _option(numbers[option.kind], option, other)
    else:
        parts += [plain(units.sentence(advice.reason), "bold"), ""]
    if advice.rejected:
        tried = rejected(advice)
        parts.append(plain(f"{tried.title} (the best of each kind):"))
        parts.append(tried)
    parts.append(plain(untried_text(advice)))
    parts += [plain(f"warning  {warning}") for warning in base.warnings]
    return stack(*parts)


def gain(option: Option) -> str:
    """Return what an option gains, with its interval."""
    low, high = option.gain_interval
    return f"{option.gain:.2f} times as fast (90%: {low:.2f} to {high:.2f})"


def rejected(advice: Advice) -> Table:
    """Return the changes that were tried and do not pay."""
    rows = tuple(
        (o.kind, f"{o.gain:.3f}", units.seconds(o.prediction.time_s), o.what)
        for o in advice.rejected
    )
    return Table("Tried, and not worth it", ("kind", "gain", "time", "change"), rows, "", "lrrl")


def untried_text(advice: Advice) -> str:
    """Return what was not tried, as one sentence or two."""
    absent = ", ".join(each.kind for each in advice.not_tried)
    here = f"Not tried, for nothing here allows it (--json says why): {absent}. " if absent else ""
    return f"{here}Never tried: {NEVER}."


def _option(number: int, option: Option, other: int) -> Iterator[Piece | str]:
    instead = f", in place of {other}" if other < number else ""
    head = f"{number}. "
    line = f"{option.category}: {gain(option)}{instead}: {option.what}"
    yield beside(head, plain(line, "bold"))
    then = (
        f"{units.seconds(option.prediction.time_s)}, "
        f"{units.data(dram_bytes(option.prediction))} to and from DRAM; "
        f"then {option.prediction.bottleneck} binds"
    )
    yield beside(" " * len(head), plain(then))
    for line in option.cuda:
        indent = len(line) - len(line.lstrip())
        yield beside(" " * (_CODE + indent), plain(line.lstrip()))
    yield ""
