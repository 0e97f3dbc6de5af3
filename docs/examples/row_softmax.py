"""Softmax of each row in Triton, compiled to PTX without a GPU: `python row_softmax.py`."""

from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def row_softmax(out, x, columns, BLOCK: tl.constexpr):
    """One program per row; BLOCK is the power of two from its columns on."""
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    values = tl.load(x + row * columns + column, mask=inside, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + column, powers / tl.sum(powers, axis=0), mask=inside)


if __name__ == "__main__":
    compiled = triton.compile(
        ASTSource(
            row_softmax,
            signature={"out": "*fp32", "x": "*fp32", "columns": "i32", "BLOCK": "constexpr"},
            constexprs={"BLOCK": 1024},
            attrs={(i,): [["tt.divisibility", 16]] for i in range(3)},
        ),
        target=GPUTarget("cuda", 90, 32),
        options={"num_warps": 4},
    )
    Path("row_softmax.ptx").write_text(compiled.asm["ptx"])
    print(compiled.metadata.num_warps * 32, "threads,", compiled.metadata.shared, "B shared")
