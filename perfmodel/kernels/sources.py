"""CUDA sources of the built-in kernels, and the arguments that a launch of one gives to it.

``sources.toml`` says which built-ins have one; those that stand for a library's kernel have none.
"""

from collections.abc import Mapping
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Any, Final

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Node, Number, parse, substitute
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.kernel import Kernel
from perfmodel.kernels.library import LIBRARY
from perfmodel.packaged import packaged_toml
from perfmodel.records import record

_TABLE: Final = Path(__file__).parent / "sources.toml"
_ZERO: Final = Number(0)
_ONE: Final = Number(1)
_FLAGS: Final = {"true": "1", "false": "0"}


@record
class Source:
    """The CUDA source of a built-in kernel."""

    path: Path
    function: str  # the ``__global__`` function in it
    # Macro to the parameter of the built-in whose value it gets.
    defines: Mapping[str, str] = field(default_factory=dict)
    # Numbers that are no parameters of the built-in; and bounds of the random integers that a
    # buffer holds.
    arguments: Mapping[str, Node] = field(default_factory=dict)
    contents: Mapping[str, Node] = field(default_factory=dict)
    # Bytes of pointers that are no buffers of the built-in [B].
    buffers: Mapping[str, int] = field(default_factory=dict)
    # Dynamic shared memory of a block [B]; and which launches of the built-in the source is for.
    shared_bytes: Node = _ZERO
    only: Node = _ONE

    def text(self) -> str:
        """Return the source."""
        return self.path.read_text(encoding="utf-8")

    def compiler_options(self, instance: Instance) -> tuple[str, ...]:
        """Return the macros of a launch of the built-in, as a compiler takes them."""
        parameters = {p.name: p for p in instance.kernel.parameters}
        options = []
        for macro, name in self.defines.items():
            value = str(parameters[name].shown(int(instance.values[name])))
            options.append(f"-D{macro}={_FLAGS.get(value, value)}")
        return tuple(options)


def source_of(kernel: Kernel) -> Source:
    """Return the CUDA source of a built-in kernel.

    Raises `PerfmodelError` if it has none, or is no built-in.
    """
    words = [word for word in (kernel.name, kernel.mapping) if word]
    stem, name = "-".join(words), " ".join(words)
    stated = _stated()
    if stem in stated["without"]:
        raise PerfmodelError(
            f"kernel {name!r} has no source here: it stands for {stated['without'][stem]}"
        )
    if stem not in stated["kernels"]:
        raise PerfmodelError(f"kernel {name!r} has no source: only built-in kernels have one")
    return _read(stem, stated["kernels"][stem], kernel)


@cache
def _stated() -> Mapping[str, Any]:
    return packaged_toml(_TABLE)


def _read(stem: str, table: Mapping[str, Any], kernel: Kernel) -> Source:
    known = {p.name for p in kernel.parameters} | {name for name, _ in kernel.definitions}
    words = {
        word: Number(code)
        for p in kernel.parameters
        for word, code in zip(p.words, p.choices, strict=bool(p.words))
    }

    def node(value: str | int, key: str) -> Node:
        if isinstance(value, int):
            return Number(value)
        where = f"{_TABLE.name}, {stem}: {key}"
        return substitute(parse(value, where=where, allowed={*known, *words}), words)

    def nodes(key: str) -> dict[str, Node]:
        return {name: node(value, f"{key} {name}") for name, value in table.get(key, {}).items()}

    return Source(
        path=LIBRARY / f"{stem}.cu",
        function=table.get("function", stem.replace("-", "_")),
        defines=table.get("defines", {}),
        arguments=nodes("arguments"),
        contents=nodes("contents"),
        buffers=table.get("buffers", {}),
        shared_bytes=node(table.get("shared_bytes", 0), "shared_bytes"),
        only=node(table.get("only", 1), "only"),
    )
