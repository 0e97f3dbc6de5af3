"""L2 and DRAM as they serve what reaches them: how fast, and what slows them down."""
