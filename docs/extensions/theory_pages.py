"""Theory pages: a part of each is written from the formulas and mechanisms of its stage.

`docs/theory/STAGE.md` is an introduction that includes `generated/include/theory-STAGE.md`, which
this writes while the site is built.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final

import evidence_figures
from markupsafe import escape
from sphinx.application import Sphinx

from perfmodel.expressions import parse
from perfmodel.hardware.coefficients import (
    Coefficient,
    CoefficientTable,
    CoefficientValue,
    architectures,
    coefficients_of,
    declared,
)
from perfmodel.models.formula import Formula
from perfmodel.models.mechanism import Mechanism, mechanisms
from perfmodel.reports.formula_text import plain_name
from perfmodel.reports.page.mathml import Written, element, mathml

STAGES: Final = {
    "launch": ("launch",),
    "requests": ("requests",),
    "l1": ("l1",),
    "l2": ("l2", "reuse"),
    "dram": ("dram",),
    "atomics": ("atomics",),
    "latency": ("latency",),
    "time": ("time",),
    "roofline": ("roofline",),
}
"""Pages, and the packages or modules of `perfmodel.models` that each is made from."""

_MODULE: Final = re.compile(r"`perfmodel\.models\.([a-z0-9_.]+)`")


def modules(page: str) -> dict[str, ModuleType]:
    """Return the modules of a page that have formulas or a mechanism, by their names."""
    of_mechanisms = {each.function.__module__ for each in mechanisms().values()}
    found = {}
    for name, module in sorted(sys.modules.items()):
        short = name.removeprefix("perfmodel.models.")
        if short == name or short.split(".")[0] not in STAGES[page]:
            continue
        if name in of_mechanisms or any(formulas(module)):
            found[short] = module
    return found


def formulas(module: ModuleType) -> Iterator[Formula]:
    """Yield the formulas that a module makes, in the order of their definition."""
    for value in vars(module).values():
        if isinstance(value, Formula) and value.module == module.__name__:
            yield value


def page_text(page: str) -> str:
    """Return the part of a page that is made from the models, as Markdown."""
    by_module = {each.function.__module__: each for each in mechanisms().values()}
    parts = [_evidence(page)]
    for name, module in modules(page).items():
        parts += _section(name, module, by_module.get(module.__name__))
    return "\n\n".join(part for part in parts if part) + "\n"


def _evidence(page: str) -> str:
    drawn = evidence_figures.drawn(page)
    if drawn is None:
        return ""
    name, text = drawn
    return f"## Predicted against measured\n\n![{text}](/{name})\n\n{text}"


def _section(name: str, module: ModuleType, mechanism: Mechanism | None) -> Iterator[str]:
    yield f"({_anchor(name)})=\n## {_title(name)}"
    yield _linked((module.__doc__ or "").strip())
    for formula in formulas(module):
        yield _formula(formula)
    if mechanism is not None:
        yield from _mechanism(mechanism)
    found = [each for each in declared().values() if _of(each, name)]
    if found:
        yield _coefficients(found)


def _of(coefficient: Coefficient | CoefficientTable, module: str) -> bool:
    return coefficient.name.rpartition(".")[0] == module


def _title(name: str) -> str:
    words = name.rpartition(".")[2].split("_")
    first = words[0].upper() if words[0] in ("l1", "l2", "dram") else words[0].capitalize()
    return " ".join([first, *words[1:]])


def _anchor(name: str) -> str:
    return "model-" + name.replace(".", "-").replace("_", "-")


def _linked(text: str) -> str:
    """Return a docstring with links where it names modules that pages have."""

    def link(found: re.Match[str]) -> str:
        name = found[1]
        known = any(name in modules(page) for page in STAGES)
        return f"[{_title(name)}](#{_anchor(name)})" if known else f"`{name}`"

    return _MODULE.sub(link, text)


def _formula(formula: Formula) -> str:
    expression = mathml(
        parse(formula.text, where=formula.name),
        lambda name: Written(element("mi", plain_name(name))),
    )
    rows = "".join(
        f"<tr><td><math><mi>{escape(plain_name(name))}</mi></math></td>"
        f"<td>{escape(formula.symbols[name])}</td></tr>"
        for name in formula.symbols
    )
    return (
        '<div class="formula">\n'
        f"<p><strong>{escape(formula.name)}</strong> [{escape(formula.unit)}]</p>\n"
        f'<math display="block">{expression}</math>\n'
        f"<table>{rows}</table>\n"
        f"<p>Holds: {escape(formula.holds)}. Source: {escape(formula.source)}.</p>\n"
        "</div>"
    )


def _mechanism(mechanism: Mechanism) -> Iterator[str]:
    measured = ", ".join(f"`measurements/{each}`" for each in mechanism.evidence)
    yield (
        f"Mechanism `{mechanism.name}`; what it is worth says "
        f"`perfmodel validate --without {mechanism.name}`. "
        + (f"Measurements: {measured}." if measured else "No row needs it by itself.")
    )


def _coefficients(found: list[Coefficient | CoefficientTable]) -> str:
    newest = architectures()[-1]
    origins = coefficients_of(newest).origins
    prefix = found[0].name.rpartition(".")[0]
    lines = [
        f"Coefficients `{prefix}.NAME` of compute capability {newest}:\n",
        "| name | value | kind | what it is, and where it is from |",
        "|---|---|---|---|",
    ]
    for each in found:
        lines.append(_row(each.name, origins[each.name]))
    return "\n".join(lines)


def _row(name: str, origin: CoefficientValue) -> str:
    several = isinstance(origin.value, tuple)
    value = ", ".join(f"{v:g}" for v in origin.value) if several else f"{origin.value:g}"  # type: ignore[union-attr,str-format]
    error = "" if origin.standard_error is None else f" ± {origin.standard_error:.2g}"
    unit = "" if origin.unit == "1" else f" {origin.unit}"
    text = "; ".join(part for part in (origin.text, origin.source, origin.note) if part)
    short = name.rpartition(".")[2]
    cells = (f"`{short}`", f"{value}{error}{unit}", origin.kind, " ".join(text.split()))
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def write(app: Sphinx) -> None:
    """Write the parts that pages include."""
    folder = Path(app.srcdir) / "generated" / "include"
    folder.mkdir(parents=True, exist_ok=True)
    evidence_figures.draw_all(Path(app.srcdir))
    for page in STAGES:
        (folder / f"theory-{page}.md").write_text(page_text(page), "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write before pages are read."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
