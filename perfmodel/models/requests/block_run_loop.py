"""Blocks or warps whose threads ask for runs, compiled. Imported only where numba is installed.

Planes of a load are (1 + tests, 1 + axes + 1): the value at the origin, and how far a step of each
axis, a block index or loop, and of the thread moves it. First the address [B] or element, then what
has to be above 0 for a thread to take part, none of which rises with the thread.
"""

from numba import njit

from perfmodel.arrays import Array


@njit(cache=True, nogil=True, inline="always")
def value_at(planes: Array, plane: int, place: Array) -> int:
    """Return the value of a plane for the first thread of the run at some place."""
    value: int = planes[plane, 0]
    for axis in range(len(place)):
        value += planes[plane, 1 + axis] * place[axis]
    return value


@njit(cache=True, nogil=True, inline="always")
def taking_part(planes: Array, place: Array, threads: int) -> int:
    """Return how many threads of a run take part, the first of all."""
    found = threads
    for test in range(1, len(planes)):
        value, step = value_at(planes, test, place), planes[test, -1]
        if value <= 0:
            found = 0
        elif value + (found - 1) * step <= 0:
            found = -(value // step)
    return found


@njit(cache=True, nogil=True, inline="always")
def put_digits(number: int, extents: Array, place: Array, first: int) -> None:
    """Put the digits of a mixed-radix number in `place`, from its `first` on, the fastest first."""
    for digit in range(len(extents)):
        place[first + digit] = number % extents[digit]
        number //= extents[digit]


@njit(cache=True, nogil=True, inline="always")
def next_digits(extents: Array, place: Array, first: int) -> None:
    """Put the digits of the next number in `place`; after the last comes 0."""
    for digit in range(len(extents)):
        place[first + digit] += 1
        if place[first + digit] < extents[digit]:
            break
        place[first + digit] = 0
