"""CUDA source to PTX: by nvcc if it is there, else by NVRTC from NVIDIA's wheels.

nvcc hands file names to a shell, in which ``$(...)`` in a name is a command, and takes a name that
starts with ``-`` for an option; NVRTC writes quotes of a name into PTX as they are. So a compiler
is given a file of our own that includes the user's: a symbolic link of a fixed name leads to the
user's folder, and the file's name stands in the text alone.
"""

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final
from zlib import crc32

from perfmodel.cuda.compile.toolchain import check_architecture, find_tool, first_error, run_tool
from perfmodel.errors import PerfmodelError, shown
from perfmodel.measure.run_time_compiler import (
    NoCompilerError,
    NotCompiledError,
    run_time_compiled,
)
from perfmodel.records import record
from perfmodel.text_files import check_regular

SOURCE: Final = "kernel.cu"
"""What the compiler is given."""
_OWN_NAMES: Final = "9_kernel_cu_"
"""How it stands in names: with its length, as in mangled names."""
_FOLDER: Final = "source"
"""Link to the folder of the user's file."""
_SAFE: Final = re.compile(r"[\w./+-]+", re.ASCII)
_NO_INCLUDE: Final = re.compile(r'["\\\x00-\x1f\x7f\ud800-\udfff]')
_PLACES: Final = ("/tmp", "/var/tmp")
_INCLUDE: Final = re.compile(r"(-I|--include-path=?|-isystem=?|--system-include=?)(.*)", re.DOTALL)
_MACRO: Final = re.compile(r"-[DU][^$`\\\x00-\x1f\x7f]*")
"""Macros: nvcc hands them on between double quotes."""
_OPTION: Final = re.compile(r"[\w./:=,+@%-]+")


@record
class Staged:
    """A private folder with what one run of a compiler needs."""

    folder: Path
    path: Path  # of the user's source
    folders: tuple[Path, ...]  # of the user, that headers are looked for in

    @property
    def source(self) -> Path:
        """What the compiler is given."""
        return self.folder / SOURCE

    @property
    def includes(self) -> tuple[str, ...]:
        """Options with the folders that headers are looked for in."""
        return tuple(f"-I{self.folder}/include-{n}" for n in range(len(self.folders)))

    def in_messages(self, text: str) -> str:
        """Return a compiler's messages with the user's names of files."""
        parent = "" if self.path.parent == Path() else f"{self.path.parent}/"
        found = text.replace(f"{self.folder}/{_FOLDER}/", parent)
        for number, include in enumerate(self.folders):
            found = found.replace(f"{self.folder}/include-{number}/", f"{include}/")
        return found

    def in_ptx(self, text: str) -> str:
        """Return PTX with the user's names of files, and the same names in every run.

        Names of what only this source sees hold a hash of the path that was compiled.
        """
        stable = f"_{crc32(os.fsencode(self.path.name)):08x}_{_OWN_NAMES}"
        text = re.sub(f"_[0-9a-f]{{8}}_{_OWN_NAMES}", stable, text)
        found = text.replace(f'"{self.folder}/{_FOLDER}/', f'"{_escaped(self.path.parent)}/')
        for number, include in enumerate(self.folders):
            found = found.replace(f'"{self.folder}/include-{number}/', f'"{_escaped(include)}/')
        return found


@contextmanager
def staged(path: Path, includes: Sequence[str]) -> Iterator[Staged]:
    """Give a private folder with a file that includes the user's source.

    `path`: a CUDA source; `includes`: folders that headers are looked for in. Raises
    `PerfmodelError` if the name cannot stand in an ``#include``, or there is no place for the
    folder.
    """
    if _NO_INCLUDE.search(path.name):
        raise PerfmodelError(
            f"source {shown(path.name)} has a quote, backslash, control character or a byte that "
            "is not UTF-8 in its name, which C++ cannot include: rename the file"
        )
    with private_folder() as folder:
        try:
            (folder / _FOLDER).symlink_to(path.parent.absolute(), target_is_directory=True)
            for number, include in enumerate(includes):
                (folder / f"include-{number}").symlink_to(Path(include).absolute())
            text = b'#include "%s/%s/%s"\n' % tuple(
                os.fsencode(part) for part in (folder, _FOLDER, path.name)
            )
            (folder / SOURCE).write_bytes(text)
        except OSError as error:
            raise PerfmodelError(
                f"temporary folder {str(folder)!r}: {error.strerror or error}"
            ) from None
        yield Staged(folder, path, tuple(map(Path, includes)))


def _escaped(path: Path) -> str:
    """Return an absolute path as PTX's strings have it: odd bytes in octal."""
    odd = b'"\\'
    return "".join(
        chr(byte) if 32 <= byte < 127 and byte not in odd else f"\\{byte:03o}"
        for byte in os.fsencode(path.absolute())
    )


@contextmanager
def private_folder() -> Iterator[Path]:
    """Give a temporary folder of the user alone, whose name means nothing to a shell."""
    usual = tempfile.gettempdir()
    places = [p for p in (usual, *_PLACES) if _SAFE.fullmatch(p) and os.access(p, os.W_OK)]
    if not places:
        raise PerfmodelError(
            f"temporary folder {shown(usual)} has characters that a shell reads, or cannot be "
            "written: set TMPDIR to another"
        )
    with tempfile.TemporaryDirectory(
        prefix="perfmodel-", dir=places[0], ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


def split_options(options: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the folders that options of a compiler name for headers, and the other options.

    `options`: such as ``-Iinclude``, ``-I``, ``include``, ``-DN=4``. Raises `PerfmodelError` if an
    option has a character that a shell, which nvcc hands it to, would read.
    """
    folders: list[str] = []
    others: list[str] = []
    waiting = iter(options)
    for option in waiting:
        if found := _INCLUDE.fullmatch(option):
            folder = found[2] or next(waiting, "")
            folders.append(folder)
        elif _MACRO.fullmatch(option) or _OPTION.fullmatch(option):
            others.append(option)
        else:
            raise PerfmodelError(
                f"compiler option {shown(option)} has a character that a shell reads, or none at "
                "all: options take letters, digits and . / : = , + @ % -, and macros (-D) all but "
                "$, ` and \\; put others into a header"
            )
    for folder in folders:
        if not os.path.isdir(folder):
            raise PerfmodelError(f"-I {shown(folder)} is not a folder: give one with headers")
    return tuple(folders), tuple(others)


_REMEDY: Final = "install the CUDA toolkit or perfmodel[gpu], or give the kernel's PTX"
_USUAL: Final = ("--extended-lambda", "--expt-relaxed-constexpr")
"""What many projects compile with: device lambdas, and constexpr functions of the host."""
_MOST_SOURCE: Final = 16 << 20
_OTHER_TARGET: Final = "not supported on .target"
"""What nvcc says of instructions that a target lacks."""
_WITH_SPECIFIC: Final = frozenset({"sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"})
"""Targets that have a specific one, with an "a": CUDA programming guide 13.0, feature sets."""


@record
class Compiled:
    """What a compiler made of a source."""

    ptx: str
    compiler: str  # such as ``nvcc 13.0``


def compile_ptx(
    path: str | Path, architecture: str = "sm_90", options: Sequence[str] = ()
) -> Compiled:
    """Return the PTX of a CUDA source, with source lines.

    Instructions that only an architecture-specific target has, such as those of wgmma, make it
    ``sm_90a`` where ``sm_90`` is asked for. `options` are nvcc's, or NVRTC's, such as ``-DN=4`` or
    ``-I include``. Raises `PerfmodelError` if
    there is no compiler, or the source does not compile, with the compiler's first message.
    """
    path = Path(path)
    check_architecture(architecture)
    if check_regular(path, f"source {str(path)!r}", "a .cu or .ptx file") > _MOST_SOURCE:
        raise PerfmodelError(f"{path.name} is larger than {_MOST_SOURCE >> 20} MiB")
    includes, others = split_options(options)
    nvcc = find_tool("nvcc")
    with staged(path, includes) as inside:
        if nvcc is None:
            return _by_nvrtc(inside, architecture, others)
        try:
            return _by_nvcc(nvcc, inside, architecture, others)
        except PerfmodelError as error:
            if _OTHER_TARGET not in str(error) or architecture not in _WITH_SPECIFIC:
                raise
            return _by_nvcc(nvcc, inside, f"{architecture}a", others)


def _by_nvcc(nvcc: str, inside: Staged, architecture: str, options: Sequence[str]) -> Compiled:
    name, made = inside.path.name, inside.folder / "kernel.ptx"
    ended = run_tool(
        [
            *(nvcc, f"-arch={architecture}", "-lineinfo", "-ptx", "-std=c++17", "-x", "cu"),
            *_USUAL,
            *(*inside.includes, *options, "-o", str(made), str(inside.source)),
        ],
        f"nvcc on {name}",
        inside.folder,
    )
    if ended.returncode != 0 or not made.exists():
        message = first_error(inside.in_messages(ended.stderr + ended.stdout))
        raise PerfmodelError(f"{name} does not compile by nvcc: {message}")
    text = made.read_text(encoding="utf-8", errors="replace")
    return Compiled(inside.in_ptx(text), _nvcc_version(nvcc))


@cache
def _nvcc_version(nvcc: str) -> str:
    text = run_tool([nvcc, "--version"], "nvcc").stdout
    _, _, behind = text.partition("release ")
    return f"nvcc {behind.partition(',')[0]}" if behind else "nvcc"


def _by_nvrtc(inside: Staged, architecture: str, options: Sequence[str]) -> Compiled:
    name, called = inside.path.name, os.fsencode(inside.source)
    told = [f"--gpu-architecture={architecture}", "--std=c++17", "-lineinfo", *inside.includes]
    try:
        ptx = run_time_compiled(inside.source.read_bytes(), called, [*told, *options], "PTX")
    except NoCompilerError as error:
        reason = str(error)[:120]
        raise PerfmodelError(
            f"{name}: no CUDA compiler here{reason and f' ({reason})'}: {_REMEDY}"
        ) from None
    except NotCompiledError as error:
        raise PerfmodelError(
            f"{name} does not compile by NVRTC, which takes device code only: "
            + first_error(inside.in_messages(str(error)))
        ) from None
    from cuda.bindings import nvrtc

    _, major, minor = nvrtc.nvrtcVersion()
    text = ptx.rstrip(b"\0").decode(errors="replace")
    return Compiled(inside.in_ptx(text), f"NVRTC {major}.{minor}")
