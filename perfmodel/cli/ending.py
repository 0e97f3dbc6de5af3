"""How a command ends: errors of one line, exit codes, and signals that leave nothing behind."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

from perfmodel.errors import PerfmodelError

_LONGEST: Final = 600
"""Characters of a message: words of the user in it may be longer."""
_SIGNALLED: Final = 128
"""Plus a signal's number: how shells tell that it ended a process."""


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Exit with 2 after an error of one line on standard error, and with 1 where output fails."""
    if sys.stdout is None:  # closed, as by >&-
        fail("standard output is closed: nothing can be shown", 1)
    try:
        yield
        sys.stdout.flush()
    except PerfmodelError as error:
        fail(str(error))
    except KeyboardInterrupt:
        sys.exit(_SIGNALLED + signal.SIGINT)
    except OSError as error:
        # What standard output still holds goes nowhere, so that Python's exit does not fail on it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            sys.exit(1)
        fail(f"cannot write the output: {error.strerror or error}", 1)


def fail(message: str, status: int = 2) -> NoReturn:
    """Exit after a message on standard error."""
    line = " ".join(message.split())
    line = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    if sys.stderr is not None:
        print(f"error: {shown}", file=sys.stderr)
    sys.exit(status)


def end_in_order() -> None:
    """Let a signal that ends the process end its compilers and temporary files as well.

    Left as they are: signals that somebody ignores, as nohup does, or handles already.
    """
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _ended)


def _ended(number: int, _: object) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # once is enough
    sys.exit(_SIGNALLED + number)
