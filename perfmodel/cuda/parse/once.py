"""Work that is done once for a function, however many launches of it are looked at.

A translation starts from a function's instructions at every size. What follows from them alone is
kept for those that were used last, by what they are and not by what they are equal to: comparing
thousands of instructions would take as long as the work.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar

Work = TypeVar("Work", bound=Callable[..., Any])

_MOST: Final = 64
"""Functions, or whatever comes first, whose results of a kind are kept: the latest."""


def once(work: Work) -> Work:
    """Return a function that gives the same result again for the very same arguments.

    By position; text and whole numbers count by their value. Nobody must change the result.
    """
    kept: dict[int, tuple[Any, dict[tuple[Any, ...], tuple[Any, Any]]]] = {}

    @wraps(work)
    def found(*arguments: Any) -> Any:
        first, *others = arguments
        key = tuple([a if type(a) in (str, int) else id(a) for a in others])
        of_first = kept.get(id(first))
        if of_first is None:
            if len(kept) >= _MOST:
                kept.pop(next(iter(kept)), None)
            # With the arguments, so that no other object is ever where one of them was.
            of_first = kept[id(first)] = (first, {})
        known = of_first[1].get(key)
        if known is None:
            known = of_first[1][key] = (others, work(*arguments))
        return known[1]

    return found  # type: ignore[return-value]
