"""Expansion: a kernel's expressions and guards with its definitions put in."""

from functools import lru_cache

from perfmodel.expressions import Node, Operation, substitute
from perfmodel.kernels.access import Access
from perfmodel.kernels.kernel import Kernel


def expanded(kernel: Kernel, node: Node) -> Node:
    """Return an expression of the kernel with its definitions put in."""
    return _expanded(kernel.definitions, node)


def condition(kernel: Kernel, access: Access) -> Node | None:
    """Return the kernel's and the access's guards as one, with definitions put in; None: none."""
    return _condition(kernel.definitions, kernel.guard, access.guard)


@lru_cache(maxsize=1024)
def _condition(
    definitions: tuple[tuple[str, Node], ...], first: Node | None, second: Node | None
) -> Node | None:
    guards = [_expanded(definitions, guard) for guard in (first, second) if guard is not None]
    return Operation("and", tuple(guards)) if len(guards) == 2 else next(iter(guards), None)


@lru_cache(maxsize=4096)
def _expanded(definitions: tuple[tuple[str, Node], ...], node: Node) -> Node:
    return substitute(node, _expanded_definitions(definitions))


@lru_cache(maxsize=256)
def _expanded_definitions(definitions: tuple[tuple[str, Node], ...]) -> dict[str, Node]:
    done: dict[str, Node] = {}
    for name, node in definitions:
        done[name] = substitute(node, done)
    return done
