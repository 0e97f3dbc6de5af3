"""The trace simulator: what a launch moves at each level, counted access by access.

In the order of reading: `program` (the accesses of a block in their order), `layout` (where buffers
lie), `addresses` (from blocks and threads to lines) with `coalescer` (the lanes of a request, and
of all requests of a pattern), `batch` (what a wave asks for), `cache` and `cache_rounds` (sets,
ways, and what an access does to them), `l1`, `l2` (two sides, and DRAM behind), `launch` (a launch
through all of it, a batch at a time, and what accesses met), `sampling` (parts that stand for the
whole), `counts` (what is returned) and `simulate` (launches one after the other).

The modules that end in `_loop` do with numba what NumPy does without, and two threads share the
work: sets do not know of each other, nor do the L1 of SMs (`l2_groups`, `threads`). The counts are
equal.
"""
