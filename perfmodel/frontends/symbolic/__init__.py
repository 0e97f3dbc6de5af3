"""A PTX kernel followed with symbols: which blocks run when, and what they access."""
