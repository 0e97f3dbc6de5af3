"""Where in the user's files an instruction comes from: file and line, as outputs name it."""

import re
from os.path import dirname, normpath
from typing import Final

from perfmodel.cuda.parse.syntax import Module, SourceLine

_BACKSLASH: Final = chr(92)
_TOOLKIT: Final = re.compile(
    r"/(?:cuda[^/]*|nvidia/[^/]+|targets/[^/]+)/(?:.*/)?include/|^/usr/(?:local/)?include/"
)
"""Where headers of CUDA and of the system are."""


def outermost(source: SourceLine) -> SourceLine:
    """Return the line of the kernel itself that an inlined line came to, or the line."""
    while source.inlined_at is not None:
        source = source.inlined_at
    return source


def users_line(source: SourceLine, module: Module) -> SourceLine:
    """Return the innermost line that is not of a header of the toolkit; the outermost if all are.

    ``__ldg`` or an operator of ``half`` has its load in such a header: who wrote the kernel knows
    the line that calls it.
    """
    place = source
    while _TOOLKIT.search(_path(place, module)) and place.inlined_at is not None:
        place = place.inlined_at
    return place


def place_name(source: SourceLine, module: Module) -> str:
    """Return file and line, such as ``saxpy.cu:12``.

    Files of the program's folder are named relative to it, others by their path.
    """
    path = _path(source, module)
    first = module.files[min(module.files)] if module.files else ""
    root = f"{normpath(module.folder or dirname(first.replace(_BACKSLASH, '/')))}/"
    return f"{path.removeprefix(root)}:{source.line}"


def _path(source: SourceLine, module: Module) -> str:
    path = module.files.get(source.file, "").replace(_BACKSLASH, "/")
    return normpath(path) if path else ""
