"""PTX text to tokens, with the line that each is on."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final, NoReturn

from perfmodel.errors import PerfmodelError, shown

MAX_BYTES: Final = 32 << 20
"""Longest text that is read: about a million instructions."""

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
"""The token behind the last one."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a text, and where they are."""

    name: str
    """Of the text, for messages."""
    texts: list[str]
    starts: list[int]
    newlines: list[int]

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

    Parameters
    ----------
    text : str
    name : str
        Of the text, for messages.

    Raises
    ------
    PerfmodelError
        If there is something that PTX does not have, or the text is longer than `MAX_BYTES`.
    """
    if len(text) > MAX_BYTES:
        raise too_long(name)
    texts: list[str] = []
    starts: list[int] = []
    for match in _TOKEN.finditer(text):
        group = match.lastindex
        if group == 1:
            texts.append(match[1])
            starts.append(match.start())
        elif group == 2:
            line = text.count("\n", 0, match.start()) + 1
            came = text[match.start() : match.start() + 20].splitlines()[0]
            raise PerfmodelError(f"{name}, line {line}: {shown(came)} is not PTX")
    texts.append(END)
    starts.append(len(text))
    newlines = [m.start() for m in re.finditer("\n", text)]
    return Tokens(name, texts, starts, newlines)


def too_long(name: str) -> PerfmodelError:
    """Return what to say of a text over `MAX_BYTES`."""
    return PerfmodelError(
        f"{name} is longer than {MAX_BYTES >> 20} MiB, the most that is read: take out the kernels "
        "that matter (cuobjdump -ptx -fun NAME)"
    )
