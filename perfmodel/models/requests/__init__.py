"""What warps ask of L1: sectors, lines and wavefronts of every request, and their footprints."""
