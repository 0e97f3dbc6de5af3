"""The built-in kernels: their names, what they state, and finding them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from perfmodel.expressions import text
from perfmodel.kernels import (
    Kernel,
    bind,
    builtin,
    builtin_names,
    check_bounds,
    find_kernel,
    load_kernel,
    mappings,
)
from perfmodel.kernels.library import DEFAULT_MAPPINGS, LIBRARY, MAPPINGS

Refusal = Callable[..., str]
ALL = [(name, mapping) for name in builtin_names() for mapping in mappings(name) or [None]]


def parameters(kernel: Kernel) -> dict[str, str | None]:
    return {p.name: None if p.default is None else text(p.default) for p in kernel.parameters}


def test_names_and_parameters() -> None:
    # regression: these names are the command line's, and are not to change
    assert builtin_names() == [
        "argmax",
        "atomic-add",
        "atomic-privatized",
        "cas-loop",
        "copy",
        "data-reset",
        "decode-attention",
        "decode-combine",
        "embedding",
        "ffn-gemv",
        "gather",
        "gemm",
        "kv-append",
        "layernorm",
        "lock-loop",
        "prefill-attention",
        "read",
        "shared-atomic",
        "softmax",
        "stream-persistent",
        "strided-copy",
        "working-set-read",
        "write",
    ]
    assert mappings("gemm") == [
        *("naive", "coalesced", "smem", "blocktile-1d", "blocktile-2d", "vectorized", "warptile"),
        "tensor-core",
    ]
    assert mappings("prefill-attention") == ["naive", "tiled", "wgmma"]
    assert mappings("decode-attention") == ["flash", "split"]
    assert mappings("ffn-gemv") == ["rows", "warp"]
    assert mappings("copy") == []
    stream = {"bytes": "1 << 28", "vector": "16", "block": "256"}
    for name in ("copy", "read", "write"):
        assert parameters(builtin(name)) == stream
    for mapping in ("naive", "coalesced"):
        assert parameters(builtin("gemm", mapping)) == {"N": "4096", "M": "N", "K": "N"}
    assert parameters(builtin("strided-copy")) == {"n": "1 << 24", "stride": "2", "offset": "0"}
    atomic = builtin("atomic-add")
    names = ["n", "addresses", "spacing", "dtype", "returns", "pattern"]
    assert [p.name for p in atomic.parameters] == names
    assert {p.name: p.shown(0) for p in atomic.parameters if p.words} == {
        "dtype": "int32",
        "returns": "false",
        "pattern": "modulo",
    }
    assert [p.name for p in builtin("atomic-privatized").parameters] == ["n", "block", "dtype"]
    first = [p.name for p in builtin("shared-atomic").parameters][:3]
    assert first == ["blocks", "iterations", "addresses"]
    assert list(parameters(builtin("gather"))) == ["n", "run", "table_bytes"]
    assert parameters(builtin("gather"))["run"] == "1"
    assert list(parameters(builtin("working-set-read"))) == ["bytes", "iterations", "blocks"]
    assert list(parameters(builtin("data-reset"))) == ["in_bytes", "out_bytes"]
    assert list(parameters(builtin("stream-persistent"))) == ["persistent_bytes", "stream_bytes"]
    for name in ("softmax", "layernorm", "argmax"):
        assert list(parameters(builtin(name))) == ["rows", "cols", "dtype"]
    assert list(parameters(builtin("ffn-gemv"))) == ["rows", "columns", "dtype", "batch"]
    assert list(parameters(builtin("embedding"))) == ["table_bytes", "stream_bytes", "lookups"]


def test_every_file_is_reached() -> None:
    reached = {f"{name}-{mapping}" if mapping else name for name, mapping in ALL}
    assert reached == {path.stem for path in LIBRARY.glob("*.toml")}
    assert set(DEFAULT_MAPPINGS) == set(MAPPINGS)
    assert all(DEFAULT_MAPPINGS[name] in known for name, known in MAPPINGS.items())


@pytest.mark.parametrize(("name", "mapping"), ALL)
def test_builtin(name: str, mapping: str | None) -> None:
    kernel = builtin(name, mapping)
    assert kernel.name == name
    assert kernel.mapping == (mapping or "")
    assert kernel.summary
    assert all(parameter.summary for parameter in kernel.parameters)
    assert kernel is builtin(name, mapping)
    assert kernel == find_kernel(name, mapping)
    stem = f"{name}-{mapping}" if mapping else name
    assert kernel == load_kernel(LIBRARY / f"{stem}.toml")
    check_bounds(bind(kernel))


def test_default_mapping() -> None:
    assert builtin("gemm").mapping == "coalesced"


@pytest.mark.parametrize("vector", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("size", [16, 17, 4096, 1000003])
def test_streams_stay_in_their_buffers(size: int, vector: int) -> None:
    for name in ("copy", "read", "write"):
        check_bounds(bind(builtin(name), {"bytes": size, "vector": vector}))


@pytest.mark.parametrize("mapping", ["naive", "coalesced"])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (33, 31, 7), (64, 100, 1), (1, 4097, 3)])
def test_gemm_stays_in_its_buffers(sizes: tuple[int, int, int], mapping: str) -> None:
    check_bounds(bind(builtin("gemm", mapping), dict(zip("MNK", sizes, strict=True))))


@pytest.mark.parametrize(("stride", "offset"), [(0, 0), (1, 0), (3, 5), (32, 31)])
def test_strided_copy_stays_in_its_buffers(stride: int, offset: int) -> None:
    values = {"n": 1000, "stride": stride, "offset": offset}
    check_bounds(bind(builtin("strided-copy"), values))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("data-reset", {"in_bytes": 48, "out_bytes": 100_000}),
        ("data-reset", {"in_bytes": 1 << 20, "out_bytes": 16}),
        ("stream-persistent", {"persistent_bytes": 4112, "stream_bytes": 70_000}),
        ("gather", {"n": 1001, "run": 7, "table_bytes": 4000}),
        ("gather", {"n": 64, "run": 64, "table_bytes": 256}),
        ("working-set-read", {"bytes": 5_000_000, "iterations": 3, "blocks": 7}),
        ("embedding", {"table_bytes": 1000, "stream_bytes": 100_004, "lookups": 300}),
    ],
)
def test_re_reading_kernels_stay_in_their_buffers(name: str, values: dict[str, int]) -> None:
    check_bounds(bind(builtin(name), values))


def test_gather_needs_a_table_of_one_run(refusal: Refusal) -> None:
    values = {"n": 64, "run": 64, "table_bytes": 100}
    assert "chooses among fewer than one" in refusal(
        lambda: check_bounds(bind(builtin("gather"), values))
    )


# measured: warp instructions of a warp by the profiler, sm_90, nvcc 13.0
@pytest.mark.parametrize(
    ("name", "vector", "instructions"),
    [
        ("copy", 16, 22),
        ("read", 16, 20),
        ("read", 8, 18),
        ("read", 4, 17),
        ("write", 16, 18),
        ("write", 4, 17),
    ],
)
def test_instructions_of_streams(name: str, vector: int, instructions: int) -> None:
    instance = bind(builtin(name), {"vector": vector})
    assert sum(instance.counts) + len(instance.kernel.accesses) == instructions


@pytest.mark.parametrize("mapping", ["naive", "coalesced"])
def test_instructions_of_gemm(mapping: str) -> None:
    # measured: as above, 4.57 a step of k and about 30 outside
    instance = bind(builtin("gemm", mapping))
    kernel = instance.kernel
    counts = {"k": 0.0, None: 0.0}
    for entry, count in zip(kernel.arithmetic, instance.counts, strict=True):
        counts[entry.loop] += count
    for access in kernel.accesses:
        counts[access.loop] += 1
    assert counts == {"k": pytest.approx(4.57), None: 30}


def test_unknown_names(refusal: Refusal) -> None:
    assert refusal(builtin, "gem").startswith("unknown kernel 'gem'; did you mean 'gemm'?")
    assert "'strided-copy'" in refusal(find_kernel, "strided_copy")
    assert "known are argmax, atomic-add" in refusal(builtin, "zzzzzz")
    assert "known are" in refusal(builtin, "")
    assert "unknown kernel 3" in refusal(builtin, 3)
    assert "unknown kernel" in refusal(mappings, "gemm-naive")
    assert "unknown kernel" in refusal(builtin, "a\nb" * 1000)
    assert "tensor-core; did you mean 'coalesced'?" in refusal(builtin, "gemm", "coalesed")
    assert "has no mappings" in refusal(builtin, "copy", "naive")


def test_paths(tmp_path: Path, complete: str, refusal: Refusal) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(complete)
    assert find_kernel(path) == find_kernel(str(path)) == load_kernel(path)
    assert "does not exist" in refusal(find_kernel, "gemm.toml")
    assert "does not exist" in refusal(find_kernel, "./gemm")
    assert "only built-in kernels have mappings" in refusal(find_kernel, path, "naive")
