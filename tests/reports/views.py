"""Every view of a prediction, and what must hold in each: the checks of `test_every_view`."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from functools import lru_cache
from html.parser import HTMLParser
from importlib import resources
from typing import Any, Final

import jsonschema

import perfmodel
from perfmodel import Prediction
from perfmodel.prediction.advise import Advice
from perfmodel.reports.advice_text import advice_report
from perfmodel.reports.explain import explain, explanation_record
from perfmodel.reports.explain_latex import explanation_latex
from perfmodel.reports.explain_text import ExplanationReport, explanation_text
from perfmodel.reports.lines import Piece
from perfmodel.reports.page.content import build_report, report_record
from perfmodel.reports.page.write import report_files
from perfmodel.reports.prediction_text import prediction_report
from perfmodel.reports.roofline import roofline_record
from perfmodel.reports.roofline_text import roofline_report
from perfmodel.reports.source_text import source_record, source_report

_NO_NUMBER: Final = re.compile(r"(?<![\w.-])(nan|inf|-inf|None|NaN|Infinity|array\()(?![\w-])")
"""What Python prints where a number lacks; it starts no word of ours."""
_SHARES: Final = ("efficiency", "hit rate", "share", "probability")
"""Words that the name of a formula with a result from 0 to 1 has, if its unit is 1."""
_SIGNED: Final = ("time of all resources, with the common traversal",)
"""Steps whose values may be negative: a walk without its first wait, and no wait left."""


def printed(report: Piece, width: int = 100) -> str:
    """Return a report as it is printed into a pipe."""
    return check_text("\n".join(line.rstrip() for line in report.lines(width)))


def check_text(text: str) -> str:
    """Check that a number stands wherever one should, and return the text."""
    found = _NO_NUMBER.search(text)
    assert found is None, text[max(found.start() - 200, 0) : found.end() + 80]
    assert text.strip()
    return text


def check_json(record: Any) -> Any:
    """Check that a record is strict JSON, and return it as a reader gets it."""
    return json.loads(json.dumps(record, allow_nan=False))


@lru_cache(maxsize=1)
def _validator() -> Any:
    text = resources.files(perfmodel).joinpath("prediction/schema.json").read_text("utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


def check_record(record: dict[str, Any]) -> None:
    """Check the JSON object of a prediction: its schema, and that its numbers are possible."""
    found = check_json(record)
    _validator().validate(found)
    low, high = found["interval_s"]
    assert 0 < low <= found["time_s"] <= high
    for where, number in _numbers(found):
        assert number >= 0, (where, number)
    assert found["traffic"]["l2_hit_rate"] <= 1
    assert found["occupancy"]["fraction"] <= 1
    hits = found["traffic"]["l1_hit_sectors"]
    assert hits <= found["traffic"]["global_load_sectors"] * (1 + 1e-9)


def _numbers(value: Any, where: str = "") -> Iterator[tuple[str, float]]:
    """Yield every number of a JSON value with its place."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _numbers(part, f"{where}.{name}")
    elif isinstance(value, list):
        for at, part in enumerate(value):
            yield from _numbers(part, f"{where}[{at}]")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield where, value


def check_explanation(prediction: Prediction) -> None:
    """Check the derivation: finite, ending in the time, with shares from 0 to 1."""
    explained = explain(prediction)  # once, for the record and the text
    record = check_json(explanation_record(prediction, explained))
    steps = record["steps"]
    assert math.isclose(steps[-1]["result"], prediction.time_s, rel_tol=1e-9)
    for step in steps:
        title = step["title"]
        signed = title.startswith(_SIGNED)
        for name, value in [*step["values"].items(), ("", step["result"])]:
            assert signed or value >= 0, (title, name, value, step)
        if step["unit"] == "1" and any(word in title for word in _SHARES):
            assert step["result"] <= 1 + 1e-9, step
    printed(ExplanationReport(prediction, steps=explained))


def check_latex(prediction: Prediction) -> None:
    """Check the derivation as LaTeX, and in a narrow window."""
    steps = explain(prediction)
    check_text(explanation_latex(prediction, steps))
    check_text(explanation_text(prediction, 40, steps))


def check_advice(advice: Advice) -> None:
    """Check what `advise` says as JSON and text."""
    record = check_json(advice.to_json())
    check_record(record["prediction"])
    for option in record["options"] + record["rejected"]:
        low, high = option["gain_interval"]
        assert 0 < low <= option["gain"] <= high
        assert all(number >= 0 for _, number in _numbers(option)), option
    printed(advice_report(advice))


def check_roofline(prediction: Prediction) -> None:
    """Check the roofline of one launch as JSON and text."""
    record = check_json(roofline_record([prediction]))
    for where, number in _numbers(record):
        assert number >= 0, (where, number)
    printed(roofline_report([prediction]))


class _Balanced(HTMLParser):
    """Checks that every element of a page is closed in its turn."""

    _VOID: Final = frozenset({"meta", "link", "br", "hr", "img", "input", "col", "wbr"})

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in self._VOID:
            self.opened.append(tag)
        for name, value in attrs:
            assert value is None or not _NO_NUMBER.search(value), (tag, name, value)

    def handle_endtag(self, tag: str) -> None:
        assert self.opened, tag
        assert self.opened.pop() == tag, (tag, self.getpos())

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self._VOID:
            self.opened.pop()

    def handle_data(self, data: str) -> None:
        if not self.opened or self.opened[-1] not in ("script", "style"):
            self.text.append(data)


def check_page(prediction: Prediction, advice: Advice | None) -> None:
    """Check the report of one launch: JSON, HTML, Markdown and pictures."""
    report = build_report([prediction], advice=[advice], command="perfmodel report")
    check_json(report_record(report))
    for name, text in report_files(report).items():
        if name.endswith(".svg"):
            root = ElementTree.fromstring(text)
            for element in root.iter():
                for value in (*element.attrib.values(), element.text or ""):
                    assert not _NO_NUMBER.search(value), (name, value)
        elif name.endswith(".html"):
            page = _Balanced()
            page.feed(text)
            page.close()
            assert not page.opened
            check_text("\n".join(page.text))
        else:
            check_text(text)


def check_sources(prediction: Prediction) -> None:
    """Check the accesses by source line, as JSON and text."""
    for access in check_json(source_record(prediction)):
        for name in ("l1_hit_rate", "l2_hit_rate", "time_share"):
            assert access[name] is None or -1e-9 <= access[name] <= 1 + 1e-9, access
    printed(source_report(prediction, {}))


def check_prediction(prediction: Prediction) -> None:
    """Check the prediction as JSON and text."""
    check_record(prediction.to_json())
    printed(prediction_report(prediction))
