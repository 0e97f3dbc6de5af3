"""Model shapes: the ones that come along, what a file may say, and all that is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from perfmodel.operators import load_shape, parse_shape, shape_names
from perfmodel.operators.model_shape import with_context

Refusal = Callable[..., str]
GOOD = {
    "name": '"small"',
    "layers": "4",
    "width": "256",
    "heads": "4",
    "ffn_width": "1024",
    "vocab": "32768",
    "context": "4096",
    "dtype": '"fp16"',
}


def text(**changes: str | None) -> str:
    return "".join(f"{k} = {v}\n" for k, v in {**GOOD, **changes}.items() if v is not None)


def test_names() -> None:
    assert shape_names() == ["four-d", "llama-2-7b", "llama-3-8b", "minigpt"]
    assert all(load_shape(name).name == name for name in shape_names())


def test_caches_of_the_notes() -> None:
    # published (GPU Memory Hierarchy): 16 MiB and 2 GiB at 4k; 2*32*4096*4096*2 B = 2.147 GB
    assert load_shape("minigpt").cache_bytes() == 16 << 20
    assert load_shape("llama-2-7b").cache_bytes() == 2 << 30 == 2 * 32 * 4096 * 4096 * 2
    # by hand: a quarter of the heads have keys, twice the context
    assert load_shape("llama-3-8b").cache_bytes() == 1 << 30


def test_weights() -> None:
    # published (GPU Memory Hierarchy): 4096 x 16384 in fp16 is 134 MB
    four = load_shape("four-d")
    assert four.width * four.ffn_width * four.element_bytes == 134_217_728
    # by hand: 32 * (4*4096**2 + 3*4096*11008) + 32000*4096 = 6.607e9 numbers of 2 bytes
    llama = load_shape("llama-2-7b")
    assert llama.weight_bytes == 2 * (32 * (4 * 4096**2 + 3 * 4096 * 11008) + 32000 * 4096)
    assert llama.weight_bytes == pytest.approx(13.21e9, rel=1e-3)


def test_defaults_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(text())
    shape = load_shape(path)
    assert shape == load_shape(str(path))
    assert (shape.kv_heads, shape.head_width, shape.ffn_matrices) == (4, 64, 2)
    assert shape.kv_width == 256
    grouped = parse_shape(text(kv_heads="2", head_width="128"))
    assert grouped.kv_width == 256
    assert grouped.cache_bytes(batch=3) == 3 * shape.cache_bytes()


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("layers = ", "is not valid TOML"),
        ("[" * 3000, "is not valid TOML"),
        ("", "has no name: add name = ..."),
        (text(layers=None), "has no layers: add layers = ..."),
        (text(layer="4"), "unknown key 'layer'; did you mean 'layers'?"),
        (text(layers="-1"), "layers must be 1 to 10000, not -1"),
        (text(layers="0"), "layers must be 1 to"),
        (text(layers="4.5"), "layers must be a whole number"),
        (text(layers="true"), "layers must be a whole number"),
        (text(layers='"4"'), "layers must be a whole number"),
        (text(width=str(1 << 40)), "width must be 1 to 1048576"),
        (text(context=str(1 << 62)), "context must be 1 to 16777216"),
        (text(heads="3"), "width 256 is no multiple of heads 3"),
        (text(heads="8"), "head_width must be 64, 128, 256, not 32"),
        (text(kv_heads="3"), "heads 4 is no multiple of kv_heads 3"),
        (text(ffn_matrices="4"), "ffn_matrices must be 2 to 3"),
        (text(dtype='"fp8"'), "dtype must be one of fp16, bf16, fp32"),
        (text(name='"../x"'), "name must start with a letter"),
        (text(title='"a\\nb\\u0007"'), "title must be printable text"),
        (text(layers="10000", width="1048576", heads="8192"), "more than 281474976710656 (2^48)"),
    ],
)
def test_what_a_file_may_not_say(content: str, part: str, refusal: Refusal) -> None:
    message = refusal(parse_shape, content, "model file 'x.toml'")
    assert message.startswith("model file 'x.toml'")
    assert part in message


def test_files_that_cannot_be_read(tmp_path: Path, refusal: Refusal) -> None:
    assert "unknown model 'llama-2-7'; did you mean 'llama-2-7b'?" in refusal(
        load_shape, "llama-2-7"
    )
    assert "known are four-d" in refusal(load_shape, "zzz")
    assert "does not exist" in refusal(load_shape, "zzz.toml")
    assert "is a directory" in refusal(load_shape, tmp_path)
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * (2 << 20))
    assert "larger than 1 MiB: not a model file" in refusal(load_shape, large)


def test_context_and_batch(refusal: Refusal) -> None:
    shape = load_shape("llama-2-7b")
    assert with_context(shape, None, 1) == shape
    assert with_context(shape, 1, 1).cache_bytes() == 2 * 32 * 4096 * 2
    assert "context must be 1 to" in refusal(with_context, shape, 0, 1)
    assert "batch must be 1 to" in refusal(with_context, shape, None, 0)
    assert "batch must be 1 to" in refusal(with_context, shape, None, -3)
    assert "more than 281474976710656" in refusal(with_context, shape, 1 << 24, 1 << 14)
