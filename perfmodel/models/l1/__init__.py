"""L1: what it keeps, what it sends on, and how long it takes."""
