"""Work that is done once for the very same arguments (by hand)."""

from __future__ import annotations

from perfmodel.cuda.parse.once import once


def test_the_same_object_is_worked_on_once_and_its_equal_apart() -> None:
    seen: list[tuple[list[int], object]] = []

    @once
    def work(items: list[int], more: object) -> int:
        seen.append((items, more))
        return sum(items)

    first, equal = [1, 2], [1, 2]
    assert work(first, "a") == work(first, "a") == work(equal, "a") == 3
    assert work(first, "b") == work(first, "".join(["b"])) == 3  # text by its value
    assert seen == [(first, "a"), (equal, "a"), (first, "b")]


def test_no_more_than_some_are_kept_and_none_is_mistaken_for_another() -> None:
    @once
    def work(items: list[int]) -> int:
        return items[0]

    # Each list is gone when the next one is made, perhaps where it was.
    assert [work([n]) for n in range(1000)] == list(range(1000))
