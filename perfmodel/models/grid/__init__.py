"""Threads and indices of a launch: who shares a warp, who takes part, how far apart they access."""
