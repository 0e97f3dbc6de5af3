"""What ptxas makes of PTX: machine instructions, their order, loops, and decoded machine code."""
