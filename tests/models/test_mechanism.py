"""Mechanisms: registered by module, neutral when switched off."""

from __future__ import annotations

import pytest

from perfmodel.errors import PerfmodelError
from perfmodel.models import mechanism as registry
from perfmodel.models.l2 import throughput
from perfmodel.models.mechanism import mechanism, mechanisms, without


@pytest.fixture
def doubling(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registry, "_registry", {})

    def doubled(x: float) -> float:
        """Twice as much."""
        return 2 * x

    doubled.__module__ = "perfmodel.models.l2.throughput"
    return mechanism(neutral=lambda x: x, evidence=["streams"])(doubled)


def test_switched_off_it_is_neutral(doubling) -> None:
    name = "throughput"
    assert doubling(3.0) == 6.0
    with without(name):
        assert doubling(3.0) == 3.0
        with without():
            assert doubling(3.0) == 3.0
    assert doubling(3.0) == 6.0
    found = mechanisms()[name]
    assert found.stage == "l2"
    assert found.text == throughput.__doc__.splitlines()[0]
    assert found.evidence == ("streams",)
    assert found.function(1.0) == 2.0


def test_one_mechanism_a_module(doubling) -> None:
    with pytest.raises(ValueError, match="has two mechanisms"):
        mechanism(neutral=lambda x: x)(doubling)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(PerfmodelError, match="no mechanism is called"), without("no_such"):
        pass
