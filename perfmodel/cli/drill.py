"""`perfmodel drill`: questions on GPU memory, checked and worked out by the model."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfmodel.cli.grouped_options import argument, option
from perfmodel.cli.options import JSON, complete_device, complete_from
from perfmodel.cli.output import print_json, show
from perfmodel.errors import PerfmodelError, shown

if TYPE_CHECKING:
    from perfmodel.drills import Drill


def drill(
    *,
    drill: str | None = argument(
        "The drill to ask; without it all are listed.",
        metavar="[NUMBER|ID]",
        complete=complete_from("drill_ids"),
    ),
    answer: str | None = option(
        "Your answer: 1.07ms, 2.147GB, 25%, 1/8, 28, a choice or its letter, an API name.",
        metavar="X",
    ),
    solution: bool = option("Show the worked solution without an answer.", default=False),
    topic: str | None = option(
        "List one topic only.", metavar="NAME", complete=complete_from("drill_topics")
    ),
    drills: list[str] | None = option(
        "Your own drills, TOML files or a folder of them, once for each; they come after "
        "those that come along.",
        metavar="FILE|DIR",
    ),
    device: str | None = option(
        "GPU in place of the drill's own, where the answer depends on one.",
        metavar="NAME|FILE",
        complete=complete_device,
    ),
    json: bool = JSON,
) -> None:
    """Ask, check and work out questions on GPU memory; every number comes from the model.

    The exit code is 0 when the answer is right (or nothing was answered), 1 when it is wrong,
    and 2 when it cannot be read: no number, another unit, no such drill.

    Where an article says one thing and the hardware another, the solution shows the measurement.
    Drills are TOML files; docs/reference/drill-files.md describes the format of your own.
    """
    from perfmodel.drills import load_drills

    known = load_drills(drills or ())
    if drill is not None:
        if topic is not None:
            raise PerfmodelError("--topic lists drills: leave it out where one is named")
        _ask(known, drill, answer, solution, device or "", json, drills or ())
        return
    for name, given in (
        ("--answer", answer is not None),
        ("--solution", solution),
        ("--device", device is not None),
    ):
        if given:
            raise PerfmodelError(f"{name} needs a drill: name it, as in drill 1 {name}")
    _list(known, topic, json, drills or ())


def _list(known: "Sequence[Drill]", topic: str | None, json: bool, own: Sequence[str]) -> None:
    """List the drills, or those of a topic."""
    topics = list(dict.fromkeys(each.topic for each in known))
    if topic is not None and topic not in topics:
        raise PerfmodelError(f"no topic {shown(topic)}; there are {', '.join(topics)}")
    wanted = [i for i, each in enumerate(known) if topic in (None, each.topic)]
    if json:
        from perfmodel.reports.drill_text import drill_summary

        print_json([drill_summary(known[i], i + 1) for i in wanted])
    else:
        from perfmodel.reports.drill_text import drills_report

        chosen, numbers = [known[i] for i in wanted], [i + 1 for i in wanted]
        show(drills_report(chosen, numbers, len(known), own))


def _ask(
    known: "Sequence[Drill]",
    drill: str,
    answer: str | None,
    solution: bool,
    device: str,
    json: bool,
    own: Sequence[str],
) -> None:
    """Ask a drill, check its answer, or show how it is worked out; exit with 1 if it is wrong."""
    from perfmodel.drills import check, find_drill, work

    place = find_drill(known, drill)
    asked, number = known[place], place + 1
    worked = work(asked, device) if solution or answer is not None else None
    verdict = check(worked, answer) if worked is not None and answer is not None else None
    if json:
        from perfmodel.reports.drill_text import drill_record

        print_json(drill_record(asked, number, device, worked, verdict))
    elif worked is None:
        from perfmodel.reports.drill_text import question_report

        show(question_report(asked, number, device, own))
    else:
        from perfmodel.reports.drill_text import solution_report

        following = (number + 1, known[number]) if number < len(known) else None
        show(solution_report(worked, number, verdict, following, device, own))
    if verdict is not None and not verdict.right:
        sys.exit(1)
