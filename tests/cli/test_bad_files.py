"""Files and numbers as nobody should give them: one line on standard error, and exit code 2."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

Refused = Callable[..., str]

PTX = """.version 8.0 .target sm_90 .address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1) {
.reg .b32 %r<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [k_param_0]; cvta.to.global.u64 %rd2, %rd1; ld.param.u32 %r3, [k_param_1];
mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd2, %rd3;
st.global.u32 [%rd4], %r3; ret; }
"""
GRID = ("--grid", "4", "--block", "32", "--arg", "1=3")


@pytest.fixture
def ptx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a kernel, and work in its folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.ptx").write_text(PTX)
    return tmp_path


KINDS = {
    "pipe": "not a regular file but a pipe",
    "zero": "not a regular file but a device",
    "folder": "a directory",
    "loop": "symbolic link that leads to itself",
    "missing": "does not exist",
}


def special(kind: str, path: Path) -> None:
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "zero":
            path.symlink_to("/dev/zero")
        case "folder":
            path.mkdir()
        case "loop":
            path.symlink_to(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="special files of POSIX")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("suffix", "words"),
    [
        (".npy", ("predict", "k.ptx", *GRID, "--arg", "0={}")),
        (".cu", ("predict", "{}", *GRID)),
        (".ptx", ("inspect", "{}")),
        (".cu", ("predict", "k.ptx", *GRID, "--with", "{}")),
        (".toml", ("predict", "{}")),
        (".toml", ("predict", "copy", "--device", "{}")),
        (".toml", ("predict", "k.ptx", "--launch", "{}")),
        (".toml", ("operators", "--model", "{}")),
    ],
)
def test_special_files(
    suffix: str, words: tuple[str, ...], kind: str, ptx: Path, refused: Refused
) -> None:
    """Property: refused before they are opened, for that may never return."""
    name = f"x{suffix}"
    special(kind, ptx / name)
    assert KINDS[kind] in refused(*(word.format(name) for word in words))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="special files of POSIX")
def test_outputs_replace_files_only_and_links_stay(ptx: Path, refused: Refused) -> None:
    os.mkfifo(ptx / "pipe.svg")
    assert "is not a regular file but a pipe" in refused("roofline", "copy", "-o", "pipe.svg")
    (ptx / "link.svg").symlink_to("target.svg")
    command = [sys.executable, "-m", "perfmodel", "roofline", "gemm", "-o", "link.svg"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    assert (ptx / "link.svg").readlink() == Path("target.svg")
    assert (ptx / "target.svg").read_text().startswith("<?xml")


def header(text: str) -> bytes:
    line = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(line).to_bytes(2, "little") + line + bytes(400)


def floats(shape: str) -> bytes:
    return header(f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}")


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"\x93NUMPY", b"\x93NUMPY\x09\x09" + bytes(90), b"PK\x03\x04" + bytes(50)),
        *(b"\x80\x04\x95" + b"a" * 40, bytes(100), b"\xff\xfe" * 50),
        b"\x93NUMPY\x02\x00" + (2**31).to_bytes(4, "little") + b"{" * 200,
        *(floats(s) for s in ("(-3,)", "'x'", "(1.5,)", f"({'9' * 24},)", "(999,)", "(1")),
        floats("(99999999, 99999999, 99999999, 999999999)"),
        header("{'descr': '|O', 'fortran_order': False, 'shape': (3,), }"),
        header("{'descr': '<U4', 'fortran_order': False, 'shape': (3,), }"),
        header("{'descr': '<f99', 'fortran_order': False, 'shape': (3,), }"),
        header("{'descr': __import__('os'), 'fortran_order': False, 'shape': (3,), }"),
        header("(" * 100),
    ],
)
def test_broken_arrays(content: bytes, ptx: Path, refused: Refused) -> None:
    (ptx / "x.npy").write_bytes(content)
    said = refused("predict", "k.ptx", *GRID, "--arg", "0=x.npy")
    assert said.startswith("--arg 0: 'x.npy' ")
    assert "array of numbers" in said or "numpy.save" in said


NUMBERS = (
    *("1e99999999999999999999", "1e-99999999999999999999", "nan", "-inf", "-1", "9" * 400),
    *("9" * 5000, "0x" + "f" * 400, "", "\udcff", "1:2:*", "1\n2", "a\0b", "$(x)", "\ufeff1"),
)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    "words",
    [
        ("predict", "copy", "-D", "bytes={}"),
        ("predict", "copy", "--set-aside", "{}"),
        ("predict", "copy", "--window", "{}"),
        ("predict", "copy", "--hit-ratio", "{}"),
        ("predict", "copy", "--compression", "{}"),
        ("predict", "copy", "--fetch-granularity", "{}"),
        ("predict", "k.ptx", "--grid", "{}", "--block", "32", "--arg", "1=1"),
        ("predict", "k.ptx", "--grid", "1", "--block", "32", "--arg", "1=1", "--shared", "{}"),
        ("predict", "k.ptx", *GRID, "--arg", "0={}"),
        ("simulate", "copy", "--sample", "{}"),
        ("sweep", "copy", "--over", "bytes={}"),
        ("operators", "--batch", "{}"),
    ],
)
def test_numbers(words: tuple[str, ...], number: str, ptx: Path, refused: Refused) -> None:
    refused(*(word.format(number) for word in words))


@pytest.mark.parametrize("number", ["000000001999", "0", "00", "2", "99999999999999999999"])
def test_numbers_of_launches(number: str, ptx: Path, refused: Refused) -> None:
    (ptx / "l.toml").write_text("[[launch]]\ngrid = [4]\nblock = [32]\narguments.k_param_1 = 1\n")
    said = refused("predict", "k.ptx", "--launch", f"l.toml:{number}")
    assert said.endswith("the file has launches 1 to 1")


def test_a_launch_by_its_name(ptx: Path, refused: Refused) -> None:
    (ptx / "l.toml").write_text('name = "large"\ngrid = [4]\nblock = [32]\n')
    said = refused("predict", "k.ptx", "--launch", "l.toml:large")
    assert said.endswith("after the colon comes the number of a launch, from 1")


@pytest.mark.parametrize(
    "line",
    [
        *("grid = []", 'grid = ["a"]', "grid = [nan]", "grid = [true]", "grid = 1979-05-27"),
        *(
            f"block = [{'9' * 400}]",
            f"block = [{'9' * 5000}]",
            "shared_bytes = inf",
            "arguments = 3",
        ),
        "arguments.k_param_0 = { bytes = '1e99999999999999999999' }",
        "arguments.k_param_0 = { bytes = 400, npy = 3 }",
        "arguments.k_param_0 = { bytes = 400, type = 'i32', fill = [] }",
        "arguments.k_param_0 = { fields = ['pad 99999999999'] }",
        "arguments.k_param_1 = 99999999999",
        "a = " + "[" * 2000 + "]" * 2000,
    ],
)
def test_launch_files(line: str, ptx: Path, refused: Refused) -> None:
    key = line.split(" ", maxsplit=1)[0]
    usual = ("grid = [4]", "block = [32]", "arguments.k_param_1 = 1")
    kept = [u for u in usual if not u.startswith(key)]
    (ptx / "l.toml").write_text("\n".join(["[[launch]]", *kept, line]))
    refused("predict", "k.ptx", "--launch", "l.toml")


def test_names_that_no_file_has(ptx: Path, refused: Refused) -> None:
    for name in ("a\0b", "x" * 300, "x" * 5000):
        refused("inspect", f"{name}.ptx")
        refused("report", "copy", "-o", name)
        refused("predict", "k.ptx", *GRID, "--arg", f"0={name}.npy")
    np.save(ptx / "good.npy", np.zeros(32, np.float32))
    if os.name == "posix" and os.getuid():
        (ptx / "good.npy").chmod(0)
        assert "Permission denied" in refused("predict", "k.ptx", *GRID, "--arg", "0=good.npy")
