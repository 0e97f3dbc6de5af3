"""Record what is predicted of every measured launch, or hold predictions against the record.

    python -m benchmarks.record write              # 15 minutes on four cores
    python -m benchmarks.record compare            # exit code 1 if a bit differs
    python -m benchmarks.record compare --every 50 # one launch in so many
    python -m benchmarks.record compare --cluster tcp://host:8786 # by Dask workers with a clone

Times, terms and traffic of all rows that `perfmodel validate` scores and of all launches of source
corpora (which need nvcc), as doubles without rounding. A rewrite that is to change no prediction
is held against it on the machine that wrote it: another's mathematical library may round otherwise.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from pathlib import Path

from rich.progress import track

from benchmarks.record.compare import differences, largest
from benchmarks.record.launches import Part, parts, predict_part
from benchmarks.record.store import Table, read, write
from perfmodel.chunks import Workers, workers

FOLDER = Path(__file__).parent
SHOWN = 20


def predict_all(chosen: list[Part], some: Workers) -> dict[str, Table]:
    """Return what is predicted, by the file that it belongs to."""
    found: dict[str, Table] = defaultdict(dict)
    done = some.in_order(predict_part, chosen)
    for part, rows in track(done, "predicting", len(chosen), disable=not sys.stderr.isatty()):
        file = part.name.split()[0] if part.kind == "scoreboard" else "sources"
        found[file].update(rows)
    return {file: dict(sorted(table.items())) for file, table in sorted(found.items())}


def compare(found: dict[str, Table]) -> bool:
    """Print how the predictions differ from the record, and return whether they are the same."""
    same = True
    for file, after in found.items():
        before = read(FOLDER / f"{file}.xz")
        changed = differences(before, after)
        print(f"{file}: {len(after) - len(changed)} of {len(after)} launches are the same")
        for each in changed[:SHOWN]:
            print(f"  {each.launch}: time {each.time:+.3g}; {', '.join(each.columns[:4])}")
        for name, change in sorted(largest(before, after).items(), key=lambda item: -item[1]):
            print(f"    {name}: up to {change:.3g}")
        same &= not changed
    return same


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("action", choices=["write", "compare"])
    parser.add_argument("--every", type=int, default=1, help="one launch in so many")
    parser.add_argument("--only", choices=["scoreboard", "sources"])
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--cluster", help="a Dask scheduler's address, or local:N")
    given = parser.parse_args()
    if given.action == "write" and given.every > 1:
        parser.error("write records every launch: leave out --every")
    chosen = [p for p in parts(given.every) if given.only in (None, p.kind)]
    # The longest first, so that no process is left with one in the end.
    chosen.sort(key=lambda p: p.kind == "scoreboard")
    with workers(given.workers, given.cluster) as some:
        found = predict_all(chosen, some)
    if given.action == "compare":
        return 0 if compare(found) else 1
    for file, table in found.items():
        write(FOLDER / f"{file}.xz", table)
        print(f"wrote {FOLDER / file}.xz: {len(table)} launches", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
