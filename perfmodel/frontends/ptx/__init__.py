"""PTX: what a file says (`parse_ptx`, `read_ptx`), and its control flow."""
