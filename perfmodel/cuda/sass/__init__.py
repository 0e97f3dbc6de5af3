"""What ptxas makes of PTX: its machine code, decoded, and rules where that is not at hand."""
