"""The table of accesses in a prediction's text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perfmodel import find_kernel, predict
from perfmodel.reports.binding_text import binding
from perfmodel.reports.prediction_text import access_table, prediction_report


def test_accesses_of_one_source_line_that_are_alike_share_a_row() -> None:
    # Property: rows add up; another line, kind or count of sectors has a row of its own.
    kernel = find_kernel("copy")
    load, store = kernel.accesses
    names = {"x": "k.cu:3", "x-2": "k.cu:3", "x-3": "k.cu:3", "x-4": "k.cu:9", "x-5": ""}
    loads = tuple(replace(load, name=name, source=line) for name, line in names.items())
    prediction = predict(replace(kernel, accesses=(*loads, store)), bytes=1 << 20)
    lines = prediction_report(prediction).lines(120)
    rows = [line.split() for line in lines if line.startswith(("load ", "store "))]
    assert [" ".join(row[:2]) for row in rows] == ["load x", "load x-4", "load x-5", "store out"]
    one = next(a for a in prediction.details.traffic.accesses if a.name == "x-4")
    assert rows[0][2:5] == ["(3", "times)", f"{3 * one.requests[0]:.0f}"]
    assert rows[0][6] == rows[1][4] == "16"
    # Pages and JSON list each.
    assert len(access_table(prediction).rows) == 6


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("stalls", "Stalls take 100% of the time"),
        ("tiles", "Starting and ending tiles takes 100% of the time"),
        ("parts", "Adding up parts takes 100% of the time"),
        ("shared-loops", "Serialised updates take 100% of the time"),
    ],
)
def test_terms_that_are_no_resource_have_a_sentence(name: str, sentence: str) -> None:
    found = predict("copy", bytes=1 << 20)
    changed = replace(found, bottleneck=name, terms_s={name: found.time_s})
    assert binding(changed).startswith(sentence)


def test_a_kernel_without_mappings_has_none() -> None:
    found = predict("copy")
    assert (found.mapping, found.label) == (None, "copy")
    assert predict("gemm", mapping="naive", N=64).label == "gemm naive"
