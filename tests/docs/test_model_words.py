"""The theory pages are made from the models: their texts speak the field's language.

A page has the docstring of each module of `perfmodel.models` with a formula or a mechanism, its
formulas, and what the catalogue says of its coefficients. None has a word of private_words.txt.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from types import ModuleType
from typing import Final

import private_words
import pytest

from perfmodel.hardware.coefficients import coefficients_of
from perfmodel.models.formula import Formula
from perfmodel.models.mechanism import mechanisms

_FILE: Final = re.compile(r"\S*\.(csv|txt|toml)\b")
"""Names of files of measurements are no words."""
_SENTENCE: Final = re.compile(r"[.:!?](?=\s|$)")


@cache
def modules() -> dict[str, ModuleType]:
    """Return the modules of models that the theory pages show, by name."""
    named = {m.function.__module__ for m in mechanisms().values()}
    return {
        name: module
        for name, module in sorted(sys.modules.items())
        if name.startswith("perfmodel.models.") and (name in named or formulas_of(module))
    }


def formulas_of(module: ModuleType) -> list[Formula]:
    """Return the formulas that a module defines."""
    every = (value for value in vars(module).values() if isinstance(value, Formula))
    return [formula for formula in every if formula.module == module.__name__]


def found_in(*texts: str) -> list[str]:
    """Return the private words of some texts, each with its surroundings."""
    plain = (_FILE.sub("FILE", text) for text in texts)
    return [where for text in plain for where in private_words.found_in(text).values()]


def test_every_module_explains_itself() -> None:
    # property: a heading's sentence, and at least one more that says why
    short = [n for n, m in modules().items() if len(_SENTENCE.findall(m.__doc__ or "")) < 2]
    assert short == []
    assert len(modules()) > 60


def test_docstrings_have_no_private_words() -> None:
    found = {name: found_in(module.__doc__ or "") for name, module in modules().items()}
    assert {name: words for name, words in found.items() if words} == {}


def test_formulas_have_no_private_words() -> None:
    every = (formula for module in modules().values() for formula in formulas_of(module))
    found = {
        f"{f.module}: {f.name}": found_in(f.name, f.holds, f.source, *f.symbols.values())
        for f in every
    }
    assert {name: words for name, words in found.items() if words} == {}


def test_coefficients_have_no_private_words() -> None:
    origins = coefficients_of("9.0").origins
    found = {name: found_in(c.text, c.note, c.source) for name, c in origins.items()}
    assert {name: words for name, words in found.items() if words} == {}


@pytest.mark.parametrize("text", ["warps that meet (rounds.csv)", "16 B a lane of lone.csv"])
def test_words_next_to_files_are_found(text: str) -> None:
    assert len(found_in(text)) == 1
