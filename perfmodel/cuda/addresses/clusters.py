"""Clusters of blocks: where each block stands in its own, as special registers say it."""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from perfmodel.cuda.parse.syntax import Function


def cluster_registers(
    function: Function,
    known: Mapping[str, Any],
    divided: Callable[[str, Any, int], Any],
    number: Callable[[int], Any],
) -> dict[str, Any]:
    """Return the special registers of clusters, by those of blocks, which are `known`.

    Clusters have one block where the PTX asks for none of a size (``.reqnctapercluster``).
    `divided` does ``//`` or ``%`` of a value and a number, `number` makes a number a value.
    """
    asked = function.directives.get("reqnctapercluster", ())
    sides = [max(n, 1) for n in (*asked, 1, 1, 1)[:3]]
    found = {
        "%cluster_ctarank": number(0),
        "%cluster_nctarank": number(prod(sides)),
        "%is_explicit_cluster": number(bool(asked)),
    }
    for i, (axis, side) in enumerate(zip("xyz", sides, strict=True)):
        block, blocks = known[f"%ctaid.{axis}"], known[f"%nctaid.{axis}"]
        inside = divided("%", block, side) if side > 1 else number(0)
        found[f"%cluster_ctaid.{axis}"] = inside
        found[f"%cluster_nctaid.{axis}"] = number(side)
        found[f"%clusterid.{axis}"] = divided("//", block, side) if side > 1 else block
        found[f"%nclusterid.{axis}"] = divided("//", blocks, side) if side > 1 else blocks
        found["%cluster_ctarank"] += inside * prod(sides[:i])
    return found
