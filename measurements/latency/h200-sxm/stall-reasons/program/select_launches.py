"""Puts the launches of launches.txt, and the sources of their kernels, into a folder.

    python3 select_launches.py FOLDER

for `measurements/source-kernels/drive.py`. A line is a session of
measurements/source-kernels/h100-sxm, a source of it, and the number of a launch in that source's
file.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
SESSIONS = HERE.parents[3] / "source-kernels/h100-sxm"


def main(folder: Path) -> None:
    """Write launches.json and sources, each named by its session too."""
    found = []
    for line in (HERE / "launches.txt").read_text().splitlines():
        session, source, number = line.split()
        program = SESSIONS / session / "program"
        of_session = json.loads((program / "launches.json").read_text())
        of_source = [each for each in of_session if Path(each["file"]).stem == source]
        launch, name = of_source[int(number) - 1], f"{session}-{source}"
        shutil.copy(program / f"{source}.cu", folder / f"{name}.cu")
        found.append({**launch, "file": launch["file"].replace(source, name), "id": line})
    (folder / "launches.json").write_text(json.dumps(found))


main(Path(sys.argv[1]))
