"""How much of the PTX below some folders goes through the reader, and how fast.

    python benchmarks/ptx_reader.py FOLDER [FOLDER ...]

A kernel goes through if it is read, every instruction has a known opcode and readable operands, and
its control flow and live registers are found. Files of the same content count once.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections import Counter
from pathlib import Path

from perfmodel.cuda.compile.program import estimate
from perfmodel.cuda.parse import opcodes
from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.reader import parse_ptx, read_ptx_text
from perfmodel.errors import PerfmodelError


def measure(folder: Path) -> None:
    """Print a line about a folder."""
    seen: set[str] = set()
    kernels = through = instructions = failed = 0
    seconds = 0.0
    unknown: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.ptx")):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if digest in seen:
            continue
        seen.add(digest)
        try:
            text = read_ptx_text(path)
            began = time.process_time()
            module = parse_ptx(text, path.name)
            seconds += time.process_time() - began
        except PerfmodelError as error:
            failed += 1
            print(error)
            continue
        instructions += sum(len(f.instructions) for f in module.functions)
        for kernel in module.kernels:
            kernels += 1
            unknown.update(opcodes.unknown(kernel))
            try:
                control_flow(kernel)
                estimate(module, kernel)
                through += not opcodes.unknown(kernel)
            except PerfmodelError as error:
                print(error)
    print(
        f"{folder.name}: {len(seen)} files ({failed} not read), {through} of {kernels} kernels, "
        f"{instructions} instructions, {seconds / max(instructions, 1) * 1e6:.1f} us each"
        + "".join(f"; {count} {name}" for name, count in unknown.most_common(10)),
        flush=True,
    )


if __name__ == "__main__":
    for name in sys.argv[1:]:
        measure(Path(name))
