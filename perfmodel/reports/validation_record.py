"""A validation as a JSON object; times in seconds, errors as shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from perfmodel.reports.fields import fields_of
from perfmodel.validation.reasons import reason
from perfmodel.validation.scores import Judged, Score, by_protocol, by_regime, by_sweep, worst
from perfmodel.validation.targets import reached
from perfmodel.validation.validate import Transfer, Validation

VALIDATION_SCHEMA: Final = "perfmodel.validation/1"


def validation_record(validation: Validation, transfers: Sequence[Transfer] = ()) -> dict[str, Any]:
    """Return a validation as what JSON can hold; what does not exist is null."""
    return {
        "schema": VALIDATION_SCHEMA,
        "device": validation.device.name,
        "gpu": validation.machine.get("gpu"),
        "folders": list(validation.folders),
        "published": validation.published,
        "flagged": validation.left_out,
        "undescribed": validation.undescribed,
        "fitted_roofline": {t: asdict(c) for t, c in validation.constants.items()},
        "validation": _scores(validation.used("validation")),
        "fit": _scores(validation.used("fit")),
        "targets": [
            {**asdict(found), "met": found.met}
            for found in reached([j.case for j in validation.judged])
        ],
        "worst": [_case(j) for j in worst(validation.used("validation") or validation.judged)],
        "transfer": [
            fields_of(t, "device", "teacher") | {"taught": _scores(t.taught), "own": _scores(t.own)}
            for t in transfers
        ],
    }


def _scores(judged: Sequence[Judged]) -> dict[str, list[dict[str, Any]]]:
    return {
        "regimes": [_score(s) for s in by_regime(judged)],
        "protocols": [_score(s) for s in by_protocol(judged)],
        "sweeps": [_score(s) for s in by_sweep(judged)],
    }


def _score(score: Score) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in asdict(score).items()
    }


def _case(judged: Judged) -> dict[str, Any]:
    case = judged.case
    return {
        **fields_of(case, "sweep", "kernel"),
        "params": dict(case.params),
        "protocol": fields_of(case, "timing", "cache"),
        **fields_of(case, "measured_s", "predicted_s", "interval_s", "error", "regime"),
        "suspected": reason(case) or None,
    }
