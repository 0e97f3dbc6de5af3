"""How long an emulation may go on: by its work, the same on every machine, and by a clock."""

import time
from dataclasses import dataclass, field
from typing import Final

WORK: Final = 1.2e8
"""Work of a second: instructions times lanes, and `EACH` for an instruction however few run it."""
EACH: Final = 2000
"""Measured on a busy machine of two cores: 5 to 15 ns a lane, 25 to 170 us an instruction of 2,048
to 16,384 lanes (pair_angles, twister_streams of
measurements/source-kernels/h200-sxm/corpus-blind5/program); predictions depend on either only where
an emulation is cut short."""
SLOWER: Final = 2.0
"""Processor time over that at which it stops all the same, on machines that are slower."""
MORE: Final = 0.25
"""Part of its time that an emulation gets besides, where lanes left a loop before its end."""
EARLY: Final = 0.125
FAR: Final = 8.0
"""Part of its time after which an emulation looks how far the end is, and times of all of it that
are too far."""

_SELDOM: Final = 64
"""Steps after which it looks at the clock, and at what is left."""


@dataclass(slots=True)
class Budget:
    """What an emulation has done of the work that it may do."""

    seconds: float  # for which it may run, told by its work [s]
    most_steps: int  # executions of pieces of straight code that it may make
    # Made so far.
    steps: int = 0
    work: int = 0
    _most_work: float = field(init=False)
    _began: float = field(init=False)
    _looked: bool = False

    def __post_init__(self) -> None:
        self._most_work = self.seconds * WORK
        self._began = time.thread_time()

    @property
    def pauses(self) -> bool:
        """Whether this is a step at which to look around."""
        return self.steps % _SELDOM == 0

    @property
    def elapsed(self) -> float:
        """Processor time so far [s]."""
        return time.thread_time() - self._began

    def first_look(self) -> bool:
        """Say, once, that it is time to look how far the end is."""
        if self._looked or not self.pauses or self.work <= EARLY * self._most_work:
            return False
        self._looked = True
        return True

    def is_spent(self) -> bool:
        """Say whether it has to stop."""
        late = self.pauses and self.elapsed > SLOWER * (self._most_work / WORK)
        return late or self.work > self._most_work or self.steps > self.most_steps

    def is_overdrawn(self) -> bool:
        """Say whether it has to stop even within an iteration of a loop."""
        return self.work > (1 + MORE) * self._most_work

    def extend(self, first_steps: int) -> None:
        """Allow a part of the time, and of the first steps, besides what is made."""
        self._most_work = self.work + MORE * self.seconds * WORK
        self.most_steps = self.steps + int(MORE * first_steps)

    def do(self, instructions: int, lanes: int) -> None:
        """Count a piece of straight code that lanes run."""
        self.work += (instructions + 1) * (EACH + lanes)
