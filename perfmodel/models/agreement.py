"""Decisions that stand for all configurations of a batch: those must agree, or be worked out apart.

Which form an access takes, which loads belong together and the order of strides are chosen once a
batch. Where configurations would choose differently alone, the batch is to be split and begun anew.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.derivation import glimpse


class DisagreementError(Exception):
    """Configurations of one batch that need different forms.

    `labels` has one for each configuration: those with equal labels have agreed so far.
    """

    def __init__(self, labels: Array) -> None:
        super().__init__("configurations of one batch need different forms")
        self.labels = labels


def agreed(answers: Any) -> bool:
    """Return the one answer of all configurations; a `DisagreementError` if answers differ."""
    every = np.asanyarray(answers) != 0
    if every.all():
        return True
    if not every.any():
        return False
    raise DisagreementError(np.ravel(every))


def agreed_order(keys: Sequence[Any]) -> list[int]:
    """Return the places of `keys`, the smallest first, which must be the same order in all."""
    if len(keys) < 2:
        return list(range(len(keys)))
    columns = np.stack(np.broadcast_arrays(*map(np.atleast_1d, keys)))
    orders = np.argsort(columns, axis=0, kind="stable")
    check_alike([*orders])
    return [int(place) for place in orders[:, 0]]


def check_alike(facts: Sequence[Any]) -> None:
    """Check that facts, each a number a configuration, are the same in all configurations."""
    columns = [np.atleast_1d(np.asanyarray(fact, dtype=float)) for fact in facts]
    differing = [column for column in columns if np.any(column != column[0])]
    if differing:
        together = np.stack(np.broadcast_arrays(*differing))
        _, labels = np.unique(glimpse(together), axis=1, return_inverse=True)
        raise DisagreementError(labels.ravel())


def alone(size: int) -> None:
    """Check that there is one configuration: what follows is told of one at a time."""
    if size > 1:
        raise DisagreementError(np.arange(size))
