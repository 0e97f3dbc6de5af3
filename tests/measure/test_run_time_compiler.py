"""NVIDIA's run-time compiler, where it is installed."""

from __future__ import annotations

import sys

import pytest

from perfmodel.measure.run_time_compiler import (
    NoCompilerError,
    NotCompiledError,
    run_time_compiled,
)

SOURCE = b'extern "C" __global__ void nothing() {}'
OPTIONS = ["--gpu-architecture=sm_90"]


def test_ptx_and_machine_code() -> None:
    # by hand: PTX is text that names the kernel, machine code an ELF file
    pytest.importorskip("cuda.bindings.nvrtc")
    assert b".entry nothing" in run_time_compiled(SOURCE, b"nothing.cu", OPTIONS, "PTX")
    assert run_time_compiled(SOURCE, b"nothing.cu", OPTIONS, "CUBIN").startswith(b"\x7fELF")


def test_the_log_says_where_a_source_is_wrong() -> None:
    # by hand: the second line has no type of that name
    pytest.importorskip("cuda.bindings.nvrtc")
    with pytest.raises(NotCompiledError, match=r"wrong\.cu\(2\): error"):
        run_time_compiled(b"\nnone x;", b"wrong.cu", OPTIONS, "PTX")


def test_options_that_it_does_not_know_are_an_error() -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    with pytest.raises(NotCompiledError):
        run_time_compiled(SOURCE, b"nothing.cu", ["--no-such-option"], "PTX")


def test_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(NoCompilerError):
        run_time_compiled(SOURCE, b"nothing.cu", OPTIONS, "PTX")
