"""Small changes of models and simulator, drawn at random: how many fall to the fast tests.

    python -m benchmarks.mutations --seed 1 --count 40

A change is of one place in `perfmodel/models` or `perfmodel/trace`: a number a tenth more or by 1
off, an operator exchanged, a factor dropped, a comparison with or without equality, min for max, a
condition the other way round; in formulas' texts too, not in messages, decorators or annotations.
Each is made in a copy of the tree, where those fast tests of models and simulator run that run the
changed line, the quickest first of the module's own, of digests and of others, until one fails.
Which these are is found first, in some ten minutes, and kept in --lines for further draws: remove
that file where tests changed. What is left, after --limit seconds of tests at most, is printed as a
diff: some of it no result can depend on. Needs `coverage`, of the extra test.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).parents[1]
FOLDERS: Final = ("perfmodel/models", "perfmodel/trace")
TESTS: Final = ("tests/models", "tests/trace")
_OPERATORS: Final = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult},
    **{ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift},
    **{ast.RShift: ast.LShift, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In},
}
_OTHERS: Final = {
    **{"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"},
    **{"any": "all", "all": "any", "floor": "ceil", "ceil": "floor"},
}
_DIGESTS: Final = re.compile("test_recorded|test_stages")
_SKIPPED: Final = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Change:
    """A place of a file: where its text begins and ends, and what comes there."""

    path: str
    begin: int
    end: int
    text: str
    line: int
    statement: range  # lines of the whole of it
    within: bool  # a function, whose lines run when tests do

    def of(self, source: str) -> str:
        """Return the source with it."""
        encoded = source.encode()
        return (encoded[: self.begin] + self.text.encode() + encoded[self.end :]).decode()


def others(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may stand for an expression instead."""
    if isinstance(node, ast.Constant):
        if type(node.value) is int:
            yield from (ast.Constant(node.value + 1), ast.Constant(node.value - 1))
        elif type(node.value) is float and node.value:
            yield ast.Constant(node.value * 1.1)
    elif isinstance(node, ast.Name) and node.id in _OTHERS:
        yield ast.Name(_OTHERS[node.id])
    elif isinstance(node, ast.Attribute) and node.attr in _OTHERS:
        yield ast.Attribute(node.value, _OTHERS[node.attr])
    else:
        yield from _other_operations(node)


def _other_operations(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp):
        if new := _OPERATORS.get(type(node.op)):
            yield ast.BinOp(node.left, new(), node.right)
        if isinstance(node.op, ast.Mult):
            yield from (node.left, node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(_OPERATORS[type(node.op)](), node.values)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield ast.Compare(node.left, [_OPERATORS[type(node.ops[0])]()], node.comparators)
    elif isinstance(node, ast.If | ast.IfExp):
        yield ast.UnaryOp(ast.Not(), node.test)


def _of_text(text: str) -> Iterator[str]:
    """Yield other texts of a formula."""
    tree = ast.parse(text, mode="eval")
    for node in ast.walk(tree):
        for new in others(node):
            place = node.test if isinstance(node, ast.IfExp) else node
            yield text[: place.col_offset] + f"({ast.unparse(new)})" + text[place.end_col_offset :]


class Places(ast.NodeVisitor):
    """Finds the changes of a file, those of a place together."""

    def __init__(self, path: str, source: str) -> None:
        self.path, self.found = path, list[list[Change]]()
        self._depth, self._statement = 0, range(0)
        self._starts = [0]
        for line in source.encode().splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self.visit(ast.parse(source))

    def _add(self, node: Any, texts: list[str]) -> None:
        if not texts:
            return
        begin = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[node.end_lineno - 1] + node.end_col_offset
        where = (node.lineno, self._statement, self._depth > 0)
        self.found.append([Change(self.path, begin, end, text, *where) for text in texts])

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, _SKIPPED) or _of_types(node):
            return
        if isinstance(node, ast.stmt):
            self._statement = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        place = node.test if isinstance(node, ast.If | ast.IfExp) else node
        self._add(place, [f"({ast.unparse(new)})" for new in others(node)])
        if isinstance(node, ast.keyword) and node.arg == "text":
            with_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
            for text in _of_text(node.value.value) if with_text else ():
                self._add(node.value, [repr(text)])
        for name, part in ast.iter_fields(node):
            if name not in ("annotation", "returns", "decorator_list"):
                self._inside(isinstance(node, ast.FunctionDef) and name == "body", part)

    def _inside(self, inside: bool, part: Any) -> None:
        self._depth += inside
        for each in part if isinstance(part, list) else [part]:
            if isinstance(each, ast.AST):
                self.visit(each)
        self._depth -= inside


def _of_types(node: ast.AST) -> bool:
    """Say whether a statement is of types or names alone."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"


def drawn(seed: int, count: int) -> list[Change]:
    """Return so many changes of different places."""
    paths = sorted(p for folder in FOLDERS for p in (ROOT / folder).rglob("*.py"))
    places = [
        place
        for p in paths
        for place in Places(p.relative_to(ROOT).as_posix(), p.read_text("utf-8")).found
    ]
    generator = random.Random(seed)
    return [generator.choice(place) for place in generator.sample(places, count)]


class Lines:
    """A plugin of pytest that notes which lines tests run, and how long they take."""

    def __init__(self) -> None:
        import coverage

        self._coverage = coverage.Coverage(data_file=None, source=[str(ROOT / f) for f in FOLDERS])
        self._seconds: dict[str, float] = {}

    def pytest_collection_finish(self) -> None:
        self._coverage.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._coverage.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration

    def written(self, to: Path) -> None:
        """Write them: tests in order of their time, and by file and line their numbers."""
        self._coverage.stop()
        data = self._coverage.get_data()
        tests = sorted(self._seconds, key=self._seconds.__getitem__)
        numbers = {name: number for number, name in enumerate(tests)}
        lines = {
            Path(file).relative_to(ROOT).as_posix(): {
                line: sorted(numbers[c] for c in contexts if c in numbers)
                for line, contexts in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        to.write_text(json.dumps({"tests": tests, "lines": lines}), "utf-8")


def collect(to: Path, tests: list[str]) -> None:
    """Note which lines the fast tests run."""
    import pytest

    plugin = Lines()
    pytest.main([*tests, "-n0", "-m", "not slow", "-p", "no:cacheprovider"], plugins=[plugin])
    plugin.written(to)


class Trial:
    """A copy of the tree in which changes are made and tested."""

    def __init__(self, folder: Path, lines: Path, limit: float) -> None:
        self._limit, self.tree = limit, folder / "tree"
        shutil.copytree(ROOT, self.tree, ignore=shutil.ignore_patterns(".git", ".hypothesis"))
        self._kept: dict[str, Any] = json.loads(lines.read_text("utf-8"))

    def tests(self, change: Change) -> list[str]:
        """Return the tests of a change's folder that run its line, or another of its statement.

        Of a module's own lines those that run any of it; of compiled loops, of which nothing notes
        what they run, all.
        """
        folder = "/".join(change.path.replace("perfmodel", "tests", 1).split("/")[:2])
        found = {n: test for n, test in enumerate(self._kept["tests"]) if test.startswith(folder)}
        if change.path.endswith("_loop.py"):
            return _ordered(found.values(), change)
        lines: dict[str, list[int]] = self._kept["lines"].get(change.path, {})
        runs = (
            lines.get(str(change.line), [])
            if change.within
            else [n for x in lines.values() for n in x]
        )
        runs = runs or [n for line in change.statement for n in lines.get(str(line), [])]
        # Tests of a file that differ in name alone share what they predict: the first one runs it.
        alike = {_but_name(found[number]) for number in found.keys() & set(runs)}
        return _ordered([test for test in found.values() if _but_name(test) in alike], change)

    def fallen(self, change: Change) -> str:
        """Return the first test that fails with a change; nothing where none does."""
        path, list_of_tests = self.tree / change.path, self.tree / "mutation-tests.txt"
        tests = self.tests(change)
        if not tests:
            return ""
        source = path.read_text("utf-8")
        path.write_text(change.of(source), "utf-8")
        names = "\n".join(tests).replace(str(ROOT), str(self.tree))  # some have a file's name
        list_of_tests.write_text(names, "utf-8")
        settings = {"PYTHONPATH": str(self.tree), "PYTHONDONTWRITEBYTECODE": "1"}
        # Compiled loops are kept by their own file, whatever they call.
        loops = change.path.endswith(("_loop.py", "trace/cache.py"))
        kept = tempfile.mkdtemp(dir=self.tree.parent) if loops else str(self.tree.parent / "kept")
        settings["NUMBA_CACHE_DIR"] = kept
        words = [*("-x", "-n0", "-m", "not slow", "--tb=no", "-rfE", "-p", "no:cacheprovider")]
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *words, f"@{list_of_tests.name}"],
                cwd=self.tree,
                env=os.environ | settings,
                timeout=self._limit,
                capture_output=True,
                text=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return ""
        finally:
            path.write_text(source, "utf-8")
        if done.returncode in (0, 5):
            return ""
        first = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
        if done.returncode < 0:
            return f"(ends by signal {-done.returncode})"
        if not first:
            raise SystemExit(f"pytest says neither that a test fails nor that none does:\n{done}")
        return first[1]


def _but_name(test: str) -> tuple[str, str]:
    """Return the file and the parameters of a test; all of it where there are none."""
    file, _, rest = test.partition("::")
    return file, rest.partition("[")[2] or rest


def _ordered(tests: Iterable[str], change: Change) -> list[str]:
    """Return tests with those first of whose file a module's name is part, then digests."""
    own = Path(change.path).stem.removesuffix("_loop")
    return sorted(tests, key=lambda t: (own not in t.partition("::")[0], not _DIGESTS.search(t)))


def diff(change: Change) -> str:
    """Return a change as a diff of a line or two."""
    source = (ROOT / change.path).read_text("utf-8")
    both = source.splitlines(), change.of(source).splitlines()
    found = list(difflib.unified_diff(*both, change.path, "", n=0, lineterm=""))
    return "\n".join([f"{change.path}:{change.line}", *found[3:]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=40)
    kept = Path(tempfile.gettempdir()) / "perfmodel-mutations.json"
    parser.add_argument("--lines", type=Path, default=kept, help="which tests run which lines")
    parser.add_argument("--limit", type=float, default=300.0, help="of a change's tests [s]")
    asked = parser.parse_args()
    if asked.count < 1 or asked.limit <= 0:
        parser.error("--count and --limit must be above 0")
    if not asked.lines.parent.is_dir():
        parser.error(f"--lines: there is no folder {asked.lines.parent}")
    try:
        changes = drawn(asked.seed, asked.count)
    except ValueError:
        parser.error(f"--count {asked.count} is more than there are places to change")
    if not asked.lines.exists():
        collect(asked.lines, list(TESTS))
    console, table, left = Console(), Table("change", "falls to", "s"), list[str]()
    with tempfile.TemporaryDirectory() as folder:
        try:
            trial = Trial(Path(folder), asked.lines, asked.limit)
        except ValueError:
            parser.error(f"--lines {asked.lines} is no map of lines: remove it to have it made")
        for number, change in enumerate(changes, 1):
            start, shown = time.perf_counter(), diff(change)
            found = trial.fallen(change)
            left += [] if found else [f"{shown}\n({len(trial.tests(change))} tests run it)"]
            took = f"{time.perf_counter() - start:.0f}"
            print(number, shown.partition("\n")[0], found or "LEFT", took, file=sys.stderr)
            table.add_row(f"{change.path}:{change.line}", found or "none", took)
    console.print(table)
    for each in left:
        print(f"\n{each}")
    print(f"\nseed {asked.seed}: {asked.count - len(left)} of {asked.count} fall")


if __name__ == "__main__":
    main()
