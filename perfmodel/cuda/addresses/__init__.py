"""A PTX kernel followed with symbols: which blocks run when, and the indices they access."""
