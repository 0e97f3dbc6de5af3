"""Programs of launches whose addresses are counted or followed: at random and irregular places."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from perfmodel import find_kernel, load_device, predict
from perfmodel.prediction.compiled.layouts import read_numbers
from perfmodel.prediction.compiled.programs import Form, run
from perfmodel.prediction.compiled.recording import record_launches
from perfmodel.prediction.conditions import Conditions, by_the_models

UNDER = Conditions(load_device("h100-sxm"), "profiler", "cold")
LAUNCHES: Mapping[str, list[Mapping[str, int]]] = {
    "gather": [
        {"n": n, "run": 1, "table_bytes": size}
        for n, size in [
            (1 << 16, 1 << 22),
            (99_999, 3 << 20),
            (123_456, 5 << 20),
            (77_777, 7 << 20),
        ]
    ],
    "embedding": [
        {"lookups": n, "table_bytes": size, "stream_bytes": 40 << 20}
        for n, size in [(65_000, 8 << 20), (65_400, 9 << 20), (64_500, 7 << 20), (64_900, 8 << 20)]
    ],
    "softmax": [
        {"rows": rows, "cols": cols} for rows, cols in [(3000, 4096), (3100, 4000), (2900, 4032)]
    ],
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_program_of_some_launches_serves_another(name: str) -> None:
    kernel, (*some, other) = find_kernel(name), LAUNCHES[name]
    recorded = record_launches(kernel, some, UNDER.evaluated, read_numbers)
    form = Form(recorded.program, recorded.layout)
    assert form.agrees(recorded)
    outputs = run(form.of_one, [other[name] for name in recorded.program.inputs])
    assert outputs is not None
    # independent: the models
    with by_the_models():
        expected = predict(name, **other)
    found = form.layout.record(outputs)
    assert found.time_s == pytest.approx(expected.time_s, rel=1e-12)
    for key, moved in expected.traffic.items():
        assert found.traffic[key] == pytest.approx(moved, rel=1e-11, abs=1e-6), key
