"""Drills: questions with worked answers, every number computed by perfmodel when it is asked."""

from perfmodel.drills.check import Verdict, check
from perfmodel.drills.drill import ChoiceAnswer, Drill, NumberAnswer, WordAnswer
from perfmodel.drills.tables import find_drill, load_drills, read_drills
from perfmodel.drills.work import Solution, depends_on_device, given, work

__all__ = [
    "ChoiceAnswer",
    "Drill",
    "NumberAnswer",
    "Solution",
    "Verdict",
    "WordAnswer",
    "check",
    "depends_on_device",
    "find_drill",
    "given",
    "load_drills",
    "read_drills",
    "work",
]
