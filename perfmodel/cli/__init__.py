"""The command line `perfmodel`: one thin module a command, over the library."""

import atexit
import gc
import os
import sys


def main() -> None:
    """Run the command line of this process; the console script."""
    # NumPy's linear algebra starts a thread for each core when it is imported; no command needs
    # them, and they take a tenth of the time of a prediction.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imports make many records that live until the end: looking through them again and again for
    # garbage takes another tenth.
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)  # nor once more at the end

    from perfmodel.cli.ending import end_in_order, errors_in_one_line
    from perfmodel.cli.ordinary import ordinary

    end_in_order()
    with errors_in_one_line():
        if (run := ordinary(sys.argv[1:])) is not None:
            run()
    if run is not None:
        sys.exit(0)
    from perfmodel.cli.app import app

    app()
