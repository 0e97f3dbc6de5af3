"""PTX text to a typed program: instructions, registers, control flow, names (`parse_ptx`)."""
