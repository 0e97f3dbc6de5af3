"""Settings of all tests."""

from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings

# A busy machine is no reason to fail: speed is measured in benchmarks/.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

_LONGEST: Final = ("measurements", "trace", "prediction", "cuda", "models")
"""Folders whose files take longest, in that order: first, so that all workers end together."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {name: at for at, name in enumerate(_LONGEST)}
    root = Path(__file__).parent
    items.sort(key=lambda i: order.get(i.path.relative_to(root).parts[0], len(order)))
