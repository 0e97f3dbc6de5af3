"""The one error type that users see: what was wrong, and what to do about it; and its wording."""

from collections.abc import Iterable


class PerfmodelError(ValueError):
    """Bad input: names the argument, what came, what is allowed, and the remedy, in one line."""


def shown(value: object) -> str:
    """Return `value` for an error message: its repr, on one line and not longer than 60."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def nearest(name: str, known: Iterable[str], count: int = 1) -> str:
    """Return ``"; did you mean 'x'?"`` with the nearest of the `known` names, or ``""``."""
    import difflib  # only when there is something wrong

    known = list(known)
    close = [k for k in known if k.lower() == name.lower()][:count]
    close = close or difflib.get_close_matches(name[:100], known, n=count, cutoff=0.5)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
