"""Hostile and mistaken command lines: exit code 2, one line on standard error, nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Refused = Callable[..., str]
Make = Callable[..., str]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["predict", "gem"], "did you mean 'gemm'?"),
        (["predict", ""], "unknown kernel ''"),
        (["predict", "../copy"], "does not exist"),
        (["predict", "a\x00b.toml"], "kernel file"),
        (["predict", "x\ny\x1b[31m"], "unknown kernel"),
        (["predict", "x" * 10_000], "unknown kernel"),
        (["predict", "/"], "is a directory"),
        (["predict", "/dev/zero"], "is not a regular file"),
        (["predict", "gemm", "--mapping", "naiv"], "naive"),
        (["predict", "copy", "--mapping", "naive"], "has no mappings"),
        (
            ["predict", "gemm", "--mapping", "naive", "--tile", "32,32,8"],
            "gemm --mapping naive has no such tiles; --mapping blocktile-1d, blocktile-2d, "
            "vectorized, warptile, tensor-core take it",
        ),
        (["predict", "gemm", "--thread-tile", "8,8"], "coalesced has no such tiles; --mapping"),
        (
            ["predict", "gemm", "--mapping", "blocktile-1d", "--thread-tile", "8,8"],
            "blocktile-1d has no TN; --mapping blocktile-2d, vectorized, warptile take it",
        ),
        (["predict", "gemm", "--warp-tile", "64,64"], "--mapping warptile takes it"),
        (["predict", "gemm", "--mapping", "smem", "--stages", "2"], "smem has none; --mapping"),
        (["predict", "copy", "--tile", "64"], "copy has no such tiles; leave it out"),
        (["predict", "copy", "read", "--tile", "64"], "copy has no such tiles; leave it out"),
        (["predict", "gemm:naive", "--tile", "64"], "gemm --mapping naive has no such tiles"),
        (["simulate", "gemm", "--tile", "64"], "gemm --mapping coalesced has no such tiles"),
        (
            ["predict", "gemm", "--mapping", "warptile", "--warp-tile", "256,256"],
            "'WM' (rows of a warp's tile of C) must divide BM, which is 128, not be 256",
        ),
        (
            [
                "predict",
                "gemm",
                "--mapping",
                "warptile",
                "--tile",
                "64,64",
                "--warp-tile",
                "32,128",
            ],
            "must divide BN, which is 64, not be 128",
        ),
        (["predict", "copy", "--device", "h100"], "did you mean h100-pcie or h100-sxm?"),
        (["predict", "copy", "--device", "a100"], "did you mean a100-pcie-80 or a100-sxm-40"),
        (["predict", "copy", "--device", "/"], "is a directory"),
        (["sweep", "copy", "-D", "bytes=2", "--over", "bytes=1,2"], "by -D and by --over"),
        (["sweep", "copy", "--over", "bytes=1,2", "--over", "bytes=4"], "bytes is given twice"),
        (["sweep", "copy", "--over", "compression=1:9:1e-9"], "has over 10000 values"),
        # by hand: one byte is no vector of 16, so no block; the parameters of the grid are named
        (
            ["predict", "copy", "-D", "bytes=1"],
            "grid x must be 1 to 2147483647, not 0, with bytes = 1, vector = 16, block = 256; "
            "change bytes, vector or block",
        ),
        (["predict", "gemm", "--mapping", "tensor-core", "-D", "N=1e9"], "dtype = bf16"),
        (["explain", "gemm:naive"], "the mapping is its own argument, as in gemm --mapping naive"),
        (["explain", "prefill-attention:"], "as in prefill-attention --mapping naive"),
        (["simulate", "gemm:naive"], "--mapping naive"),
        (["advise", "gemm:naive"], "--mapping naive"),
        (["sweep", "gemm:naive", "--over", "N=64,128"], "--mapping naive"),
        (["explain", "copy:naive"], "did you mean 'copy'?"),
        (["predict", "copy", "-D", "byte=1"], "did you mean 'bytes'?"),
        (["predict", "gemm", "-D", "N=-5"], "must not be negative"),
        (["predict", "gemm", "-D", "N=0"], "must be 1 to"),
        (["predict", "gemm", "-D", "N=nan"], "must be a whole number"),
        (["predict", "gemm", "-D", "N=inf"], "must be a whole number"),
        (["predict", "gemm", "-D", "N=1e400"], "at most 2**62"),
        (["predict", "gemm", "-D", "N=99999999999999999999"], "at most 2**62"),
        (["predict", "gemm", "-D", "N=4611686018427387904"], "must be 1 to"),
        (["predict", "gemm", "-D", "N=1.5"], "must be a whole number"),
        (["predict", "gemm", "-D", "N=16mib"], "did you mean 'MB'"),
        (["predict", "gemm", "-D", "N"], "has no '='"),
        (["predict", "gemm", "-D", "N="], "has no value"),
        (["predict", "gemm", "-D", "N=1", "-D", "N=2"], "given twice"),
        (["predict", "gemm", "-D", 'N=__import__("os")'], "must be a whole number"),
        (["predict", "gemm", "-D", "N=1:1e9:1"], "at most 10000 are allowed"),
        (["predict", "gemm", "-D", "device=3"], "what --help lists goes without -D"),
        (["predict", "gemm", "-D", "sets=4"], "-D sets is no parameter of the kernel"),
        (["predict", "gemm", "copy", "-D", "sets=4"], "-D sets is no parameter"),
        (["explain", "gemm", "-D", "sets=4"], "-D sets is no parameter"),
        (["sweep", "gemm", "--over", "N=64", "-D", "sets=4"], "-D sets is no parameter"),
        (["ladder", "-D", "sets=4"], "-D sets is no parameter"),
        (["advise", "copy", "-D", "tell=1"], "-D tell is no parameter"),
        (["report", "copy", "--json", "-D", "in_other_blocks=1"], "no parameter 'in_other_blocks'"),
        (["predict", "copy", "-D", "seed=3"], "kernel 'copy' has no parameter 'seed'"),
        (["predict", "copy", "-D", "block=2048"], "must be 1 to 1024"),
        (["predict", "copy", "-D", "bytes=1KiB,0"], "must be 1 to"),
        (["predict"], "missing argument 'KERNEL...'; see perfmodel predict --help"),
        (["explain", "copy", "read"], "unexpected extra argument"),
        (["predict", "copy", "--nope"], "no such option: --nope"),
        (["predict", "copy", "--device"], "--device"),
        (["predict", "copy", "-D"], "-D"),
        (["predict", "copy", "--timing", "x"], "'profiler', 'events', 'graph'"),
        (["predict", "copy", "--cache", "x"], "'cold', 'warm'"),
        (["predict", "copy", "--traffic", "x"], "'closed-form', 'simulated'"),
        (["pred"], "did you mean 'predict'?"),
        (["xyzzy"], "there are predict"),
        (["a\nb\x1b"], "unknown command"),
        (["--nope"], "no such option: --nope; see perfmodel --help"),
        (["devices", "h200"], "h200-sxm"),
        (["devices", "/"], "is a directory"),
        (["devices", "nowhere.toml"], "does not exist"),
        (["kernels", "cop"], "did you mean 'copy'?"),
        (["kernels", "--mapping", "naive"], "--mapping needs a kernel"),
        (["kernels", "gemm", "--mapping", ""], "has no mapping ''"),
    ],
)
def test_mistakes(words: list[str], part: str, refused: Refused) -> None:
    assert part in refused(*words)


def test_a_parameter_without_default(refused: Refused, kernel_file: Make) -> None:
    message = refused("predict", kernel_file())
    assert "parameter 'n' (elements) has no default: give it a value" in message


def test_parameters_that_are_called_as_arguments(
    run: Callable[..., str], refused: Refused, kernel_file: Make
) -> None:
    path = Path(kernel_file())
    text = path.read_text().replace("block = 256", "block = 256\nseed = 1\nsets = 1\ntell = 1")
    path.write_text(text)
    values = (str(path), "-D", "n=1000", "-D")
    assert "seed=3" in run("predict", *values, "seed=3")
    assert "simulate has an argument of that name" in refused("simulate", *values, "seed=3")
    assert "advise has an argument of that name" in refused("advise", *values, "tell=3")
    assert "predict has an argument of that name" in refused("predict", *values, "sets=3")
    over = ("sweep", *values, "seed=3", "--over", "sets=1,2")
    assert "--over sets cannot be given: predict has" in refused(*over)


def test_an_index_outside_its_buffer(refused: Refused, kernel_file: Make) -> None:
    message = refused("predict", kernel_file("i + 1"), "-D", "n=1000")
    assert "index 1000 is outside buffer 'x' of 1000 elements" in message


def test_a_block_that_is_too_large(refused: Refused, kernel_file: Make) -> None:
    assert "must be 1 to 1024" in refused("predict", kernel_file(), "-D", "n=9", "-D", "block=2048")


@pytest.mark.parametrize(
    "index",
    [
        '__import__("os").system("touch pwned")',
        "().__class__.__bases__",
        "[x for x in range(9)]",
        "lambda: i",
        "i**i**i**i",
        "1/0",
        "open",
        "exec",
        "",
        "i +",
        "1e999",
        "(" * 50_000 + "i" + ")" * 50_000,
        "-" * 100_000 + "i",
        "i" + " + 1" * 100_000,
        "9" * 100_000,
        "2**99999999999",
        "1 << 99999999999",
        "i\x1b[31m",
    ],
    ids=lambda text: text[:20],
)
def test_hostile_expressions(
    index: str, refused: Refused, kernel_file: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused("predict", kernel_file(index), "-D", "n=1000")
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "name"),
        ("name = ", "is not valid TOML"),
        ('name = "x"\n' * 2, "is not valid TOML"),
        ("a = " + "[" * 100_000, "is not valid TOML"),
        ("x" * (10 * 2**20), "larger than 1 MiB"),
        ('name = "x"\nnope = 1\n', "unknown key 'nope'"),
        ("\x00", "is not valid TOML"),
    ],
    ids=["empty", "cut", "twice", "deep", "10 MiB", "key", "nul"],
)
@pytest.mark.parametrize("command", ["predict", "kernels"])
def test_broken_kernel_files(
    command: str, text: str, part: str, refused: Refused, kernel_file: Make
) -> None:
    assert part in refused(command, kernel_file(text=text))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("name = ", "is not valid TOML"),
        ("a = " + "[" * 100_000, "is not valid TOML"),
        ("x" * (10 * 2**20), "larger than 1 MiB"),
        ('name = "x"\ncompute_capability = "9.0"\n', "lacks the required"),
        ('name = "x"\nextends = "h101-sxm"\n', "did you mean"),
        (
            'name = "x"\nextends = "h100-sxm"\n[sm_count]\nvalue = nan\nunit = "SM"\n'
            'kind = "assumed"\nsource = "me"\n',
            "must be finite",
        ),
    ],
    ids=["cut", "deep", "10 MiB", "bare", "base", "nan"],
)
@pytest.mark.parametrize("command", [["predict", "copy", "--device"], ["devices"]])
def test_broken_device_files(
    command: list[str], text: str, part: str, refused: Refused, tmp_path: Path
) -> None:
    path = tmp_path / "gpu.toml"
    path.write_text(text)
    assert part in refused(*command, str(path))


def test_a_file_that_is_no_text(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00")
    assert "is not UTF-8 text" in refused("predict", str(path))
    assert "is not UTF-8 text" in refused("devices", str(path))


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--from", "measurements", "--gpu", "0"), "--gpu is about measuring"),
        (("--from", "measurements", "--no-profiler"), "--no-profiler is about measuring"),
        (("--against", "simulator", "-o", "x", "--gpu", "1"), "--gpu is about measuring"),
    ],
)
def test_options_of_measuring_are_not_passed_over(
    words: tuple[str, ...], part: str, refused: Refused
) -> None:
    # property: an option that would do nothing is refused
    assert part in refused("calibrate", *words)


def test_a_folder_of_other_rows_is_refused_for_what_it_lacks(refused: Refused) -> None:
    # suite/h200-sxm/foundation was measured by a program of its own: it names its GPU, but no row
    # of `measure`'s
    folder = str(Path(__file__).parents[2] / "measurements" / "suite/h200-sxm/foundation")
    message = refused("calibrate", "--from", folder)
    assert "takes the rows that `perfmodel measure` writes" in message
    assert "launch_floor: no rows of launch tell it" in message
