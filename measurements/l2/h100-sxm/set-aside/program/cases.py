"""What replay.cu launches: the package's sweeps beside set-asides, for one GPU.

    python cases.py L2_BYTES PERSISTING_MAX SMS > cases.txt

A line a launch: its number, and what replay.cu says of a line.
"""

import sys
from pathlib import Path

import perfmodel
from perfmodel.measure.sweep import points, read_sweeps

TOPICS = (
    "data-reset",
    "stream-persistent",
    "set-aside-mixtures",
    "set-aside-streams",
    "embedding",
    "data-reset-properties",
    "read-persistent",
    "data-reset-knee",
    "stream-persistent-knee",
    "read-persistent-knee",
    "data-reset-out-window",
)
"""In the order in which they are launched: the profiler may be stopped before the end."""


def _bytes(function, point):
    """Return the bytes of the table, of the stream and of what is written of tables."""
    sizes = {name: buffer.bytes for name, buffer in point.buffers.items()}
    if function == "data_reset":
        return sizes["in"], 0, sizes["out"]
    if function == "embedding":
        return sizes["table"], sizes["stream"], 0
    if "persistent" in function:
        return sizes["persistent"], sizes["stream"], 0
    return 0, point.params["bytes"], 0


def cases(l2_bytes, persisting_max, sms):
    """Yield the topic, the row's columns and the fields of each launch, in order."""
    numbers = {"sms": sms, "l2_bytes": l2_bytes, "persisting_max": persisting_max}
    files = sorted((Path(perfmodel.__file__).parent / "measure" / "sweeps").glob("*.toml"))
    sweeps = [s for file in files for s in read_sweeps(file) if s.function != "chase"]
    seen = set()
    for topic in TOPICS:
        for sweep in (s for s in sweeps if s.topic == topic):
            for point in points(sweep, numbers):
                control, window = point.l2, point.l2.window
                if point.shared_bytes or control.set_aside > persisting_max:
                    continue
                place = "out" if window and window.buffer == "out" else "in"
                marks = (window.num_bytes, window.hit_ratio) if window else (0, 1.0)
                kinds = (window.hit_prop, window.miss_prop) if window else ("normal", "normal")
                fields = (
                    *(sweep.function, *_bytes(sweep.function, point), control.set_aside, place),
                    *(*marks, *kinds, point.params.get("lookups", 0)),
                )
                if (topic, fields) not in seen:
                    seen.add((topic, fields))
                    row = {"function": sweep.function, **point.params, "use": point.use}
                    yield topic, row, fields


if __name__ == "__main__":
    for number, (_, _, fields) in enumerate(cases(*map(int, sys.argv[1:]))):
        print(number, *fields)
