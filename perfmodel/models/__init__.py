"""Closed forms, one file a mechanism: coalescing, L1, footprints, L2, DRAM, occupancy, time."""
