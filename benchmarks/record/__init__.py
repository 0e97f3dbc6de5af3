"""A record of what is predicted, to hold rewrites against; see `benchmarks.record.__main__`."""
