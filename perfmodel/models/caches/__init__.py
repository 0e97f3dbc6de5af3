"""What L1 and L2 keep and miss of every access, and what follows for DRAM."""
