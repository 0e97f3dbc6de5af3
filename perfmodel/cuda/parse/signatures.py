"""Names of kernel parameters, from CUDA source: PTX only numbers them."""

import re
from typing import Final

_NOISE: Final = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", re.DOTALL)
_KERNEL: Final = re.compile(r"\b__global__\b")
_NAME: Final = re.compile(r"([A-Za-z_]\w*)\s*\(")
_ATTRIBUTE: Final = re.compile(r"(?:__launch_bounds__|__attribute__|__cluster_dims__|alignas)\s*\(")
_LAST_NAME: Final = re.compile(r"([A-Za-z_]\w*)\s*\)?\s*(?:\[[^\]]*\]\s*)*$")
_LONGEST: Final = 10_000
"""Characters of one signature."""


def parameter_names(source: str) -> dict[str, tuple[str, ...]]:
    """Return the parameters' names of each ``__global__`` function of a source, in order.

    What the preprocessor would change is not seen: a kernel that a macro makes is not found.
    """
    text = _NOISE.sub(" ", source)
    found: dict[str, tuple[str, ...]] = {}
    for match in _KERNEL.finditer(text):
        head = text[match.end() : match.end() + _LONGEST]
        while attribute := _ATTRIBUTE.search(head):
            if (name := _NAME.search(head)) and name.start() < attribute.start():
                break
            head = head[: attribute.start()] + head[_closing(head, attribute.end()) :]
        name = _NAME.search(head)
        if name is None:
            continue
        inside = head[name.end() : _closing(head, name.end()) - 1]
        parts = [p for p in split(inside, "()<>[]{}") if p.strip() and p.strip() != "void"]
        names = [_LAST_NAME.search(part.split("=")[0].strip()) for part in parts]
        if all(names):
            found[name[1]] = tuple(n[1] for n in names if n)
    return found


def names_of(kernel: str, source_names: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the parameters' names of a kernel, by its name in PTX; () if unknown."""
    return source_names.get(kernel, source_names.get(base_name(kernel), ()))


def base_name(kernel: str) -> str:
    """Return the last identifier of a mangled name, or the name itself if it is not mangled."""
    # Itanium mangling spells an identifier as its length and itself.
    if not kernel.startswith("_Z"):
        return kernel
    # Names in namespaces stand one behind the other; behind others come the parameters' types.
    nested = kernel[2:3] == "N"
    at = 2 + nested
    found = kernel
    while match := re.match(r"(\d+)", kernel[at:]):
        start = at + match.end()
        found = kernel[start : start + int(match[1][:6])]
        at = start + len(found)
        if not nested:
            break
    return found


def _closing(text: str, at: int) -> int:
    """Return the place behind the parenthesis that closes the one before `at`."""
    depth = 1
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i + 1
    return len(text)


def split(text: str, brackets: str = "()") -> list[str]:
    """Return the parts between commas that stand in no brackets, whose pairs are given."""
    parts, depth, start = [], 0, 0
    for i, character in enumerate(text):
        depth += (character in brackets[::2]) - (character in brackets[1::2])
        if character == "," and depth <= 0:
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]]
