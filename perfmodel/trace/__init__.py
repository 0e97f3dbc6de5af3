"""The trace simulator: what a launch moves at each level, counted access by access.

In the order of reading: `program` (the accesses of a block in their order), `layout` (where buffers
lie), `addresses` (from blocks and threads to lines), `coalescer` (the lanes of a request), `cache`
and `cache_rounds` (sets, ways, and what an access does to them), `l2` (two sides, and DRAM behind),
`launch` (a launch through all of it, a batch at a time), `sampling` (parts that stand for the
whole), `counts` (what is returned) and `simulate` (launches one after the other). `cache_loop` does
with numba what `cache_rounds` does with NumPy; the counts are equal.
"""
