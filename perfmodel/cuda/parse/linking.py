"""Several PTX texts made one, as a linker does it: what one declares, another may define.

Names without linkage belong to their text, and are renamed where another has them too. What ptxas
makes of the whole, it may inline across files, as link-time optimisation does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from perfmodel.cuda.parse.declarations import LINKAGE, SPACES
from perfmodel.cuda.parse.tokens import END, Tokens, tokenize
from perfmodel.errors import PerfmodelError
from perfmodel.records import record

_HEADER: Final = frozenset({".version", ".target", ".address_size"})
_FUNCTIONS: Final = (".func", ".entry")


@record
class _Statement:
    """A statement outside of functions: tokens from `start` to before `end`."""

    start: int
    end: int
    linkage: str  # such as ``.extern``; empty without
    name: str
    function: bool
    body: bool  # whether it defines a function, or a variable

    @property
    def turn(self) -> int:
        """When it is written: variables, then declarations of functions, then all others."""
        return 0 if self.name and not self.function else 1 if self.function and not self.body else 2


@dataclass
class _Text:
    """One of the texts, while they are linked."""

    name: str
    text: str
    tokens: Tokens
    statements: list[_Statement]
    renamed: dict[str, str] = field(default_factory=dict)
    shift: int = 0  # added to its numbers of files

    def written(self, start: int, end: int) -> str:
        """Return tokens as they stand in the text, with their new names and numbers."""
        texts, starts = self.tokens.texts, self.tokens.starts
        parts, at = [], starts[start]
        for i in range(start, end):
            new = self.renamed.get(texts[i])
            if self.shift and texts[i].isdecimal() and texts[i - 1] in _BEFORE_FILE:
                new = str(int(texts[i][:9]) + self.shift)
            if new is not None:
                parts += [self.text[at : starts[i]], new]
                at = starts[i] + len(texts[i])
        return "".join([*parts, self.text[at : starts[end - 1] + len(texts[end - 1])]])


_BEFORE_FILE: Final = (".file", ".loc", "inlined_at")


def linked(texts: Sequence[tuple[str, str]]) -> str:
    """Return one PTX text of several, each with its name for messages.

    The first says for which GPU. Raises `PerfmodelError` if one is not PTX, or two define the same
    name.
    """
    read = [_read(name, text) for name, text in texts]
    owners = _owners(read)
    _rename(read)
    written = [_header(read)]
    done: set[tuple[int, str]] = set()
    for turn in range(3):  # variables and declarations first: they come before what uses them
        for text, s in ((t, s) for t in read for s in t.statements if s.turn == turn):
            name = text.renamed.get(s.name, s.name)
            kept = not s.linkage or owners.get(s.name) in (None, text.name)
            if name and ((turn, name) in done or not (turn == 1 or kept)):
                continue
            done.add((turn, name))
            if turn == 1 and s.linkage == ".extern" and s.name in owners:
                written.append(f"{_linkage_of(name, read)} {text.written(s.start + 1, s.end)}")
            else:
                written.append(text.written(s.start, s.end))
    return "\n".join([*written, _labels(read)])


def _read(name: str, text: str) -> _Text:
    tokens = tokenize(text, name)
    if tokens.texts[0] != ".version":
        tokens.refuse(0, ".version, with which PTX begins")
    return _Text(name, text, tokens, _statements(tokens))


def _statements(tokens: Tokens) -> list[_Statement]:
    texts = tokens.texts
    found, at = [], 0
    while texts[at] != END:
        start = at
        if texts[at] in _HEADER or texts[at] == ".file":
            number = 2 if texts[at] == ".file" else 1
            at += number + 1
            while texts[at] == ",":  # more targets; time stamp and size of a file
                at += 2
            if texts[start] == ".file":
                found.append(_Statement(start, at, "", "", False, False))
            continue
        at = _end(tokens, at)
        found.append(_statement(tokens, start, at))
    return found


def _end(tokens: Tokens, at: int) -> int:
    """Return the token behind a statement: its semicolon, or the end of a function's body."""
    texts, depth, function = tokens.texts, 0, False
    while True:
        text = texts[at]
        if text == END:
            tokens.refuse(at, "';' or '}'")
        function = function or text in _FUNCTIONS
        depth += (text == "{") - (text == "}")
        at += 1
        if depth == 0 and (text == ";" or (text == "}" and function)):
            return at


def _statement(tokens: Tokens, start: int, end: int) -> _Statement:
    texts = tokens.texts
    linkage, name, depth = "", "", 0
    kind = ""
    for text in texts[start:end]:
        if text in LINKAGE:
            linkage = text
        elif not kind and (text in _FUNCTIONS or text in SPACES):
            kind = text
        depth += (text == "(") - (text == ")")
        if depth == 0 and (text[0] in "_$%" or text[0].isalpha()):
            name = text
            break
    function = kind in _FUNCTIONS
    body = texts[end - 1] == "}" if function else linkage != ".extern"
    return _Statement(start, end, linkage, name if kind else "", function, body)


def _owners(read: Sequence[_Text]) -> dict[str, str]:
    """Return which text defines each name that all can see; of weak ones the first does."""
    found: dict[str, str] = {}
    strong: set[str] = set()
    for text in read:
        for s in text.statements:
            if not s.body or not s.linkage or not s.name:
                continue
            weak = s.linkage in (".weak", ".common")
            if not weak and s.name in strong:
                raise PerfmodelError(
                    f"{found[s.name]} and {text.name} both define {s.name}: give one of them, or "
                    "make it static in one"
                )
            if not weak or s.name not in found:
                found[s.name] = text.name
            if not weak:
                strong.add(s.name)
    return found


def _rename(read: Sequence[_Text]) -> None:
    """Choose other names for those of one text that another has too, and numbers of files."""
    seen: set[str] = {s.name for t in read for s in t.statements if s.linkage}
    files = 0
    for number, text in enumerate(read):
        own = {s.name for s in text.statements if not s.linkage and s.name}
        own -= {s.name for s in text.statements if s.linkage}
        text.renamed = {name: f"{name}__{number}" for name in own & seen}
        seen |= own
        text.shift = files
        tokens = text.tokens.texts
        numbers = [
            int(tokens[s.start + 1][:9])
            for s in text.statements
            if tokens[s.start] == ".file" and tokens[s.start + 1].isdecimal()
        ]
        files += max(numbers, default=0)


def _header(read: Sequence[_Text]) -> str:
    def version(text: _Text) -> tuple[int, ...]:
        return tuple(int(part[:4]) for part in text.tokens.texts[1].split(".") if part.isdecimal())

    newest = max(read, key=version)
    first = read[0].tokens
    end, marks = 2, (*_HEADER, ",")
    while first.texts[end] in marks or first.texts[end - 1] in marks:
        end += 1
    rest = read[0].text[first.starts[2] : first.starts[end - 1] + len(first.texts[end - 1])]
    return f".version {newest.tokens.texts[1]}\n{rest}"


def _linkage_of(name: str, read: Sequence[_Text]) -> str:
    """Return the linkage with which a name is defined."""
    defined = [s for t in read for s in t.statements if s.name == name and s.body]
    return next((s.linkage for s in defined if s.linkage != ".weak"), ".weak")


def _labels(read: Sequence[_Text]) -> str:
    """Return a table that has the labels of names of inlined functions; the names are not read."""
    labels = {
        t.tokens.texts[i + 1]
        for t in read
        for i, token in enumerate(t.tokens.texts)
        if token == "function_name"
    }
    if not labels:
        return ""
    lines = "".join(f"{label}:\n" for label in sorted(labels))
    return f".section .debug_str\n{{\n{lines}.b8 0\n}}\n"
