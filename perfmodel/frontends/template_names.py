"""Names of template kernels as the source writes them: `saxpy<float, 256>` of a mangled name."""

from __future__ import annotations

import re
from typing import Final

_TYPES: Final = {
    "v": "void",
    "b": "bool",
    "c": "char",
    "a": "signed char",
    "h": "unsigned char",
    "s": "short",
    "t": "unsigned short",
    "i": "int",
    "j": "unsigned int",
    "l": "long",
    "m": "unsigned long",
    "x": "long long",
    "y": "unsigned long long",
    "f": "float",
    "d": "double",
}
"""Itanium C++ ABI, builtin types."""
_MARKS: Final = {"P": "*", "R": "&", "O": "&&"}
_LITERAL: Final = re.compile(r"L([a-z])(n?)(\d+)E")
_LENGTH: Final = re.compile(r"[1-9]\d{0,5}")
_DEEPEST: Final = 16
_HALVES: Final = {"__half": "half", "__half2": "half2", "__nv_bfloat16": "nv_bfloat16"}
_SPACES: Final = re.compile(r"\s*([,<>*&:])\s*")


def source_name(mangled: str) -> str:
    """Return a kernel's name with its template's arguments; as it is if it cannot be read.

    Parameters
    ----------
    mangled : str
        As PTX has it. Names in namespaces lose these.

    Examples
    --------
    >>> source_name("_Z5saxpyIfLi256EEvPKT_Pfi")
    'saxpy<float, 256>'
    >>> source_name("copy")
    'copy'
    """
    if not mangled.startswith("_Z"):
        return mangled
    reader = _Reader(mangled, 2)
    name = reader.name(0)
    return mangled if name is None else _last(name)


def is_named(mangled: str, wanted: str) -> bool:
    """Say whether a kernel is the one that is wanted, as the source writes it; spaces aside."""
    return "<" in wanted and _tight(source_name(mangled)) == _tight(wanted)


def starts_as(mangled: str, wanted: str) -> bool:
    """Say whether a kernel's name in the source begins as is wanted; spaces aside."""
    return bool(wanted) and _tight(source_name(mangled)).startswith(_tight(wanted))


def _tight(name: str) -> str:
    return _SPACES.sub(r"\1", name.strip())


def _last(name: str) -> str:
    """Return a name without the namespaces before its arguments."""
    head, mark, rest = name.partition("<")
    return head.rpartition("::")[2] + mark + rest


class _Reader:
    """Reads the parts of a mangled name that template kernels usually have."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at

    def _next(self, mark: str) -> bool:
        found = self.text.startswith(mark, self.at)
        self.at += len(mark) * found
        return found

    def name(self, depth: int) -> str | None:
        """Return a name, in namespaces or not, with its arguments; None if it cannot be read."""
        if depth > _DEEPEST:
            return None
        if not self._next("N"):
            return self._plain(depth)
        parts = []
        while not self._next("E"):
            part = self._plain(depth)
            if part is None:
                return None
            parts.append(part)
        return "::".join(parts)

    def _plain(self, depth: int) -> str | None:
        length = _LENGTH.match(self.text, self.at)
        if length is None:
            return None
        start = length.end()
        self.at = start + int(length[0])
        name = self.text[start : self.at]
        name = _HALVES.get(name, name)
        if len(self.text) < self.at or not self._next("I"):
            return name if len(self.text) >= self.at else None
        arguments = []
        while not self._next("E"):
            argument = self._argument(depth + 1)
            if argument is None:
                return None
            arguments.append(argument)
        return f"{name}<{', '.join(arguments)}>"

    def _argument(self, depth: int) -> str | None:
        if depth > _DEEPEST:
            return None
        literal = _LITERAL.match(self.text, self.at)
        if literal is not None:
            self.at = literal.end()
            if literal[1] == "b":
                return "true" if literal[3] == "1" else "false"
            return ("-" if literal[2] else "") + literal[3]
        letter = self.text[self.at : self.at + 1]
        if letter in _MARKS:
            self.at += 1
            inner = self._argument(depth + 1)
            return None if inner is None else inner + _MARKS[letter]
        if letter == "K":
            self.at += 1
            inner = self._argument(depth + 1)
            return None if inner is None else f"const {inner}"
        if letter in _TYPES:
            self.at += 1
            return _TYPES[letter]
        return self.name(depth + 1)
