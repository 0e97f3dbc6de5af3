"""What mechanisms are worth: the scoreboard with them, and with them switched off."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from perfmodel.chunks import HERE, Workers
from perfmodel.hardware import Device
from perfmodel.measure.recorded import Recording
from perfmodel.models.mechanism import without
from perfmodel.validation.cases import Progress
from perfmodel.validation.scores import Judged, Score, by_regime, score
from perfmodel.validation.validate import Validation, validate

CHANGED: Final = "launches that change"


@dataclass(frozen=True, slots=True)
class Worth:
    """A scoreboard with mechanisms and without them, of the same launches."""

    mechanisms: tuple[str, ...]  # those that are switched off
    device: Device
    changed: int  # launches whose predicted time is another without them
    launches: int
    # With and without: by regime, of all launches ("all"), and of those that change.
    scores: tuple[tuple[Score, Score], ...]


def worth(
    recordings: Sequence[Recording],
    device: Device,
    names: Sequence[str],
    progress: Progress = lambda *_: None,
    workers: Workers = HERE,
) -> Worth:
    """Return what the scoreboard loses without some mechanisms; nothing is fitted again.

    `names`: of `perfmodel.models.mechanism.mechanisms`. `progress` is told how many predictions of
    how many are done, the second ones after the first.

    Raises `PerfmodelError` if there is no mechanism of a name.
    """
    with without(*names):  # an unknown name is refused before anything is predicted
        second = validate(recordings, device, lambda d, n: progress(d, 2 * n), workers)
    first = validate(recordings, device, lambda d, n: progress(n + d, 2 * n), workers)
    pairs = list(zip(_scored(first), _scored(second), strict=True))
    changed = [pair for pair in pairs if pair[0].case.predicted_s != pair[1].case.predicted_s]
    return Worth(
        mechanisms=tuple(names),
        device=device,
        changed=len(changed),
        launches=len(pairs),
        scores=tuple(_both(pairs, changed)),
    )


def _scored(validation: Validation) -> list[Judged]:
    return validation.used("validation") or validation.used("fit")


def _both(
    pairs: Sequence[tuple[Judged, Judged]], changed: Sequence[tuple[Judged, Judged]]
) -> Iterator[tuple[Score, Score]]:
    # A regime is what binds with the mechanisms: else a launch would change its group.
    regimes = [found.name for found in by_regime([on for on, _ in pairs])[:-1]]
    groups = {name: [p for p in pairs if p[0].case.regime == name] for name in regimes}
    groups |= {"all": list(pairs), CHANGED: list(changed)}
    for name, some in groups.items():
        if some:
            yield score(name, [on for on, _ in some]), score(name, [off for _, off in some])
