"""The one error type that users see: what was wrong, and what to do about it."""


class PerfmodelError(ValueError):
    """Bad input: names the argument, what came, what is allowed, and the remedy, in one line."""
