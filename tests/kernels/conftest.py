"""What the tests of kernels share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from perfmodel.errors import PerfmodelError

COMPLETE = """
name = "scale"
summary = "y = a x, one thread an element"
guard = "i < n"
flop = "n*rounds"
precision = "fp64"
loads_in_flight = "min(rounds, 4)"

[parameters]
n = { summary = "elements", minimum = 2, maximum = 1073741824 }
block = { default = 256, choices = [128, 256, 512] }
rounds = 1
half = "n // 2"

[launch]
grid = ["ceil_div(n, block)", 1]
block = "block"
registers = 16
shared_bytes = "4*block"

[definitions]
threads = "block*2"
i = "blockIdx.x*blockDim.x + threadIdx.x"
j = "i + r"

[buffers]
x = { length = "n + rounds", element_bytes = 8 }
y = { length = "n", element_bytes = 8 }
tile = { length = "block", space = "shared" }

[[loops]]
variable = "r"
trips = "rounds"

[[loops]]
variable = "s"
trips = "threads"
parent = "r"

[[accesses]]
load = "x"
index = "j"
loop = "s"
cache = "l2"

[[accesses]]
load = "x"
index = "i"
guard = "i % 2 == 0"
name = "x again"

[[accesses]]
store = "tile"
index = "threadIdx.x"

[[accesses]]
atomic = "y"
index = "i"
returns = true

[[arithmetic]]
pipe = "fma64"
count = "157/100"
loop = "s"

[[arithmetic]]
pipe = "other"
count = 2.5
"""


@pytest.fixture
def complete() -> str:
    """Return a kernel file that uses every key."""
    return COMPLETE


@pytest.fixture
def refusal() -> Callable[..., str]:
    """Return the message with which a call is refused, having checked that it is one line."""

    def message(function: Callable[..., Any], *arguments: Any) -> str:
        with pytest.raises(PerfmodelError) as caught:
            function(*arguments)
        text = str(caught.value)
        assert text
        assert text.isprintable(), text  # isprintable is false of newlines
        assert len(text) < 600, text
        return text

    return message
