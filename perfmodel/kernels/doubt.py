"""How far the time may be off by what had to be assumed of a kernel."""

from typing import Final

from perfmodel.records import record


@record
class Doubt:
    """What nobody states and no analysis tells, over what was assumed."""

    # How many times shorter, or longer, the time may be.
    shorter: float = 1.0
    longer: float = 1.0
    # Times that threads wait for others, which may all come one after the other.
    in_turn: float = 0.0
    # What was assumed or left out, a sentence each: predictions say it before all else.
    reasons: tuple[str, ...] = ()

    def combined(self, other: "Doubt") -> "Doubt":
        """Return the doubt of a prediction that has both."""
        return Doubt(
            self.shorter * other.shorter,
            self.longer * other.longer,
            self.in_turn + other.in_turn,
            (*self.reasons, *other.reasons),
        )


SURE: Final = Doubt()
"""None."""
