"""Settings of all tests, which of them are slow, and what the fast ones leave out."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Generator, Iterator
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import settings

# A busy machine is no reason to fail: speed is measured in benchmarks/.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

# Processes that tests start keep the bytecode that they compile, as users' do.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

ROOT: Final = Path(__file__).parent
SLOW: Final = tuple(
    line
    for line in (ROOT / "slow_files.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
)
"""Files and folders below tests/ whose tests are marked slow."""

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
REQUIRED = "PERFMODEL_BROWSER_TESTS"
"""Set to "required", a machine without a browser fails these tests instead of skipping them."""

_LONGEST: Final = (
    *("docs/test_site.py", "measurements/test_corpus_predicted.py", "reports/test_every_view.py"),
    *("prediction/test_prediction_interval.py", "measurements", "trace", "prediction", "cuda"),
    "models",
)
"""Files and folders that take longest, in that order: first, so that all workers end together."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    # to import the slow files alone takes a good part of what the others take
    return True if config.option.markexpr == "not slow" and is_slow(collection_path) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_slow(item.path):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: _turn(item.path))


def pytest_collection_finish() -> None:
    # modules and tests live until the end: as in a command, nobody looks through them for garbage
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Have tests predict by the models: to compile a form takes longer than a test's launches."""
    from perfmodel.prediction.conditions import by_the_models

    compiled = item.path.relative_to(ROOT).parts[0] == "prediction"
    with nullcontext() if compiled else by_the_models():
        return (yield)


@cache
def is_slow(path: Path) -> bool:
    """Say whether a file, or a folder that it is in, is listed as slow."""
    return any(_within(path, slow) for slow in SLOW)


@cache
def _turn(path: Path) -> int:
    """Return when a file's tests run: by the first that it is in of those that take longest."""
    places = (at for at, name in enumerate(_LONGEST) if _within(path, name))
    return next(places, len(_LONGEST))


def _within(path: Path, name: str) -> bool:
    place = path.relative_to(ROOT).as_posix()
    return place == name or place.startswith(f"{name}/")


def _executable() -> str | None:
    named = os.environ.get("PERFMODEL_BROWSER")
    return named or next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Return a headless Chromium; without one the test is skipped, or fails where required."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = _executable()
        if path is None and not Path(playwright.chromium.executable_path).exists():
            lacking = (
                "no browser: install Debian's chromium-headless-shell, or run `playwright install "
                f"chromium`, or name one in PERFMODEL_BROWSER; looked for {', '.join(BROWSERS)}"
            )
            if os.environ.get(REQUIRED) == "required":
                pytest.fail(lacking)
            pytest.skip(lacking)
        # Chromium's own sandbox does not work for root, as in containers; pages here are ours.
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()
