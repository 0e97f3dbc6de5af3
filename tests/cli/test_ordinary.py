"""Ordinary command lines are read as Typer reads them, and only those."""

from __future__ import annotations

import shlex
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
import typer

from perfmodel.cli.app import EXAMPLES
from perfmodel.cli.grouped_options import parameters_of, with_groups
from perfmodel.cli.ordinary import COMMANDS, NotOrdinaryError, command, ordinary, read
from perfmodel.packaged import packaged_toml


def by_typer(name: str, words: list[str]) -> dict[str, Any]:
    """Return the values of a command's parameters as Typer reads them."""
    found: dict[str, Any] = {}
    wrapped = with_groups(command(name))

    @wraps(wrapped)
    def keep(**values: Any) -> None:
        found.update(values)

    keep.__signature__ = wrapped.__signature__
    app = typer.Typer(add_completion=False)
    app.command(name)(keep)
    typer.main.get_command(app).main(words, standalone_mode=False)
    return found


def examples() -> list[str]:
    return [
        example.partition(" > ")[0]
        for name in COMMANDS
        for example in packaged_toml(EXAMPLES)[name]
    ]


LINES = [
    "perfmodel predict gemm --mapping=coalesced -D N=64 -D M=128 --mig --json",
    "perfmodel predict copy read --set-aside 1MiB --hit-ratio 0.5 --fetch-granularity 128",
    "perfmodel predict copy --cache warm --cache cold --timing events",
    "perfmodel predict k.cu --grid 4 --block 32 --arg a=1 --arg b=2 -I include --with more.cu",
    "perfmodel predict k.cu --grid 4 --block 32 --assume --concurrent 16MiB:0.5",
    "perfmodel sweep gemm --over N=256:1024:256",
    "perfmodel drill",
]


@pytest.mark.parametrize("line", [*LINES, *examples()])
def test_values_are_those_of_typer(line: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    _, name, *words = shlex.split(line)
    try:
        found = read(command(name), words)
    except NotOrdinaryError:
        # one option of two names, or one with bounds, or what Typer's context is for
        assert name in ("measure", "calibrate", "report"), line
        return
    expected = by_typer(name, words)
    assert found == expected
    assert list(map(type, found.values())) == [type(expected[key]) for key in found]
    assert list(found) == [parameter for parameter, _, _ in parameters_of(command(name))]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--version",
        "nonsense",
        "predict",
        "predict --help",
        "predict copy -h",
        "predict copy --nonsense",
        "predict copy --json=yes",
        "predict copy -DN=4",
        "predict copy -D=4",
        "predict copy --device",
        "predict copy --device -D",
        "predict copy --sets many",
        "predict copy --hit-ratio half",
        "predict copy --timing never",
        "predict copy -- read",
        "predict co\apy",
        "explain",
        "explain copy read",
        "devices h100-sxm h200-sxm",
        "measure -o folder",
    ],
)
def test_other_lines_are_left_to_typer(line: str) -> None:
    assert ordinary(line.split(" ") if line else []) is None


def test_an_ordinary_line_runs(capsys: pytest.CaptureFixture[str]) -> None:
    run = ordinary(["kernels"])
    assert run is not None
    run()
    assert "strided-copy" in capsys.readouterr().out
