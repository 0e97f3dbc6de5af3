"""Linear forms: a whole number for each variable and a constant, as far as they are known.

Sums and products of forms, and quotients and remainders where these are linear too.
"""

from collections.abc import Mapping, Sequence

from perfmodel.records import record


@record
class LinearForm:
    """``constant + sum(slope * variable)``; None: a whole number that no variable decides."""

    constant: int | None
    slopes: Mapping[int, int | None]  # by the variable's place; of those that are left out, 0


def total(first: LinearForm, other: LinearForm) -> LinearForm:
    """Return the sum of two forms."""
    slopes = dict(first.slopes)
    for i, slope in other.slopes.items():
        slopes[i] = _plus(slopes.get(i, 0), slope)
    return LinearForm(_plus(first.constant, other.constant), _without_zeros(slopes))


def product(first: LinearForm, other: LinearForm) -> LinearForm | None:
    """Return the product of two forms; None if both have variables."""
    if first.slopes and other.slopes:
        return None
    moving, factor = (other, first.constant) if other.slopes else (first, other.constant)
    slopes = {i: _times(slope, factor) for i, slope in moving.slopes.items()}
    return LinearForm(_times(moving.constant, factor), _without_zeros(slopes))


def either(first: LinearForm, other: LinearForm) -> LinearForm:
    """Return what is known of a form that is one of two."""
    places = sorted(first.slopes.keys() | other.slopes.keys())
    pairs = {i: (first.slopes.get(i, 0), other.slopes.get(i, 0)) for i in places}
    slopes = {i: a if a == b else None for i, (a, b) in pairs.items()}
    return LinearForm(first.constant if first.constant == other.constant else None, slopes)


def divided(
    form: LinearForm, by: int, last: Sequence[int | None]
) -> tuple[LinearForm, LinearForm] | None:
    """Return the quotient and remainder by a positive number; None if they may not be linear.

    `last`: the largest value of each variable, where that is known; the smallest is 0. They are
    linear if all that is not a multiple of the number stays between the same two multiples.
    """
    above: dict[int, int | None] = {}
    within: dict[int, int | None] = {}
    start = None if form.constant is None else form.constant % by
    low = high = start
    for i, slope in form.slopes.items():
        end = last[i]
        if end == 0:
            continue
        if slope is None:
            return None
        if slope % by == 0:
            above[i] = slope // by
            continue
        if end is None or low is None or high is None:
            return None
        within[i] = slope
        low, high = low + min(slope * end, 0), high + max(slope * end, 0)
    if low is not None and high is not None and not 0 <= low <= high < by:
        return None
    quotient = None if form.constant is None else form.constant // by
    return LinearForm(quotient, above), LinearForm(start, within)


def _without_zeros(slopes: Mapping[int, int | None]) -> Mapping[int, int | None]:
    return {i: slope for i, slope in slopes.items() if slope != 0}


def _plus(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def _times(a: int | None, b: int | None) -> int | None:
    if a == 0 or b == 0:
        return 0
    return None if a is None or b is None else a * b
