"""A release says the same of itself everywhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_version_is_one() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    (version,) = re.findall(r"^version: (\S+)$", citation, re.MULTILINE)
    changes = re.findall(r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    (released,) = re.findall(r'^date-released: "(\S+)"$', citation, re.MULTILINE)
    assert (version, released) == changes[0]
    assert PROJECT["version"] == version


def test_security_supports_this_version_and_python() -> None:
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    major = PROJECT["version"].partition(".")[0]
    assert f"| {major}.x, the newest release | yes |" in text
    assert f"from {PROJECT['requires-python'].removeprefix('>=')} on" in text
