"""Launches: grid, block, arguments and what buffers hold, as somebody states them."""
