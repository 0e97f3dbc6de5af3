"""L2: what it keeps, what misses, and how long it takes."""
