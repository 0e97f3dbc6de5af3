"""Atomics and hot places: contention, retries, locks, and the way to L2's slices."""
