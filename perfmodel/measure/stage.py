"""Setting a point up on the GPU: its memory, its kernel, its launch."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from perfmodel.measure.cuda import CudaGpu
from perfmodel.measure.gpu import Memory
from perfmodel.measure.sweep import BufferPlan, Point, Sweep

_CLOCK_BYTES = 8  # of one block's entry


class Pool:
    """Memory of a sweep's buffers: points that need the same, or less of it, share it.

    What a launch overwrites with values that decide how long the next takes (`zero`) is filled
    again for every point.
    """

    def __init__(self, gpu: CudaGpu) -> None:
        self._gpu = gpu
        self._held: dict[str, tuple[BufferPlan, Memory]] = {}

    def get(self, name: str, plan: BufferPlan) -> Memory:
        """Return memory for a buffer, filled."""
        if name in self._held:
            held, memory = self._held[name]
            same = (held.fill, held.step, held.range) == (plan.fill, plan.step, plan.range)
            whole = plan.fill in ("perm", "zero")  # made for its size
            if same and (held.bytes == plan.bytes if whole else held.bytes >= plan.bytes):
                if plan.fill == "zero":
                    self._gpu.fill(memory, plan.bytes, plan.fill, plan.step, plan.range)
                return memory
            self._gpu.free(memory)
            del self._held[name]
        memory = self._gpu.allocate(plan.bytes)
        self._held[name] = plan, memory
        self._gpu.fill(memory, plan.bytes, plan.fill, plan.step, plan.range)
        return memory

    def forget(self) -> None:
        """Forget all of it: an error took it away."""
        self._held.clear()

    def free(self) -> None:
        """Give all of it back."""
        for _, memory in self._held.values():
            self._gpu.free(memory)
        self._held.clear()


@contextmanager
def pool(gpu: CudaGpu) -> Iterator[Pool]:
    """Lend a pool, and free it at the end."""
    lent = Pool(gpu)
    try:
        yield lent
    finally:
        lent.free()


def set_up(gpu: CudaGpu, sweep: Sweep, point: Point, memory: Pool) -> tuple[Any, dict[str, Memory]]:
    """Return a point's launch, ready to go, and the memory of its buffers."""
    buffers = {name: memory.get(name, plan) for name, plan in point.buffers.items()}
    program = gpu.compile(sweep.source, point.defines)
    function = gpu.function(program, sweep.function, point.shared_bytes)
    arguments = [(k, buffers[v] if k == "buffer" else v) for k, v in point.arguments]
    window = point.l2.window
    gpu.control_l2(point.l2, None if window is None else buffers[window.buffer])
    prepared = gpu.prepare(function, point.grid, point.block, point.shared_bytes, arguments)
    return prepared, buffers


def clock_entries(point: Point) -> int:
    """Return how many entries the buffer ``clocks`` of a point has."""
    return point.buffers["clocks"].bytes // _CLOCK_BYTES
