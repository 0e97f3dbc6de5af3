"""Runs every launch of the corpus on a GPU: timed and checked, or for a profiler to count.

    python run.py CUBINS events OUT.csv         # median of 11, warm caches; checks the results
    python run.py CUBINS profile OUT.txt 3 warm # 3 launches each for the profiler, a line a launch

CUBINS is a folder with what `nvcc -cubin -lineinfo -arch=sm_90` made of each source. The sources,
launches and checks are those of this folder, or of the one that CORPUS_SOURCES names.
"""

import csv
import os
import sys
import tempfile
from pathlib import Path
from statistics import median

import cupy as cp
import numpy as np

from perfmodel.cuda.compile.program import Program
from perfmodel.cuda.launch.launch_file import read_launches
from perfmodel.cuda.launch.spec import Buffer, Structure, bind, parameter_names
from perfmodel.cuda.parse.reader import read_ptx
from perfmodel.cuda.parse.signatures import names_of
from perfmodel.cuda.parse.signatures import parameter_names as source_names

HERE = Path(os.environ.get("CORPUS_SOURCES", Path(__file__).parent))
SCALARS = {
    "u8": np.uint8,
    "s8": np.int8,
    "u16": np.uint16,
    "s16": np.int16,
    "u32": np.uint32,
    "s32": np.int32,
    "b32": np.int32,
    "u64": np.uint64,
    "s64": np.int64,
    "b64": np.int64,
    "f32": np.float32,
    "f64": np.float64,
}


def launches(folder):
    """Yield each launch: its file, number, names and arguments in order, and the kernel."""
    for path in sorted(HERE.glob("*.toml")):
        module = cp.RawModule(path=str(folder / f"{path.stem}.cubin"))
        ptx = read_ptx(folder / f"{path.stem}.ptx")
        program = Program(path.name, ptx, "", "sm_90", None, {}, {})
        known = source_names(path.with_suffix(".cu").read_text())
        for number, launch in enumerate(read_launches(path), 1):
            kernel = program.kernel(launch.kernel)
            names = parameter_names(kernel, names_of(kernel.name, known))
            yield path.stem, number, launch, kernel, names, module.get_function(kernel.name)


contents = {}
held = []  # buffers that only structures point to
SCRATCH = Path(tempfile.gettempdir()) / "corpus-content"  # made once, for all runs of this file


def made_once(name, argument):
    """Return a buffer's content, or None if it is not stated."""
    if not argument.known:
        return None
    recipe = (name, argument.bytes, argument.dtype, argument.fill, argument.below, argument.step)
    path = SCRATCH / ("-".join(map(str, recipe)) + ".npy")
    if not path.exists():
        SCRATCH.mkdir(exist_ok=True)
        np.save(path, argument.content(name))
    return np.load(path)


def on_device(name, argument, parameter):
    """Return a device array with a buffer's content, a scalar, or a structure of both."""
    if isinstance(argument, Structure):
        data = bytearray(argument.data)
        for at, pointed in argument.buffers.items():
            held.append(cp.zeros(pointed.bytes, cp.uint8))
            data[at : at + 8] = held[-1].data.ptr.to_bytes(8, "little")
        return np.frombuffer(bytes(data), f"V{len(data)}")  # one of them goes by value
    if not isinstance(argument, Buffer):
        floats = parameter.type in ("b32", "b64") and isinstance(argument.value, float)
        kind = {4: np.float32, 8: np.float64}[parameter.size] if floats else SCALARS[parameter.type]
        return kind(argument.value)
    key = (name, argument)
    if key not in contents:
        made = made_once(name, argument)
        array = cp.full(argument.bytes, 0xFF, cp.uint8) if made is None else cp.asarray(made)
        if sum(a.nbytes for a in contents.values()) > 2 << 30:  # a profiler saves what there is
            contents.clear()
            cp.get_default_memory_pool().free_all_blocks()
        contents[key] = array
    return contents[key].copy()


def set_up(launch, kernel, names, function):
    """Return the arguments of a launch by name, and what resets them to what they held."""
    bound = dict(zip(names, bind(launch, kernel, names), strict=True))
    values = {
        name: on_device(name, bound[name], parameter)
        for name, parameter in zip(names, kernel.parameters, strict=True)
    }
    zeros = [values[n] for n, a in bound.items() if getattr(a, "fill", "") == "zeros"]
    given = {n: a for n, a in bound.items() if getattr(a, "fill", None) not in (None, "zeros")}
    function(launch.grid, launch.block, tuple(values.values()), shared_mem=launch.shared_bytes)
    # What it works on in place is put back, so that each launch finds the same.
    first = {n: cp.asarray(made_once(n, a)) for n, a in given.items()}
    changed = [
        (values[n], array)
        for n, array in first.items()
        if not cp.array_equal(values[n].view(cp.uint8), array.view(cp.uint8))
    ]

    def reset():
        for array in zeros:
            array.fill(0)
        for array, held_first in changed:
            array[...] = held_first

    reset()

    return values, reset


def relative(came, wanted):
    """Return the norm of the error of what came, over that of what was wanted."""
    came, wanted = came.ravel().astype(cp.float64), wanted.ravel().astype(cp.float64)
    assert came.size == wanted.size, (came.size, wanted.size)
    norm = float(cp.linalg.norm(wanted))
    return float(cp.linalg.norm(came - wanted)) / max(norm, 1e-300)


def events(folder, out):
    """Time every launch between events, and check its result."""
    sys.path.insert(0, str(HERE))
    import checks

    with open(out, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "number", "kernel", "repeats", "time_us", "spread", "error"])
        for file_name, number, launch, kernel, names, function in launches(folder):
            try:
                values, reset = set_up(launch, kernel, names, function)
                before = {
                    n: v.copy() for n, v in values.items() if isinstance(v, cp.ndarray) and n == "y"
                }
                arguments = tuple(values.values())
                reset()
                function(launch.grid, launch.block, arguments, shared_mem=launch.shared_bytes)
                cp.cuda.Device().synchronize()
                try:
                    told = {
                        n: v if isinstance(v, cp.ndarray) else v.item() for n, v in values.items()
                    }
                    told |= {"before": before, "block": launch.block[0]}
                    error = relative(*checks.EXPECTED[launch.kernel](told))
                except Exception as trouble:
                    print(
                        "check of",
                        launch.kernel,
                        number,
                        "failed:",
                        repr(trouble)[:200],
                        flush=True,
                    )
                    error = float("nan")
                # the checks leave their scratch in the pool
                cp.get_default_memory_pool().free_all_blocks()
                times = []
                for _ in range(13):
                    reset()
                    begin, end = cp.cuda.Event(), cp.cuda.Event()
                    waiting(begin)
                    function(launch.grid, launch.block, arguments, shared_mem=launch.shared_bytes)
                    end.record()
                    end.synchronize()
                    times.append(cp.cuda.get_elapsed_time(begin, end) * 1e3)
                times = times[2:]
                spread = (max(times) - min(times)) / median(times)
                rows.writerow(
                    [
                        file_name,
                        number,
                        launch.kernel,
                        len(times),
                        f"{median(times):.3f}",
                        f"{spread:.4f}",
                        f"{error:.3g}",
                    ]
                )
                allowed = checks.LOOSE.get(launch.kernel, 1e-4)
                if not error <= allowed:
                    print("WRONG", file_name, number, launch.kernel, error, flush=True)
            except Exception as trouble:
                print("failed", file_name, number, launch.kernel, repr(trouble)[:300], flush=True)
            file.flush()


spin = cp.RawKernel(
    """extern "C" __global__ void spin(long long clocks) {
      long long begin = clock64();
      while (clock64() - begin < clocks);
    }""",
    "spin",
)


def waiting(begin):
    """Record an event behind some 30 us of work, so that the launch is queued by then."""
    spin((1,), (1,), (np.int64(60000),))
    begin.record()


def profile(folder, out, times, warm):
    """Launch everything with the profiler counting."""
    with open(out, "w") as file:
        for file_name, number, launch, kernel, names, function in launches(folder):
            try:
                values, reset = set_up(launch, kernel, names, function)
                arguments = tuple(values.values())
                for _ in range(times):
                    if warm:
                        reset()
                        function(
                            launch.grid, launch.block, arguments, shared_mem=launch.shared_bytes
                        )
                    reset()
                    cp.cuda.Device().synchronize()
                    cp.cuda.profiler.start()
                    function(launch.grid, launch.block, arguments, shared_mem=launch.shared_bytes)
                    cp.cuda.Device().synchronize()
                    cp.cuda.profiler.stop()
                    file.write(f"{file_name} {number} {launch.kernel}\n")
                    file.flush()
            except Exception as trouble:
                print("failed", file_name, number, launch.kernel, repr(trouble)[:300], flush=True)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    if sys.argv[2] == "events":
        events(folder, sys.argv[3])
    else:
        profile(folder, sys.argv[3], int(sys.argv[4]), sys.argv[5] == "warm")
