"""Operators of a decoder: which launches make a token, and a prompt, and what each must move.

Bytes here are those that have to move if every array is read or written once: weights, cache,
activations. What a launch really moves is its prediction's traffic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from perfmodel.operators.model_shape import ModelShape

Phase = Literal["token", "prompt"]
Source = Literal["memory", "kernel"]

MOST_VECTORS: Final = 8
"""Sequences that one matrix-vector launch serves: more are so many launches."""


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of one layer, or of the whole step.

    Attributes
    ----------
    name : str
    phase : {"token", "prompt"}
        Whether it makes one token of each sequence, or reads a whole prompt.
    kernel : str
        Built-in kernel that does it.
    params : mapping
        Its parameters.
    count : int
        Times in a step, all layers together.
    read_bytes, written_bytes : int
        Each array once [B].
    working_set : int
        Bytes that must stay near for no byte to be fetched twice, or to be found there [B].
    on_chip : bool
        Whether the working set is one block's tile, which shared memory or registers hold.
    source : {"memory", "kernel"}
        Where its input comes from: weights and cache, which all else of the step has displaced, or
        what the kernel before it just wrote.
    mapping : str or None
        Of the kernel.
    beside : str
        Name of the operator that it is a part or an alternative of: it is no part of the totals.
    """

    name: str
    phase: Phase
    kernel: str
    params: dict[str, Any]
    count: int
    read_bytes: int
    written_bytes: int
    working_set: int
    on_chip: bool = False
    source: Source = "memory"
    mapping: str | None = None
    beside: str = ""

    @property
    def bytes(self) -> int:
        """Read and written, once [B]."""
        return self.read_bytes + self.written_bytes


def operators(shape: ModelShape, batch: int = 1) -> tuple[Operator, ...]:
    """Return the operators of a token of each of `batch` sequences, then those of a prompt.

    The prompt is as long as the context, and is attended to whole (not causal), as the notes draw
    it: P x P scores.
    """
    return (*_token(shape, batch), *_prompt(shape, batch))


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
        working_set=(batch * d + 2 * d) * s,
        source="kernel",
    )
    yield _gemv(shape, batch, "qkv projection", queries + 2 * shape.kv_width, d, shape.layers)
    new = 2 * batch * shape.kv_width * s
    yield Operator(
        "kv append",
        "token",
        "kv-append",
        {
            "batch": batch,
            "kv_heads": shape.kv_heads,
            "context": shape.context,
            "width": shape.head_width,
            "dtype": shape.dtype,
        },
        count=shape.layers,
        read_bytes=new,
        written_bytes=new,
        working_set=new,
        source="kernel",
    )
    cache = shape.cache_bytes(batch) // shape.layers
    yield Operator(
        "decode attention",
        "token",
        "decode-attention",
        {
            "batch": batch,
            "heads": shape.heads,
            "kv_heads": shape.kv_heads,
            "context": shape.context,
            "width": shape.head_width,
            "dtype": shape.dtype,
        },
        count=shape.layers,
        read_bytes=cache + batch * queries * s,
        written_bytes=batch * queries * s,
        working_set=cache,
    )
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


def _gemv(
    shape: ModelShape, batch: int, name: str, rows: int, columns: int, count: int
) -> Operator:
    s = shape.element_bytes
    weights = rows * columns * s
    return Operator(
        name,
        "token",
        "ffn-gemv",
        {"rows": rows, "columns": columns, "dtype": shape.dtype, "batch": batch},
        count=count,
        read_bytes=weights + batch * columns * s,
        written_bytes=batch * rows * s,
        working_set=weights,
    )
