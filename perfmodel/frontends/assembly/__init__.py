"""What ptxas makes of PTX: instructions, their order, loops, and machine code as it lies there."""
