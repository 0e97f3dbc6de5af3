"""Names of template kernels as the source writes them: `saxpy<float, 256>` of a mangled name."""

import re
from typing import Final

_TYPES: Final = {
    **{"v": "void", "b": "bool", "f": "float", "d": "double"},
    **{"c": "char", "a": "signed char", "h": "unsigned char"},
    **{"s": "short", "i": "int", "l": "long", "x": "long long"},
    **{"t": "unsigned short", "j": "unsigned int", "m": "unsigned long", "y": "unsigned long long"},
}
"""Itanium C++ ABI, builtin types."""
_MARKS: Final = {"P": "*", "R": "&", "O": "&&"}
_LITERAL: Final = re.compile(r"L([a-z])(n?)(\d+)E")
_VALUE: Final = re.compile(r"(n?)(\d+)E")
_BEFORE: Final = re.compile(r"S([0-9A-Z]?)_")
_LENGTH: Final = re.compile(r"[1-9]\d{0,5}")
_DEEPEST: Final = 16
_HALVES: Final = {
    "__half": "half",
    "__half2": "half2",
    "__nv_bfloat16": "nv_bfloat16",
    "__nv_bfloat162": "nv_bfloat162",
}
_OTHERS: Final = {
    **_HALVES,
    "int8_t": "signed char",
    "uint8_t": "unsigned char",
    "int16_t": "short",
    "uint16_t": "unsigned short",
    "int32_t": "int",
    "uint32_t": "unsigned int",
    "int64_t": "long",
    "uint64_t": "unsigned long",
    "size_t": "unsigned long",
}
"""What a source may call a type that mangled names know by another name (64-bit Linux)."""
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_ALONE: Final = re.compile(r"\bunsigned(?! (?:int|char|short|long)\b)")
_SPACES: Final = re.compile(r"\s*([,<>*&:])\s*")


def source_name(mangled: str) -> str:
    """Return a kernel's name with its template's arguments; as it is if it cannot be read.

    Names in namespaces lose these.

    Examples
    --------
    >>> source_name("_Z5saxpyIfLi256EEvPKT_Pfi")
    'saxpy<float, 256>'
    >>> source_name("copy")
    'copy'
    """
    if not mangled.startswith("_Z"):
        return mangled
    try:
        return _last(_Reader(mangled, 2).name(0))
    except _UnreadError:
        return mangled


def is_named(mangled: str, wanted: str) -> bool:
    """Say whether a kernel is the one that is wanted, as the source writes it; spaces aside."""
    return "<" in wanted and _tight(source_name(mangled)) == _tight(wanted)


def starts_as(mangled: str, wanted: str) -> bool:
    """Say whether a kernel's name in the source begins as is wanted; spaces aside."""
    return bool(wanted) and _tight(source_name(mangled)).startswith(_tight(wanted))


def _tight(name: str) -> str:
    """Return a name without spaces that mean nothing, its types as mangled names know them."""
    known = _WORD.sub(lambda m: _OTHERS.get(m[0], m[0]), " ".join(name.split()))
    return _SPACES.sub(r"\1", _ALONE.sub("unsigned int", known))


def _last(name: str) -> str:
    """Return a name without the namespaces before its arguments."""
    head, mark, rest = name.partition("<")
    return head.rpartition("::")[2] + mark + rest


class _UnreadError(Exception):
    """A mangled name has a part that is not read."""


class _Reader:
    """Reads the parts of a mangled name that template kernels usually have.

    Its methods raise `_UnreadError` where one has others.
    """

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        # Names and types so far, which later ones may stand for by their number.
        self.seen: list[str] = []

    def _next(self, mark: str) -> bool:
        found = self.text.startswith(mark, self.at)
        self.at += len(mark) * found
        return found

    def name(self, depth: int) -> str:
        """Return a name, in namespaces or not, with its arguments."""
        if depth > _DEEPEST:
            raise _UnreadError
        if not self._next("N"):
            return self._plain(depth, "")
        before = ""
        while not self._next("E"):
            before = self._plain(depth, before)
        return before

    def _plain(self, depth: int, before: str) -> str:
        """Return a name behind a namespace, if any; note what may come again."""
        if self._next("St"):
            return "std"
        known = _BEFORE.match(self.text, self.at)
        if known is not None:
            self.at = known.end()
            number = int(known[1], 36) + 1 if known[1] else 0
            if number >= len(self.seen):
                raise _UnreadError
            name = self.seen[number]
        else:
            length = _LENGTH.match(self.text, self.at)
            if length is None:
                raise _UnreadError
            start = length.end()
            self.at = start + int(length[0])
            if len(self.text) < self.at:
                raise _UnreadError
            own = self.text[start : self.at]
            name = f"{before}::{own}" if before else _HALVES.get(own, own)
            self.seen.append(name)
        if not self._next("I"):
            return name
        found = f"{name}<{', '.join(self._arguments(depth))}>"
        self.seen.append(found)
        return found

    def _arguments(self, depth: int) -> list[str]:
        found: list[str] = []
        while not self._next("E"):
            if self._next("J"):  # a pack of them
                found += self._arguments(depth + 1)
            else:
                found.append(self._argument(depth + 1))
        return found

    def _argument(self, depth: int) -> str:
        if depth > _DEEPEST:
            raise _UnreadError
        literal = _LITERAL.match(self.text, self.at)
        if literal is not None:
            self.at = literal.end()
            if literal[1] == "b":
                return "true" if literal[3] == "1" else "false"
            return ("-" if literal[2] else "") + literal[3]
        if self._next("L"):  # of an enumeration, as c++filt writes it
            kind, value = self.name(depth + 1), _VALUE.match(self.text, self.at)
            if value is None:
                raise _UnreadError
            self.at = value.end()
            return f"({kind}){'-' * len(value[1])}{value[2]}"
        letter = self.text[self.at : self.at + 1]
        if letter in _MARKS or letter == "K":
            self.at += 1
            inner = self._argument(depth + 1)
            found = f"const {inner}" if letter == "K" else inner + _MARKS[letter]
            self.seen.append(found)
            return found
        if letter in _TYPES:
            self.at += 1
            return _TYPES[letter]
        return self.name(depth + 1)
