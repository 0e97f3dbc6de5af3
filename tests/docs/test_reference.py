"""The reference pages have a row for every key that the readers accept, and no other.

The keys come from the readers and records themselves; the tables are read from the pages.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Final, get_args

import pytest
from reference_tables import PAGES, keys, rows, section
from typer.testing import CliRunner

import perfmodel
from perfmodel.cli.app import COMMANDS, app
from perfmodel.cuda.launch.content import FILLS, TYPES
from perfmodel.cuda.launch.launch_file import BUFFER_KEYS, LAUNCH_KEYS
from perfmodel.drills.sources import PREDICT_KEYS
from perfmodel.drills.tables import (
    ANSWER_KEYS,
    DRILL_KEYS,
    FILE_KEYS,
    MISTAKE_KEYS,
    STEP_KEYS,
)
from perfmodel.expressions.nodes import ARITY, FUNCTIONS
from perfmodel.hardware.coefficients import CoefficientValue
from perfmodel.hardware.device import quantities
from perfmodel.hardware.figure import UNITS, Figure
from perfmodel.hardware.files import HEADERS
from perfmodel.kernels.access import DATA_TYPES, AtomicOperation
from perfmodel.kernels.access_tables import ACCESS_KEYS
from perfmodel.kernels.kernel import (
    PIPES,
    PRECISIONS,
    Arithmetic,
    Barrier,
    Buffer,
    Launch,
    Pace,
    Pipeline,
)
from perfmodel.kernels.tables import KERNEL_KEYS, LOOP_KEYS, PARAMETER_KEYS
from perfmodel.operators.model_shape import SHAPE_KEYS
from perfmodel.prediction import grid
from perfmodel.sizes import SUFFIXES
from perfmodel.validation.case import row_kinds

ROOT: Final = Path(__file__).parents[2]


def names(record: Any, *without: str) -> set[str]:
    """Return the fields of a record, which its reader takes as keys."""
    return {f.name for f in fields(record)} - {*without}


TABLES: Final[Mapping[tuple[str, str], Collection[str]]] = {
    ("kernel-files", "The kernel"): KERNEL_KEYS,
    ("kernel-files", "Parameters"): PARAMETER_KEYS,
    ("kernel-files", "Launch"): names(Launch),
    ("kernel-files", "Buffers"): names(Buffer, "name"),
    ("kernel-files", "Loops"): LOOP_KEYS,
    ("kernel-files", "Accesses"): ACCESS_KEYS,
    ("kernel-files", "Operations of atomics"): get_args(AtomicOperation),
    ("kernel-files", "Arithmetic"): names(Arithmetic),
    ("kernel-files", "Pipes"): PIPES,
    ("kernel-files", "Barriers"): names(Barrier),
    ("kernel-files", "Paces"): names(Pace),
    ("kernel-files", "Pipeline"): names(Pipeline),
    ("launch-files", "The launch"): LAUNCH_KEYS,
    ("launch-files", "Content of a buffer"): {*BUFFER_KEYS, *FILLS},
    ("device-files", "The file"): {*HEADERS, "coefficients"},
    ("device-files", "A figure"): names(Figure, "values"),
    ("device-files", "Figures"): quantities(),
    ("device-files", "Coefficients"): names(CoefficientValue),
    ("device-files", "Model shapes"): SHAPE_KEYS,
    ("drill-files", "The file"): FILE_KEYS,
    ("drill-files", "A drill"): DRILL_KEYS,
    ("drill-files", "An answer"): ANSWER_KEYS,
    ("drill-files", "A step"): STEP_KEYS,
    ("drill-files", "A mistake"): MISTAKE_KEYS,
    ("drill-files", "Predict"): PREDICT_KEYS,
    ("commands", "Rows of sweep"): {*grid.NUMBERS, *grid.TEXTS},
    ("commands", "Rows of validate"): row_kinds(),
}


@pytest.mark.parametrize("place", TABLES, ids=" ".join)
def test_each_key_has_a_row_and_each_row_a_key(place: tuple[str, str]) -> None:
    found = keys(*place)
    assert sorted(found) == sorted(TABLES[place])


@pytest.mark.parametrize(
    ("title", "record"),
    [
        ("Launch", Launch),
        ("Buffers", Buffer),
        ("Arithmetic", Arithmetic),
        ("Barriers", Barrier),
        ("Paces", Pace),
        ("Pipeline", Pipeline),
    ],
)
def test_required_keys_are_those_without_a_default(title: str, record: Any) -> None:
    wanted = {f.name for f in fields(record) if f.default is MISSING} - {"name"}
    table = rows("kernel-files", title)
    assert {row[0].strip("`") for row in table if row[2] == "required"} == wanted


def test_figures_are_told_as_the_device_declares_them() -> None:
    told = {row[0].strip("`"): row for row in rows("device-files", "Figures")}
    for name, what in quantities().items():
        _, dimension, default, _, meaning = told[name]
        assert (dimension, default) == (what.dimension, "required" if what.required else "absent")
        assert meaning.startswith(what.doc)


def test_units_and_suffixes_are_all_there() -> None:
    units = re.findall("`([^`]+)`", section("device-files", "Units"))
    assert sorted(units) == sorted(UNITS)
    table = rows("expressions", "Sizes")
    told = {s: int(row[1].replace(",", "")) for row in table for s in re.findall("`(.+?)`", row[0])}
    assert told == dict(SUFFIXES)


def test_lists_in_words_are_complete() -> None:
    assert re.findall("`(\\w+)`", section("kernel-files", "Types of atomics")) == [*DATA_TYPES]
    assert set(PRECISIONS) <= {*re.findall("`(\\w+)`", section("kernel-files", "Precisions"))}
    assert set(TYPES) <= {*re.findall("`(\\w+)`", section("launch-files", "Content of a buffer"))}


def test_expressions_have_every_operator_and_function() -> None:
    functions = {key.partition("(")[0] for key in keys("expressions", "Functions")}
    assert functions == FUNCTIONS
    operators = {
        word.replace("\\", "")
        for row in rows("expressions", "Operators")
        for word in re.findall("`([^`]+)`", row[0])
    }
    assert operators - {"-x", "a if condition else b"} == {*ARITY} - FUNCTIONS - {"neg"}


def test_commands_are_all_there() -> None:
    text = (PAGES / "commands.md").read_text("utf-8")
    assert [
        c for c in COMMANDS if f"## {c}\n\n```{{command-output}} perfmodel {c} --" not in text
    ] == []


def test_the_public_names_are_all_there() -> None:
    text = (PAGES / "api.md").read_text("utf-8")
    told = set(re.findall(r":: perfmodel\.(\w+)\n", text))
    assert told == {*perfmodel.__all__}


def test_environment_variables_are_those_of_the_code() -> None:
    code = "".join(p.read_text("utf-8") for p in sorted((ROOT / "perfmodel").rglob("*.py")))
    read = {*re.findall(r'environ\.(?:get|setdefault)\("(\w+)"', code)}
    read |= {*re.findall(r'"(\w+)" if sys.platform == "win32" else "(\w+)"', code).pop()}
    assert {*keys("environment", "Environment variables")} == read


def test_extras_are_those_of_the_package() -> None:
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert {*keys("environment", "Extras")} == {*stated["project"]["optional-dependencies"]}


PRINTED: Final = {
    "perfmodel.prediction/1": (
        "predict gemm",
        "predict strided-copy -D stride=16",
        "predict read -D vector=4 --littles-law",
        "predict stream-persistent --set-aside 8MiB --window 8MiB",
        "predict docs/examples/row_softmax.ptx --grid 4 --block 128 --arg 2=1024 --show",
    ),
    "perfmodel.explanation/1": ("explain gemm --mapping naive",),
    "perfmodel.roofline/1": ("roofline gemm:naive",),
    "perfmodel.simulation/1": ("simulate gemm -D N=64", "simulate copy -D bytes=64KiB"),
    "Array of sweep": ("sweep copy --over bytes=1MiB,2MiB",),
    "perfmodel.advice/1": ("advise stream-persistent -D persistent_bytes=16MiB",),
    "Array of ladder": ("ladder -D N=256",),
    "perfmodel.operators/1": ("operators --model minigpt",),
    "perfmodel.inspection/1": (
        "inspect tests/cuda/ptx/nvcc-13.0-kernels.ptx",
        "inspect docs/examples/row_softmax.ptx",
    ),
    "perfmodel.device/1": ("devices h100-sxm",),
    "perfmodel.kernel/1": (
        "kernels gemm --mapping smem",
        "kernels softmax",
    ),
    "perfmodel.source/1": ("kernels copy --source",),
    "perfmodel.drill/1": ("drill 1 --answer 2.147GB",),
}


def told_of(found: Any, rows: Collection[str], at: str = "") -> Iterator[str]:
    """Yield the paths of what a command printed, as deep as a page tells it."""
    if isinstance(found, list):
        for each in found:
            yield from told_of(each, rows, f"{at}[]")
        return
    if not isinstance(found, dict):
        return
    for key, value in found.items():
        start = f"{at}." if at else ""
        path = f"{start}NAME" if any(r.startswith(f"{start}NAME") for r in rows) else start + key
        deeper = any(r.startswith((f"{path}.", f"{path}[")) for r in rows)
        if path in rows or not deeper:
            yield path
        if deeper:
            yield from told_of(value, rows, path)


@pytest.mark.parametrize("schema", PRINTED)
def test_every_key_that_is_printed_has_a_row(schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    told = keys("json", schema)
    found: set[str] = set()
    for line in PRINTED[schema]:
        result = CliRunner().invoke(app, [*line.split(), "--json"])
        assert result.exit_code == 0, result.output
        found |= {*told_of(json.loads(result.stdout), told)}
    assert sorted(found - {*told}) == []
    assert sorted({*told} - found) == []


def test_the_schema_of_a_prediction_has_the_rows_of_the_page() -> None:
    path = ROOT / "perfmodel" / "prediction" / "schema.json"
    schema = json.loads(path.read_text("utf-8"))
    told = keys("json", "perfmodel.prediction/1")
    assert [
        key for key in schema["properties"] if not any(re.match(rf"{key}\b", t) for t in told)
    ] == []
