"""For each formula of the models, a recorded launch that moves when the formula does.

`python tests/models/formula_launches.py` chooses them again, from launches of the committed record
(`benchmarks.record`), and writes formula_launches.toml: needed where formulas come or are renamed.
"""

from __future__ import annotations

import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

import digests  # noqa: E402

from benchmarks.record import store  # noqa: E402
from benchmarks.record.launches import Part, Values, compiled, values  # noqa: E402
from perfmodel import Prediction, predict  # noqa: E402
from perfmodel.cuda.compile.program import Program  # noqa: E402
from perfmodel.cuda.kernel.translate import translated  # noqa: E402
from perfmodel.cuda.launch.spec import LaunchSpec  # noqa: E402
from perfmodel.hardware import load_device  # noqa: E402
from perfmodel.measure import folders  # noqa: E402
from perfmodel.measure.recorded import Recording, Row, read_recording  # noqa: E402
from perfmodel.models.formula import Formula  # noqa: E402
from perfmodel.models.mechanism import mechanisms  # noqa: E402
from perfmodel.prediction.conditions import by_the_models  # noqa: E402
from perfmodel.validation.cases import as_timed, launch_of, matched  # noqa: E402
from perfmodel.validation.sweeps import Sweep  # noqa: E402
from perfmodel.validation.validate import find_recordings  # noqa: E402

FILE: Final = Path(__file__).with_suffix(".toml")
DEVICES: Final = ("h100-sxm", "h200-sxm")
TENTH: Final = 1.1


def formulas() -> dict[str, Formula]:
    """Return all formulas of the models, as MODULE.NAME below perfmodel.models."""
    mechanisms()  # imports all
    found = {}
    for name, module in sorted(sys.modules.items()):
        for attribute, value in list(vars(module).items()):
            if (
                name.startswith("perfmodel.models.")
                and isinstance(value, Formula)
                and value.module == name
            ):
                found[f"{name.removeprefix('perfmodel.models.')}.{attribute}"] = value
    return found


def chosen() -> dict[str, str]:
    """Return the launch of each formula."""
    return dict(tomllib.loads(FILE.read_text("utf-8")))


def of_source(name: str) -> bool:
    """Say whether a launch is of a source, which needs nvcc: its place is a launch file."""
    return name.split()[1].endswith(".toml")


def recorded(name: str) -> Values:
    """Return what is recorded of a launch."""
    return _record("sources" if of_source(name) else name.split(maxsplit=1)[0])[name]


@cache
def _record(file: str) -> store.Table:
    return store.read(ROOT / "benchmarks" / "record" / f"{file}.xz")


@cache
def _recording(folder: str) -> Recording:
    return read_recording(folders.root() / folder)


@cache
def rows_of(folder: str) -> dict[str, tuple[Sweep, Row]]:
    """Return the rows of a recording, by topic and line."""
    found = matched(_recording(folder))
    return {f"{row.topic} {row.line}": (sweep, row) for sweep, row in found}


@cache
def _compiled(path: str) -> dict[int, tuple[Program, LaunchSpec]]:
    every = compiled(folders.root() / path, Part("sources", path))
    return {number: (program, launch) for number, program, launch in every}


@cache
def launch_arguments(name: str) -> dict[str, Any]:
    """Return a launch of the record as `predict` takes it."""
    device, folder, row_name = name.split(" ", 2)
    if of_source(name):
        kernel = translated(*_compiled(folder)[int(row_name)])
        return {"kernel": kernel, "device": load_device(device)}
    sweep, row = rows_of(folder)[row_name]
    timed = as_timed(load_device(device), _recording(folder), row)
    return launch_of(sweep, row, timed)


@cache
def first_noted(name: str) -> tuple[Prediction, str]:
    """Return what the models as they are say of a launch, worked out once, and their formulas."""
    with digests.noted() as lines:
        return prediction(name), digests.of_lines(lines)


def first_predicted(name: str) -> Values:
    """Return its time, terms and traffic."""
    return values(first_noted(name)[0])


def prediction(name: str) -> Prediction:
    """Return what the models say of a launch now, without anything that they keep."""
    launch = launch_arguments(name)
    digests.forget()
    with by_the_models():
        return predict(**launch)


def predicted(name: str) -> Values:
    """Return its time, terms and traffic now."""
    return values(prediction(name))


@contextmanager
def changed(formula: Formula) -> Iterator[None]:
    """Change a formula by a tenth."""
    text, by = formula.text, Formula.by

    def changed_by(self: Formula, work: Any, /, **given: Any) -> Any:
        found = by(self, work, **given)
        return found * TENTH if self is formula else found

    object.__setattr__(formula, "text", f"({text})*{TENTH}")
    formula.__dict__.pop("node", None)
    Formula.by = changed_by  # type: ignore[method-assign]
    try:
        yield
    finally:
        object.__setattr__(formula, "text", text)
        formula.__dict__.pop("node", None)
        Formula.by = by  # type: ignore[method-assign]


def moves(name: str, formula: Formula, before: Values) -> bool:
    """Say whether a launch's prediction changes with a formula."""
    with changed(formula):
        after = predicted(name)
    return any(after.get(key) != value for key, value in before.items())


def _candidates() -> Iterator[str]:
    """Yield some launches of every topic of every recording."""
    for device in DEVICES:
        for recording in find_recordings(device):
            folder = folders.name(recording.folder)
            topics = defaultdict(list)
            for name in rows_of(folder):
                topics[name.split()[0]].append(f"{device} {folder} {name}")
            for names in topics.values():
                yield from names[:: max(len(names) // 8, 1)]


def _evaluated(name: str, by_id: dict[int, str]) -> set[str]:
    """Return the formulas that a launch evaluates."""
    found: set[str] = set()
    call, by = Formula.__call__, Formula.by

    def seen(self: Formula, **given: Any) -> Any:
        found.add(by_id.get(id(self), ""))
        return call(self, **given)

    def seen_by(self: Formula, work: Any, /, **given: Any) -> Any:
        found.add(by_id.get(id(self), ""))
        return by(self, work, **given)

    Formula.__call__, Formula.by = seen, seen_by  # type: ignore[method-assign]
    try:
        predicted(name)
    finally:
        Formula.__call__, Formula.by = call, by  # type: ignore[method-assign]
    return found


def choose() -> dict[str, str]:
    """Return a launch for each formula, as few in all as it takes without much search."""
    known = formulas()
    by_id = {id(formula): name for name, formula in known.items()}
    evaluated = {name: _evaluated(name, by_id) for name in _candidates()}
    launches = defaultdict(list)
    for name, some in evaluated.items():
        for each in some:
            launches[each].append(name)
    found: dict[str, str] = {}
    for name in sorted(known, key=lambda each: len(launches[each])):
        some = sorted(launches[name], key=lambda launch: launch not in set(found.values()))
        for launch in some[:60]:
            if moves(launch, known[name], recorded(launch)):
                found[name] = launch
                break
        else:
            print(f"{name}: none of {len(some)} launches moves")
    return found


if __name__ == "__main__":
    lines = [f'"{name}" = "{launch}"\n' for name, launch in sorted(choose().items())]
    FILE.write_text("# Written by formula_launches.py.\n" + "".join(lines), "utf-8")
