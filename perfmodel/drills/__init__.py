"""Drills: questions with worked answers, every number computed by perfmodel when it is asked."""

from perfmodel.drills.check import Verdict as Verdict
from perfmodel.drills.check import check as check
from perfmodel.drills.drill import ChoiceAnswer as ChoiceAnswer
from perfmodel.drills.drill import Drill as Drill
from perfmodel.drills.drill import NumberAnswer as NumberAnswer
from perfmodel.drills.drill import WordAnswer as WordAnswer
from perfmodel.drills.tables import find_drill as find_drill
from perfmodel.drills.tables import load_drills as load_drills
from perfmodel.drills.tables import read_drills as read_drills
from perfmodel.drills.work import Solution as Solution
from perfmodel.drills.work import depends_on_device as depends_on_device
from perfmodel.drills.work import given as given
from perfmodel.drills.work import work as work
