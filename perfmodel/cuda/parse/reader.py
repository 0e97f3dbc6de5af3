"""The PTX reader: text to a `Module`.

A recursive-descent parser; its grammar, where ``x*`` is any number of x and ``[x]`` at most one::

    module      = (".version" number | ".target" word,* | ".address_size" number | file
                  | variable | function)*
    function    = linkage* (".entry" | ".func") ["(" parameter,* ")"] name
                  ["(" parameter,* ")"] (directive numbers)* (";" | block)
    block       = "{" statement* "}"
    statement   = register | variable | block | location | pragma | [label] table
                  | name ":" | [guard] instruction
    instruction = opcode operand,* ";"
    operand     = name [sign integer] | number | "[" operand [sign integer] ["," operand] "]"
                  | "{" operand,* "}" | "(" operand,* ")" | "!" operand | operand "|" operand
"""

import os
import re
from pathlib import Path
from typing import Final

from perfmodel.cuda.parse.body import Body, BodyReader
from perfmodel.cuda.parse.declarations import (
    SPACES,
    expect,
    integers,
    parameters,
    read_linkage,
    skip_parentheses,
    variables,
    word,
)
from perfmodel.cuda.parse.syntax import Function, Module, Parameter, Variable
from perfmodel.cuda.parse.tokens import END, MAX_BYTES, Tokens, tokenize, too_long
from perfmodel.errors import PerfmodelError
from perfmodel.text_files import check_regular, read_bytes

_ESCAPE: Final = re.compile(rb"\\([0-3][0-7]{2}|[^\n])")
_BINARIES: Final = {
    b"\x7fELF": "a cubin or object file; give its PTX (cuobjdump -ptx), or the .cu source",
    b"\x50\xed\x55\xba": "a fatbin; give its PTX (cuobjdump -ptx), or the .cu source",
}


def read_ptx(path: str | Path) -> Module:
    """Return what a PTX file says.

    Raises `PerfmodelError` if it cannot be read, or is not PTX.
    """
    return parse_ptx(read_ptx_text(path), Path(path).name)


def read_ptx_text(path: str | Path) -> str:
    """Return the text of a PTX file.

    Raises `PerfmodelError` if it cannot be read, is larger than `MAX_BYTES`, or is no text.
    """
    path = Path(path)
    where, wanted = f"program {str(path)!r}", "a .cu or .ptx file"
    if check_regular(path, where, wanted) > MAX_BYTES:
        raise too_long(path.name)
    content = read_bytes(path, where, wanted, MAX_BYTES)
    for magic, what in _BINARIES.items():
        if content.startswith(magic):
            raise PerfmodelError(f"{path.name} is {what}")
    content = content.rstrip(b"\0")
    if b"\0" in content:
        raise PerfmodelError(f"{path.name} is a binary file, not PTX, which is text")
    return content.decode("utf-8-sig", errors="replace")


def parse_ptx(text: str, name: str = "the PTX text") -> Module:
    """Return what a PTX text says.

    Raises `PerfmodelError` if it is not PTX, with the `name` of the text and the line.
    """
    if not text.strip():
        raise PerfmodelError(f"{name} is empty: expected PTX")
    tokens = tokenize(text, name)
    return _ModuleReader(tokens).read()


def _unescaped(text: str) -> str:
    """Return the name of a file, whose odd bytes compilers write in octal."""
    if "\\" not in text:
        return text
    found = _ESCAPE.sub(
        lambda m: bytes([int(m[1], 8)]) if m[1].isdigit() else m[1],
        text.encode(errors="surrogateescape"),
    )
    return os.fsdecode(found)


class _ModuleReader:
    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._version: tuple[int, int] | None = None
        self._target = ""
        self._functions: list[Function] = []
        self._variables: list[Variable] = []
        self._files: dict[int, str] = {}

    def read(self) -> Module:
        texts = self._tokens.texts
        if texts[0] != ".version":
            self._tokens.refuse(0, ".version, with which PTX begins")
        at = 0
        while texts[at] != END:
            at = self._statement(at)
        if self._version is None or not self._target:
            self._tokens.refuse(at, ".target, such as sm_90,")
        return Module(
            version=self._version,
            target=self._target,
            functions=tuple(self._functions),
            variables=tuple(self._variables),
            files=self._files,
        )

    def _statement(self, at: int) -> int:
        tokens, texts = self._tokens, self._tokens.texts
        text = texts[at]
        if text == ".version":
            major, _, minor = texts[at + 1].partition(".")
            if not (major.isdecimal() and minor.isdecimal() and len(texts[at + 1]) < 8):
                tokens.refuse(at + 1, "a version, such as 8.7,")
            self._version = (int(major), int(minor))
            return at + 2
        if text == ".target":
            return self._read_target(at + 1)
        if text == ".address_size":
            if texts[at + 1] not in ("32", "64"):
                tokens.refuse(at + 1, "32 or 64")
            return at + 2
        if text == ".file":
            return self._read_file(at + 1)
        if text == ".pragma" or text == ".alias":
            return self._skip_statement(at)
        linkage, at = read_linkage(tokens, at)
        if texts[at] in (".entry", ".func"):
            return self._read_function(at, linkage)
        if texts[at] in SPACES:
            found, at = variables(tokens, at, linkage, "")
            self._variables += found
            return at
        tokens.refuse(at, "a function, a variable or a directive")

    def _read_target(self, at: int) -> int:
        self._target, at = word(self._tokens, at, "a target, such as sm_90,")
        while self._tokens.texts[at] == ",":  # options, such as debug
            _, at = word(self._tokens, at + 1, "an option of the target")
        return at

    def _read_file(self, at: int) -> int:
        numbers, at = integers(self._tokens, at)
        text = self._tokens.texts[at]
        if len(numbers) != 1 or text[0] != '"':
            self._tokens.refuse(at, "a number and a name of a file")
        self._files[numbers[0]] = _unescaped(text[1:-1])
        if self._tokens.texts[at + 1] == ",":  # time stamp and size
            _, at = integers(self._tokens, at + 2)
            return at
        return at + 1

    def _skip_statement(self, at: int) -> int:
        while self._tokens.texts[at] not in (";", END):
            at += 1
        return expect(self._tokens, at, ";")

    def _read_function(self, at: int, linkage: str | None) -> int:
        tokens, texts = self._tokens, self._tokens.texts
        line = tokens.line(at)
        kernel = texts[at] == ".entry"
        at += 1
        if texts[at] == ".attribute":
            at = skip_parentheses(tokens, at + 1)
        results: tuple[Parameter, ...] = ()
        given: tuple[Parameter, ...] = ()
        if texts[at] == "(":
            results, at = parameters(tokens, at)
        name, at = word(tokens, at, "the function's name")
        if texts[at] == "(":
            given, at = parameters(tokens, at)
        directives: dict[str, tuple[int, ...]] = {}
        pragmas: list[tuple[int, str]] = []
        while texts[at][0] == ".":
            directive = texts[at][1:]
            if directive == "pragma":
                pragmas += [(0, t[1:-1]) for t in texts[at + 1 : at + 2] if t[0] == '"']
                at = self._skip_statement(at)
                continue
            directives[directive], at = integers(tokens, at + 1)
        defined = texts[at] == "{"
        if not defined and texts[at] != ";":
            tokens.refuse(at, "'{' or ';'")
        body, at = BodyReader(tokens).read(at + 1) if defined else (Body(), at + 1)
        self._functions.append(
            Function(
                *(name, kernel, given, results, linkage, directives, defined),
                registers=tuple(body.registers),
                variables=tuple(body.variables),
                instructions=tuple(body.instructions),
                labels=body.labels,
                branch_tables=body.branch_tables,
                pragmas=(*pragmas, *body.pragmas),
                line=line,
            )
        )
        return at
