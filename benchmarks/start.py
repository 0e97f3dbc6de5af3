"""What a command costs as a whole process: its CPU over that of one that only imports NumPy.

    python -m benchmarks.start [ROUNDS]

User and system time of each process; in each round all of them run once, one after another, and the
ratio is the median over the rounds of those within a round, so that a busy or throttled machine
slows both. The first round, which may compile bytecode and fill the cache of data files, does not
count. NumPy starts a thread for each core, which costs CPU; perfmodel has it start none, and the
last column compares with a NumPy that starts none either. POSIX only.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

ROUNDS = 9
NUMPY = ("-c", "import numpy")
PREDICT = ("-m", "perfmodel", "predict", "gemm", "--mapping", "coalesced")
COMPLETE = ("-c", "import sys; sys.argv = ['perfmodel']; from perfmodel.cli import main; main()")
COMMANDS = {
    "predict": PREDICT,
    "predict --json": (*PREDICT, "--json"),
    "predict -D N=1024": (*PREDICT, "-D", "N=1024"),
    "predict, tensor cores": (*PREDICT[:-1], "tensor-core"),
    "devices": ("-m", "perfmodel", "devices"),
    "kernels": ("-m", "perfmodel", "kernels"),
    "--help": ("-m", "perfmodel", "--help"),
}
LINES = ("perfmodel pre", "perfmodel predict strid", "perfmodel predict gemm --mapping n")


def environment(**more: str) -> dict[str, str]:
    """Return this process's, in which Python may keep the bytecode that it compiles."""
    plain = {name: text for name, text in os.environ.items() if "DONTWRITE" not in name}
    plain.pop("OPENBLAS_NUM_THREADS", None)
    return plain | more


def completion(line: str) -> dict[str, str]:
    """Return the environment in which a shell asks what a line could go on with."""
    return environment(
        _PERFMODEL_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(line.count(" "))
    )


def cpu(words: tuple[str, ...], variables: dict[str, str]) -> float:
    """Return user and system time of a process [s]."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *words],
        stdout=subprocess.DEVNULL,
        check=True,
        env=variables,
        cwd=Path(__file__).parents[1],
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measured(rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Return the CPU of each process in each round [s]; NumPy's first."""
    runs = {
        "numpy": (NUMPY, environment()),
        "numpy, one thread": (NUMPY, environment(OPENBLAS_NUM_THREADS="1")),
        **{name: (words, environment()) for name, words in COMMANDS.items()},
        **{f"completion of {line!r}": (COMPLETE, completion(line)) for line in LINES},
    }
    found: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name, (words, variables) in runs.items():
            took = cpu(words, variables)
            if number:
                found[name].append(took)
    return found


def ratios(found: dict[str, list[float]], peer: str = "numpy") -> dict[str, float]:
    """Return the CPU of each process over that of a peer."""
    return {
        name: median(ours / theirs for ours, theirs in zip(took, found[peer], strict=True))
        for name, took in found.items()
    }


def main() -> None:
    found = measured(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
    over, single = ratios(found), ratios(found, "numpy, one thread")
    table = Table("process", "CPU", "over importing NumPy", "on one thread")
    for name, took in found.items():
        table.add_row(
            name, f"{1e3 * median(took):.0f} ms", f"{over[name]:.2f}", f"{single[name]:.2f}"
        )
    Console().print(table)


if __name__ == "__main__":
    main()
