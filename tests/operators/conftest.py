"""What the tests of operators share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from perfmodel.errors import PerfmodelError


@pytest.fixture
def refusal() -> Callable[..., str]:
    """Call something that must be refused, and return its message of one line."""

    def message(call: Callable[..., Any], *arguments: Any, **named: Any) -> str:
        with pytest.raises(PerfmodelError) as caught:
            call(*arguments, **named)
        text = str(caught.value)
        assert "\n" not in text
        return text

    return message
