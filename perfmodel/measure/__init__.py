"""Measurements of GPUs: microbenchmarks that take them, and how they are recorded and read."""
