"""NumPy's functions with their last bits moved, and the digests that do not change with them.

Processors round exponentials, logarithms and powers otherwise. Where a model takes the difference
of two such numbers, that reaches the digits that a digest keeps.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import Any, Final

import numpy as np

MOVED: Final = "-"
"""Stands for a digest that last bits change."""
_FUNCTIONS: Final = ("exp", "exp2", "expm1", "log", "log1p", "log2", "power")
_TWO: Final = 2 * float(np.finfo(np.float64).eps)
_WAYS: Final = 4
"""In which each number moves up or down, as by chance: processors differ in some numbers only."""
_POWER: Final = "__moved_power__"
_ROOTS: Final = (-1, 0, 0.5, 1, 2)
"""Exponents that any processor rounds alike."""
_MODELS: Final = "perfmodel.models."
_COMPILED: Final = "_loop"
"""How names of modules end that Numba compiles, which goes by the files."""
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_RUN: Final = """
import sys, json, last_bits
last_bits.move(int(sys.argv[2]))
print(json.dumps(__import__(sys.argv[1]).every()))
"""


def move(way: int) -> None:
    """Have functions of NumPy, and `**` of the models, give two bits more or less.

    But where they give whole numbers. For a whole process, before the models are imported.
    """
    setattr(builtins, _POWER, _power(_moved(np.power, way)))
    sys.meta_path.insert(0, _Models())
    for name in _FUNCTIONS:
        setattr(np, name, _moved(getattr(np, name), way))


def steady(module: str, found: Mapping[str, str]) -> dict[str, str]:
    """Return digests that a module's `every` gives, with `MOVED` for those that last bits change.

    `found` are those of this process; each is a text of several.
    """
    kept = {name: text.split() for name, text in found.items()}
    path = os.pathsep.join(map(str, (Path(__file__).parent, Path(__file__).parents[2])))
    for way in range(_WAYS):
        done = subprocess.run(
            [sys.executable, "-c", _RUN, module, str(way)],
            env=os.environ | {"PYTHONPATH": path},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        for name, text in json.loads(done.stdout).items():
            pairs = zip(kept[name], text.split(), strict=True)
            kept[name] = [mine if mine == other else MOVED for mine, other in pairs]
    return {name: " ".join(parts) for name, parts in kept.items()}


def compared(found: str, expected: str) -> tuple[list[str], list[str]]:
    """Return digests and the recorded ones, as lists that are to be the same."""
    recorded = expected.split()
    pairs = zip(found.split(), recorded, strict=True)
    return [MOVED if one == MOVED else mine for mine, one in pairs], recorded


def _up_or_down(values: np.ndarray[Any, Any], way: int) -> np.ndarray[Any, Any]:
    """Return 1 or -1 for each number: the same whenever the number is."""
    mixed = (values.ravel().view(np.uint64) ^ np.uint64(way)) * _ODD
    odd = (mixed ^ (mixed << np.uint64(29))) >> np.uint64(63)
    return np.where(odd, 1.0, -1.0).reshape(values.shape)


def _moved(function: Callable[..., Any], way: int) -> Callable[..., Any]:
    def moving(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if type(result) not in (np.ndarray, np.float64) or result.dtype != np.float64:
            return result  # of a derivation, for one
        values = np.asarray(result)
        whole = ~np.isfinite(values) | (values == np.rint(values))
        found = np.where(whole, values, values * (1 + _TWO * _up_or_down(values, way)))
        if kwargs.get("out") is not None:
            result[...] = found
            return result
        return found if isinstance(result, np.ndarray) else np.float64(found)

    moving.__dict__ |= {name: getattr(function, name) for name in ("reduce", "nin", "nout")}
    return moving


class _Models:
    """Finds the models' modules, for `_Moving`."""

    def find_spec(self, name: str, path: Sequence[str] | None, _: Any = None) -> ModuleSpec | None:
        if not name.startswith(_MODELS) or name.endswith(_COMPILED):
            return None
        found = PathFinder.find_spec(name, path)
        if found is not None and found.origin:
            found.loader = _Moving(name, found.origin)
        return found


class _Moving(SourceFileLoader):
    """Loads a module whose `**` is `_POWER`; not from what was compiled before."""

    def path_stats(self, path: Any) -> Any:
        raise OSError(path)

    def source_to_code(self, data: Any, path: Any) -> Any:  # type: ignore[override]
        tree = ast.fix_missing_locations(_Powers().visit(ast.parse(data)))
        return compile(tree, path, "exec", dont_inherit=True)


class _Powers(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Pow):
            return node
        return ast.copy_location(
            ast.Call(ast.Name(_POWER, ast.Load()), [node.left, node.right], []), node
        )


def _power(moved: Callable[..., Any]) -> Callable[..., Any]:
    def power(base: Any, exponent: Any) -> Any:
        real = any(isinstance(x, np.ndarray | np.float64) for x in (base, exponent))
        exact = isinstance(exponent, int | float) and exponent in _ROOTS
        return moved(base, exponent) if real and not exact else base**exponent

    return power
