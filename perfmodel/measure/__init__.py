"""Microbenchmarks of a real GPU: what they launch, how they are timed, and what they record."""
