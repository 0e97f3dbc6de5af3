"""DRAM: what is read and written, and how long it takes."""
