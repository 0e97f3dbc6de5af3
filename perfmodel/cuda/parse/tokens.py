"""PTX text to tokens, with the line that each is on."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from typing import Final, NoReturn

from perfmodel.errors import PerfmodelError, shown
from perfmodel.records import record

MAX_BYTES: Final = 64 << 20
MAX_TOKENS: Final = 12_000_000
"""Longest text that is read: some two million instructions, a minute and 2 GB."""

# The first character tells what a token is: a letter, `_`, `$` or `%` a word (an opcode comes with
# its modifiers), a digit a number, `.` a directive or modifier, `"` a string; else punctuation.
_TOKEN: Final = re.compile(
    r"""
      [ \t\r\n\f\v]+ | //[^\n]* | /\*(?:[^*]|\*(?!/))*\*/      # nothing
    | @@DWARF[^\n]* | \.section\b[^{};]*\{[^{}]*\}             # debug information
    | ( [A-Za-z_$][\w$]*(?:\.\w+(?:::\w+)*)*
      | %[A-Za-z_$][\w$]*(?:\.\w+)*
      | \.[A-Za-z_]\w*(?:::\w+)*
      | 0[fF][0-9a-fA-F]{8}(?!\w) | 0[dD][0-9a-fA-F]{16}(?!\w)
      | 0[xX][0-9a-fA-F]+U?(?!\w) | 0[bB][01]+U?(?!\w)
      | \d+\.\d*(?:[eE][-+]?\d+)?(?!\w) | \d+[eE][-+]?\d+(?!\w)
      | \d+U?(?!\w)
      | "(?:[^"\\\n]|\\.)*"
      | <<|>>|[{}\[\]()<>,;:@!|+\-*/~=&^?%]
      )
    | (.)                                                       # nothing that PTX has
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)

END: Final = "\0"
"""The tokens behind the last one."""
_LOOK_AHEAD: Final = 8
"""So many, for no reader looks further ahead than this."""


@record
class Tokens:
    """The tokens of a text, and where they are."""

    name: str  # of the text, for messages
    texts: list[str]
    starts: array[int]
    newlines: array[int]

    def line(self, index: int) -> int:
        """Return the line of a token, from 1."""
        return bisect_right(self.newlines, self.starts[index]) + 1

    def refuse(self, index: int, wanted: str) -> NoReturn:
        """Say what was expected where token `index` stands."""
        text = self.texts[index]
        came = "the text ends" if text == END else f"{shown(text)} came"
        hint = "; is the file whole?" if text == END else ""
        raise PerfmodelError(
            f"{self.name}, line {self.line(index)}: expected {wanted}, but {came}{hint}"
        )


def tokenize(text: str, name: str) -> Tokens:
    """Return the tokens of a PTX text.

    Raises `PerfmodelError`, with the `name` of the text, if there is something that PTX does not
    have, or it is longer than `MAX_BYTES`.
    """
    if len(text) > MAX_BYTES:
        raise too_long(name)
    texts: list[str] = []
    starts = array("L")
    known: dict[str, str] = {}  # the same text is one object
    for match in _TOKEN.finditer(text):
        group = match.lastindex
        if group == 1:
            token = match[1]
            texts.append(known.setdefault(token, token))
            starts.append(match.start())
        elif group == 2:
            line = text.count("\n", 0, match.start()) + 1
            came = text[match.start() : match.start() + 20].splitlines()[0]
            raise PerfmodelError(f"{name}, line {line}: {shown(came)} is not PTX")
    if len(texts) > MAX_TOKENS:
        raise too_long(name)
    texts += [END] * _LOOK_AHEAD
    starts.extend([len(text)] * _LOOK_AHEAD)
    newlines = array("L", (m.start() for m in re.finditer("\n", text)))
    return Tokens(name, texts, starts, newlines)


def too_long(name: str) -> PerfmodelError:
    """Return what to say of a text over `MAX_BYTES`."""
    return PerfmodelError(
        f"{name} is longer than {MAX_BYTES >> 20} MiB or {MAX_TOKENS} words, all that is read: "
        "take out the kernels that matter (cuobjdump -ptx -fun NAME)"
    )
