"""Reports that the tests of pages share, and a real browser to open them in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from perfmodel import Prediction, predict
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.prediction.advise import advise
from perfmodel.reports.page.content import Report, build_report
from perfmodel.reports.page.pictures import pictures
from perfmodel.reports.page.svg import Picture
from perfmodel.reports.page.write import write_report
from perfmodel.validation.sweeps import KERNELS


def _advised(predictions: list[Prediction], command: str = "") -> Report:
    advice = []
    for each in predictions:
        found = each.details
        params: dict[str, Any] = dict(each.params)
        under: dict[str, Any] = {"device": found.device, "l2": found.setting.control}
        advice.append(advise(found.instance.kernel, **under, **params))
    return build_report(predictions, advice=advice, command=command)


@lru_cache(maxsize=8)
def _report(what: str) -> Report:
    if what == "gemm":
        both = [predict("gemm", mapping=m, N=4096) for m in ("naive", "coalesced")]
        return _advised(both, command="perfmodel report gemm:naive gemm:coalesced")
    if what == "copy":
        return _advised([predict("copy", bytes=1 << 30)])
    window = L2Control(8 << 20, AccessPolicyWindow("persistent", 16 << 20, 0.5))
    several = [predict("gemm", mapping=m, N=n) for n in (512, 4096) for m in ("naive", "coalesced")]
    several += [
        predict("atomic-add"),
        predict("shared-atomic"),
        predict(KERNELS / "block-sum.toml"),
    ]
    several += [predict("stream-persistent", l2=window), predict(KERNELS / "empty.toml")]
    return build_report(several) if what == "unadvised" else _advised(several)


@lru_cache(maxsize=8)
def _pictures(what: str) -> dict[str, Picture]:
    return pictures(_report(what))


@pytest.fixture
def pictures_of() -> Callable[[str], dict[str, Picture]]:
    """Return the pictures of a report, drawn once."""
    return _pictures


@pytest.fixture
def report_of() -> Callable[[str], Report]:
    """Return a report: "gemm" of two mappings, "copy", or "many" launches of all kinds.

    "unadvised" are these without advice, which takes most of the time.
    """
    return _report


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the folder that a report is written to."""
    written: dict[str, Path] = {}

    def folder(what: str) -> Path:
        if what not in written:
            written[what] = tmp_path_factory.mktemp("pages") / what
            write_report(_report(what), written[what])
        return written[what]

    return folder


@dataclass(frozen=True)
class Opened:
    """A page in the browser, with what it printed and asked for since it was opened."""

    page: Any
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture
def opened(browser: Any, folder_of: Callable[[str], Path]) -> Iterator[Callable[..., Opened]]:
    """Open the page of a report at a width, light or dark."""
    contexts = []

    def open_page(
        what: str | Path = "gemm", width: int = 1600, scheme: str = "light", **options: Any
    ) -> Opened:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, **options
        )
        contexts.append(context)
        found = Opened(context.new_page())
        found.page.on("console", lambda message: found.messages.append(message.text))
        found.page.on("pageerror", lambda error: found.messages.append(str(error)))
        found.page.on("request", lambda request: found.requests.append(request.url))
        path = what if isinstance(what, Path) else folder_of(what) / "index.html"
        found.page.goto(path.as_uri())
        return found

    yield open_page
    for context in contexts:
        context.close()
