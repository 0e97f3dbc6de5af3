"""Operators of a decoder: which launches make a token, and a prompt, and what each must move.

Bytes here are those that have to move if every array is read or written once: weights, cache,
activations. What a launch really moves is its prediction's traffic.
"""

from collections.abc import Iterator
from typing import Any, Final, Literal

from perfmodel.operators.model_shape import ModelShape
from perfmodel.records import record

Phase = Literal["token", "prompt"]
Source = Literal["memory", "kernel"]

MOST_VECTORS: Final = 8
"""Sequences that one FP32 matrix-vector launch serves: more are so many launches."""

TILE_KEYS: Final = {64: 128, 128: 64}
"""Keys of a tile of the tiled prefill attention, by the width of a head."""


@record
class Operator:
    """An operator of one layer, or of the whole step."""

    name: str
    phase: Phase  # whether it makes one token of each sequence, or reads a whole prompt
    kernel: str  # built-in kernel that does it
    params: dict[str, Any]
    count: int  # times in a step, all layers together
    # Each array once [B].
    read_bytes: int
    written_bytes: int
    working_set: int  # must stay near for no byte to be fetched twice, or to be found there [B]
    on_chip: bool = False  # whether that is one block's tile, in shared memory or registers
    # Where its input comes from: weights and cache, which all else of the step has displaced, or
    # what the kernel before it just wrote.
    source: Source = "memory"
    mapping: str | None = None
    beside: str = ""  # the operator that it is a part or alternative of: it is in no totals then

    @property
    def bytes(self) -> int:
        """Read and written, once [B]."""
        return self.read_bytes + self.written_bytes


def operators(shape: ModelShape, batch: int = 1) -> tuple[Operator, ...]:
    """Return the operators of a token of each of `batch` sequences, then those of a prompt.

    The prompt is as long as the context, and is attended to whole (not causal): P x P scores.
    """
    return (*_token(shape, batch), *_prompt(shape, batch))


def split_count(context: int, heads: int) -> int:
    """Return how many parts of the context decode attention has, for `heads` heads in all.

    As the kernel's default has it: about 1024 blocks, of 128 tokens or a multiple.
    """
    part = max(128, _ceil(_ceil(context * heads, 1024), 128) * 128)
    return _ceil(context, part)


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def _sizes(shape: ModelShape, batch: int, *names: str) -> dict[str, Any]:
    """Return the parameters of an attention's kernel, those of `names` as the shape has them."""
    sizes = {name: getattr(shape, name) for name in names}
    return {"batch": batch, **sizes, "width": shape.head_width, "dtype": shape.dtype}


def _token(shape: ModelShape, batch: int) -> Iterator[Operator]:
    s, d = shape.element_bytes, shape.width
    queries = shape.heads * shape.head_width
    yield Operator(
        "layernorm",
        "token",
        "layernorm",
        {"rows": batch, "cols": d, "dtype": shape.dtype},
        count=2 * shape.layers + 1,
        read_bytes=(batch * d + 2 * d) * s,
        written_bytes=batch * d * s,
        working_set=d * s,
        on_chip=True,
        source="kernel",
    )
    yield _gemv(shape, batch, "qkv projection", queries + 2 * shape.kv_width, d, shape.layers)
    yield from _cached_attention(shape, batch)
    yield _gemv(shape, batch, "output projection", d, queries, shape.layers)
    ups = shape.ffn_matrices - 1
    yield _gemv(shape, batch, "ffn up", shape.ffn_width, d, ups * shape.layers)
    yield _gemv(shape, batch, "ffn down", d, shape.ffn_width, shape.layers)
    yield _gemv(shape, batch, "logits", shape.vocab, d, 1)
    yield Operator(
        "argmax",
        "token",
        "argmax",
        {"rows": batch, "cols": shape.vocab, "dtype": shape.dtype},
        count=1,
        read_bytes=batch * shape.vocab * s,
        written_bytes=batch * 8,
        working_set=batch * shape.vocab * s,
        source="kernel",
    )


def _cached_attention(shape: ModelShape, batch: int) -> Iterator[Operator]:
    """Yield a token's attention over the cache of keys and values, to which it adds its own."""
    s, queries = shape.element_bytes, shape.heads * shape.head_width
    new = 2 * batch * shape.kv_width * s
    yield Operator(
        "kv append",
        "token",
        "kv-append",
        _sizes(shape, batch, "kv_heads", "context"),
        count=shape.layers,
        read_bytes=new,
        written_bytes=new,
        working_set=shape.cache_bytes(batch),
        source="kernel",
    )
    cache = 2 * batch * shape.context * shape.kv_width * s
    partial = 4 * batch * shape.heads * split_count(shape.context, batch * shape.heads)
    partial *= shape.head_width + 2
    yield Operator(
        "decode attention",
        "token",
        "decode-attention",
        _sizes(shape, batch, "heads", "kv_heads", "context"),
        count=shape.layers,
        read_bytes=cache + batch * queries * s,
        written_bytes=partial,
        working_set=shape.cache_bytes(batch),
    )
    yield Operator(
        "decode combine",
        "token",
        "decode-combine",
        _sizes(shape, batch, "heads", "context"),
        count=shape.layers,
        read_bytes=partial,
        written_bytes=batch * queries * s,
        working_set=partial,
        source="kernel",
    )


def _gemv(
    shape: ModelShape, batch: int, name: str, rows: int, columns: int, count: int
) -> Operator:
    """Return weights times activations: of one sequence by vectors, else on the tensor cores.

    In FP32 there are no such: more than `MOST_VECTORS` sequences take several launches.
    """
    s = shape.element_bytes
    weights = rows * columns * s
    if batch > 1 and s == 2:
        return Operator(
            name,
            "token",
            "gemm",
            {"M": batch, "N": rows, "K": columns, "dtype": shape.dtype},
            count=count,
            read_bytes=weights + batch * columns * s,
            written_bytes=batch * rows * s,
            working_set=weights * count,
            mapping="tensor-core",
        )
    launches = _ceil(batch, MOST_VECTORS)
    vectors = _ceil(batch, launches)
    return Operator(
        name,
        "token",
        "ffn-gemv",
        {"rows": rows, "columns": columns, "dtype": shape.dtype, "batch": vectors},
        count=count * launches,
        read_bytes=weights + vectors * columns * s,
        written_bytes=vectors * rows * s,
        working_set=weights * count,
    )


def _prompt(shape: ModelShape, batch: int) -> Iterator[Operator]:
    s, tokens = shape.element_bytes, shape.context
    queries = batch * tokens * shape.heads * shape.head_width * s
    keys = batch * tokens * shape.kv_width * s
    scores = batch * shape.heads * tokens * tokens
    common = _sizes(shape, batch, "heads", "kv_heads") | {"tokens": tokens}
    tile = TILE_KEYS.get(shape.head_width)
    if shape.element_bytes == 2 and tile is not None:
        yield Operator(
            "prefill attention, tiled",
            "prompt",
            "prefill-attention",
            common,
            count=shape.layers,
            read_bytes=queries + 2 * keys,
            written_bytes=queries,
            working_set=(128 + 2 * tile) * shape.head_width * s,
            on_chip=True,
            mapping="tiled",
        )
    yield Operator(
        "prefill attention, naive",
        "prompt",
        "prefill-attention",
        common,
        count=shape.layers,
        read_bytes=queries + 2 * keys + 4 * scores,
        written_bytes=queries + 4 * scores,
        working_set=4 * scores,
        mapping="naive",
        beside="prefill attention, tiled",
    )
    yield Operator(
        "softmax of its scores",
        "prompt",
        "softmax",
        {"rows": batch * shape.heads * tokens, "cols": tokens, "dtype": shape.dtype},
        count=shape.layers,
        read_bytes=scores * s,
        written_bytes=scores * s,
        working_set=tokens * s,
        on_chip=True,
        beside="prefill attention, naive",
    )
