"""The trace simulator: what a launch moves at each level, counted access by access."""
