"""Model shapes: what a language model's sizes are, as data, and their files.

A shape file is TOML::

    name = "small"
    title = "A small model"               # optional, as is source
    source = "where the sizes come from"
    layers = 4
    width = 256                           # of the residual stream, d
    heads = 4
    # kv_heads = 4                        # heads of K and V; default heads
    # head_width = 64                     # default width / heads
    ffn_width = 1024
    # ffn_matrices = 2                    # 2: up and down; 3: gate, up and down
    vocab = 32768
    context = 4096                        # tokens; the default of a prediction
    dtype = "fp16"                        # of weights, activations and cache
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.kernels.instance import MOST_BYTES
from perfmodel.names import shape_names
from perfmodel.records import record
from perfmodel.tables import check_keys, choice, read_text, whole, word
from perfmodel.text_files import parse_toml
from perfmodel.text_files import read_text as read_file

SHAPES: Final = Path(__file__).parent / "shapes"

DTYPES: Final = {"fp16": 2, "bf16": 2, "fp32": 4}
"""Types of a model's numbers, and their bytes."""

_MOST: Final = {
    "layers": 10_000,
    "width": 1 << 20,
    "heads": 1 << 14,
    "kv_heads": 1 << 14,
    "head_width": 256,
    "ffn_width": 1 << 22,
    "ffn_matrices": 3,
    "vocab": 1 << 24,
    "context": 1 << 24,
    "batch": 1 << 14,
}
_OPTIONAL: Final = ("title", "source", "kv_heads", "head_width", "ffn_matrices")
_REQUIRED: Final = ("name", "layers", "width", "heads", "ffn_width", "vocab", "context", "dtype")
SHAPE_KEYS: Final = (*_REQUIRED, *_OPTIONAL)
_HEAD_WIDTHS: Final = (64, 128, 256)


@record
class ModelShape:
    """Sizes of a decoder."""

    name: str
    layers: int
    width: int  # of the residual stream, d
    heads: int  # of queries
    kv_heads: int  # of keys and values
    head_width: int  # of one head: 64, 128 or 256
    ffn_width: int
    ffn_matrices: int  # 2: up and down; 3: gate, up and down
    vocab: int
    context: int  # tokens in the cache
    dtype: str  # of weights, activations and cache: "fp16", "bf16" or "fp32"
    title: str = ""
    source: str = ""

    @property
    def element_bytes(self) -> int:
        """Bytes of a number."""
        return DTYPES[self.dtype]

    @property
    def kv_width(self) -> int:
        """Width of a token's keys (or values) in one layer: kv_heads * head_width."""
        return self.kv_heads * self.head_width

    def cache_bytes(self, batch: int = 1) -> int:
        """Return the bytes of keys and values of all layers and sequences."""
        return 2 * self.layers * self.context * self.kv_width * self.element_bytes * batch

    @property
    def layer_weight_bytes(self) -> int:
        """Bytes of one layer's matrices: queries, keys, values, output, and the FFN's."""
        queries = self.heads * self.head_width
        attention = self.width * (2 * queries + 2 * self.kv_width)
        ffn = self.ffn_matrices * self.width * self.ffn_width
        return (attention + ffn) * self.element_bytes

    @property
    def weight_bytes(self) -> int:
        """Bytes that a step reads of all matrices: the layers' and the output's."""
        return self.layers * self.layer_weight_bytes + self.vocab * self.width * self.element_bytes


def load_shape(name_or_path: str | Path) -> ModelShape:
    """Return a model shape by name, or from a TOML file.

    `name_or_path`: one of `shape_names`, or a path: a `Path`, or text with a separator or ending in
    ``.toml``.

    Raises `PerfmodelError` if there is no such shape or file, or it states no valid shape.
    """
    if isinstance(name_or_path, str) and not (
        name_or_path.endswith(".toml") or "/" in name_or_path or "\\" in name_or_path
    ):
        known = shape_names()
        if name_or_path not in known:
            hint = nearest(name_or_path, known) or f"; known are {', '.join(known)}"
            raise PerfmodelError(
                f"unknown model {shown(name_or_path)}{hint} (a path to a TOML file works too)"
            )
        name_or_path = SHAPES / f"{name_or_path}.toml"
    where = f"model file {str(name_or_path)!r}"
    return parse_shape(read_file(Path(name_or_path), where, "model"), where)


def parse_shape(text: str, where: str = "model") -> ModelShape:
    """Return the shape that TOML text states.

    Raises `PerfmodelError` if the text is not TOML, or a key is unknown, missing or wrong.
    """
    table = parse_toml(text, where)
    return shape_from_table(table, where)


def shape_from_table(table: Mapping[str, Any], where: str = "model") -> ModelShape:
    """Return the shape that a table states: the content of a shape file, or the same as a dict."""
    check_keys(table, SHAPE_KEYS, _REQUIRED, where)

    def number(key: str, default: int) -> int:
        return whole(table.get(key, default), f"{where}: {key}", 1, _MOST[key])

    width, heads = number("width", 0), number("heads", 0)
    if "head_width" not in table and width % heads:
        raise PerfmodelError(
            f"{where}: width {width} is no multiple of heads {heads}: give head_width too"
        )
    head_width = number("head_width", max(width // heads, 1))
    if head_width not in _HEAD_WIDTHS:
        raise PerfmodelError(
            f"{where}: head_width must be {', '.join(map(str, _HEAD_WIDTHS))}, not {head_width}"
        )
    kv_heads = number("kv_heads", heads)
    if heads % kv_heads:
        raise PerfmodelError(
            f"{where}: heads {heads} is no multiple of kv_heads {kv_heads}: each head of keys "
            "serves as many queries"
        )
    shape = ModelShape(
        name=word(table["name"], f"{where}: name"),
        title=read_text(table.get("title", ""), f"{where}: title"),
        source=read_text(table.get("source", ""), f"{where}: source"),
        layers=number("layers", 0),
        width=width,
        heads=heads,
        kv_heads=kv_heads,
        head_width=head_width,
        ffn_width=number("ffn_width", 0),
        ffn_matrices=whole(table.get("ffn_matrices", 2), f"{where}: ffn_matrices", 2, 3),
        vocab=number("vocab", 0),
        context=number("context", 0),
        dtype=choice(table["dtype"], tuple(DTYPES), f"{where}: dtype"),
    )
    return _checked(shape, 1, where)


def with_context(shape: ModelShape, context: int | None, batch: int) -> ModelShape:
    """Return the shape with another context, if one is given, for `batch` sequences.

    Raises `PerfmodelError` if the context or the batch is out of range, or cache and weights are
    too large.
    """
    whole(batch, "batch", 1, _MOST["batch"])
    if context is not None:
        whole(context, "context", 1, _MOST["context"])
        shape = replace(shape, context=context)
    return _checked(shape, batch, f"model {shape.name!r}")


def _checked(shape: ModelShape, batch: int, where: str) -> ModelShape:
    total = shape.cache_bytes(batch) + shape.weight_bytes
    if total > MOST_BYTES:
        raise PerfmodelError(
            f"{where}: cache and weights are {total} bytes, more than {MOST_BYTES} (2^48): take "
            "fewer layers, a smaller width, context or batch"
        )
    return shape
