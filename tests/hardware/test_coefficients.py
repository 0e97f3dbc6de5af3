"""Coefficients: what is declared has a value with its origin, and nothing else has."""

from __future__ import annotations

import pickle
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import numpy as np
import pytest

import perfmodel.models
from perfmodel import predict
from perfmodel.errors import PerfmodelError
from perfmodel.hardware import coefficients, load_device
from perfmodel.hardware.coefficients import (
    Coefficient,
    CoefficientTable,
    architectures,
    coefficients_of,
    declared,
)
from perfmodel.models.l2.throughput import CONCURRENT
from perfmodel.prediction.figures_used import derive


def all_declared():
    for module in walk_packages(perfmodel.models.__path__, "perfmodel.models."):
        import_module(module.name)
    return declared()


@pytest.mark.parametrize("capability", architectures())
def test_what_is_declared_has_a_value_and_an_origin(capability: str) -> None:
    # property: code and data list the same coefficients
    known = all_declared()
    found = coefficients_of(capability)
    assert sorted(found.origins) == sorted(known)
    for name, value in found.origins.items():
        assert value.text, name
        assert isinstance(value.value, tuple) == isinstance(known[name], CoefficientTable), name
        assert value.source, name
        assert value.source != "TODO", name


def test_names_say_where_they_are_declared() -> None:
    # property: l2.throughput.concurrent is of perfmodel/models/l2/throughput.py
    root = Path(perfmodel.models.__file__).parent
    for name in all_declared():
        stage, mechanism, _ = name.split(".")
        assert (root / stage / f"{mechanism}.py").is_file(), name


def test_a_gpu_without_its_own_inherits() -> None:
    h100, a100 = load_device("h100-sxm"), load_device("a100-sxm-80")
    assert h100.coefficients.compute_capability == "9.0"
    assert CONCURRENT(h100) == CONCURRENT(a100) == 0.45  # catalogue/coefficients/9.0/l2.toml
    assert h100.coefficients == pickle.loads(pickle.dumps(h100.coefficients))


def test_a_coefficient_is_part_of_the_derivation() -> None:
    # property: by a second way, a prediction of a GPU with the coefficient moved
    found = predict("copy", bytes=16 << 20, cache="warm")
    way = derive(found)
    name = CONCURRENT.name
    assert name in way.figures
    gpu = load_device("h100-sxm")
    values = {**gpu.coefficients.values, name: 0.5}
    moved = replace(gpu, coefficients=replace(gpu.coefficients, values=values))
    expected = predict("copy", bytes=16 << 20, cache="warm", device=moved).time_s
    assert expected != found.time_s
    assert way.replay(**{name: 0.5})[0] == pytest.approx(expected, rel=1e-11)


def test_tables_are_arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coefficients, "_declared", {})
    monkeypatch.setattr(coefficients, "FOLDER", tmp_path)
    (tmp_path / "1.5").mkdir()
    (tmp_path / "1.5" / "x.toml").write_text(
        '[y.z]\nvalue = [1, 2.5]\nunit = "1"\nkind = "fitted"\nsource = "s"\n'
    )
    coefficients._read.cache_clear()
    table = CoefficientTable("x.y.z")
    gpu = replace(load_device("h100-sxm"), coefficients=coefficients_of("7.5"))
    coefficients._read.cache_clear()
    assert gpu.coefficients.compute_capability == "1.5"
    np.testing.assert_array_equal(table(gpu), [1.0, 2.5])
    with pytest.raises(ValueError, match="declared twice"):
        Coefficient("x.y.z")
    with pytest.raises(ValueError, match=r"not STAGE\.MECHANISM\.COEFFICIENT"):
        Coefficient("z")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[y]\nz = 1\n", "must be a table with value"),
        ('[y.z]\nvalue = 1\nunit = "1"\nkind = "fitted"\n', "has no source"),
        ('[y.z]\nvalue = 1\nunit = "1"\nkind = "guess"\nsource = "s"\n', "kind must be one of"),
        ('[y.z]\nvalue = nan\nunit = "1"\nkind = "fitted"\nsource = "s"\n', "finite numbers"),
        ('[y.z]\nvalues = 1\nunit = "1"\nkind = "fitted"\nsource = "s"\n', "unknown key 'values'"),
        ("y = 1\n", "must be tables of coefficients"),
    ],
)
def test_wrong_files(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coefficients, "FOLDER", tmp_path)
    (tmp_path / "1.5").mkdir()
    (tmp_path / "1.5" / "x.toml").write_text(text)
    coefficients._read.cache_clear()
    with pytest.raises(PerfmodelError, match=message):
        coefficients_of("1.5")
    coefficients._read.cache_clear()


STATED = """
extends = "h100-sxm"
name = "mine"

[coefficients."l2.throughput.concurrent"]
value = {value}
unit = "{unit}"
kind = "fitted"
source = "a fit of mine"
"""


def test_a_device_file_states_its_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(STATED.format(value=0.5, unit="1"))
    mine, h100 = load_device(path), load_device("h100-sxm")
    assert CONCURRENT(mine) == 0.5
    assert mine.coefficients.origins[CONCURRENT.name].source == "a fit of mine"
    assert mine != h100
    warm = {"bytes": 16 << 20, "cache": "warm"}
    assert predict("copy", device=mine, **warm).time_s < predict("copy", **warm).time_s


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (STATED.format(value=0.5, unit="s"), "must be in '1'"),
        (STATED.format(value=[1, 2], unit="1"), "as many numbers as in the catalogue"),
        (STATED.replace("concurrent", "concurent").format(value=1, unit="1"), "did you mean"),
        ('extends = "h100-sxm"\nname = "x"\ncoefficients = 3\n', "must be tables"),
        (STATED.format(value='"x"', unit="1"), "finite numbers"),
        (STATED.format(value="9" * 400, unit="1"), "finite numbers"),
        (STATED.format(value=[], unit="1"), "as many numbers as in the catalogue"),
    ],
)
def test_wrong_ones_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(PerfmodelError, match=message):
        load_device(path)


def test_what_is_inherited_is_said() -> None:
    a100 = predict("copy", device="a100-sxm-80")
    assert any("inherited from compute capability 9.0" in text for text in a100.warnings)
    assert not any("inherited" in text for text in predict("copy").warnings)
