"""Kernel files: reading them, and from TOML text to a `Kernel`.

The format, by example; `perfmodel.kernels.tables` checks it::

    name = "scale"
    summary = "y = a x, one thread an element"
    guard = "i < n"                       # optional: threads that do anything at all
    flop = "n"                            # of the whole launch; default 0
    precision = "fp32"                    # ceiling of the flop
    loads_in_flight = 1                   # optional; else from the loops; may be a mean
    loads_a_wait = 1                      # optional: between waits where all come from DRAM
    dependent = false                     # optional: a loop's instructions wait for one another
    longest = 1                           # optional: work of the longest block over the average
    # offered = "split == 1 or n > 4096"  # which combinations of menus there are; default all
    # alike = "min(split, n)"             # the same number: a launch takes the same time
    # precision = "dtype"                 # or a parameter with words such as "bf16", "fp8"

    [parameters]                          # in order; a default may use those before it
    n = { summary = "elements", minimum = 1, maximum = 1073741824 }
    block = { default = 256, choices = [128, 256, 512] }
    rounds = 1                            # short for { default = 1 }
    # kind = { default = "a", choices = ["a", "b"] }    # words, compared as in: kind == b
    # quick = false                       # true or false; 1 or 0 in expressions

    # [menu]                              # left open, the fastest combination is meant
    # "BM,BN" = [[64, 64], [128, 256]]    # rows of values for parameters; one list a menu
    # split = [1, 2, 4]

    # [pipeline]                          # blocks that copy the data of later steps ahead
    # tiles = "ceil_div(n, 64)"           # blocks that have work; else all
    # launched = "2*ceil_div(n, 128)"     # with blocks that have no work
    # resident = 2                        # blocks that an SM holds at a time
    # waits = "n // 64"                   # steps that wait for data asked for one step before
    # parts = "split"                     # blocks that each make a part of the same results
    # parts_ns = 1400                     # of the launch that adds them up, besides its bytes
    # part_bytes = "4*n"                  # of one part of all results
    # result_bytes = "4*n"
    # loaded_bytes = "8*n"                # that all blocks load, each as often as one does
    # loaded_sectors = "n // 4"           # the same in sectors, and in lines
    # loaded_lines = "n // 16"
    # asked_sectors = "n // 2"            # of all requests for these, at most
    # asked_of_one = "n // 4"             # of those for the buffer that most are for
    # distinct_bytes = "4*n"              # of what they load, each once
    # stored_bytes = "4*n"                # that all blocks store

    [launch]                              # 1 to 3 dimensions, or one bare entry
    grid = ["ceil_div(n, block)"]
    block = "block"
    registers = 16                        # default 32
    shared_bytes = 0

    [definitions]                         # in order; each may use those before it
    i = "blockIdx.x*blockDim.x + threadIdx.x"

    [buffers]
    x = { length = "n", element_bytes = 4, space = "global" }
    y = { length = "n" }

    [[loops]]
    variable = "r"
    trips = "rounds"
    # parent = "j"                        # the loop around it, if any

    [[accesses]]
    load = "x"                            # or store = or atomic =
    index = "i"
    loop = "r"                            # optional, and so are all below
    vector = 1
    guard = "i % 2 == 0"
    cache = "l1"                          # loads only: "l2" is past L1, "shared" a copy ahead
    # returns = true                      # atomics only, as are the next three
    # dtype = "float32"                   # or a parameter with choices such as ["int32", "float32"]
    # operation = "add"                   # "increment", "raise", "exchange", "cas", "cas-loop" …
    # aggregated = true                   # the compiler adds up the warp first
    # weights = "1/(bin + 1)"             # or a list: how often random(key, n) in the index is bin
    # needs = "rows"                      # another load whose value makes the index
    # joins = "k"                         # a loop with whose first loads it is waited for
    # multicast = 2                       # blocks of a cluster that share one read of L2
    # moves = 1                           # blocks by which each goes on to another's part, a turn
    name = "x"

    [[accesses]]
    store = "y"
    index = "i"

    [[arithmetic]]
    pipe = "fma32"
    count = 1                             # may be a fraction: "157/100"
    loop = "r"

    # [[barriers]]                        # __syncthreads(), times an iteration
    # loop = "r"
    # count = 2
    # [[paces]]                           # clocks of a lone warp but for its waits, where known
    # clocks = "42/10*n"                  # in all for what runs once, or an iteration of a loop
    # loop = "r"
    # abreast = 4                         # iterations that wait for their loads together
    # strands = 4                         # at the top: shared loads in flight side by side
    # compute_capability = "9.0"          # at the top: the least that has its instructions

Loops that have the same parent follow one another in the order in which they are stated. Accesses
may be stated in any order: what a loop loads comes before what it stores, what is outside of all
loops is loaded before and stored after them, and ``needs`` says which load waits for which. Only a
load that is stated between two stores to the same buffer is taken to be made between them.

Every number may be an expression. Those of index, guard and definitions use ``threadIdx``,
``blockIdx``, ``blockDim`` and ``gridDim``, parameters, definitions and the variables of the loops
around them. An index that starts again and again is ``i % m``; one that other data holds is
``random(key, n)``, a number from 0 to n - 1 that only the key decides. Grid and block use
parameters (and definitions made of these only); all others use ``blockDim`` and ``gridDim``
besides.
"""

from pathlib import Path

from perfmodel.kernels.kernel import Kernel
from perfmodel.kernels.tables import kernel_from_table
from perfmodel.text_files import parse_toml, read_text


def load_kernel(path: str | Path) -> Kernel:
    """Return the kernel of a TOML file.

    Raises
    ------
    PerfmodelError
        If there is no such file, it cannot be read, or it states no valid kernel.
    """
    where = f"kernel file {str(path)!r}"
    return parse_kernel(read_text(Path(path), where, "kernel"), where)


def parse_kernel(text: str, where: str = "kernel") -> Kernel:
    """Return the kernel that TOML text states.

    `text`: the content of a kernel file; see the module's own description. `where`: start of the
    error messages.

    Raises `PerfmodelError` if the text is not TOML (with the line), or a key is unknown, missing or
    wrong.
    """
    table = parse_toml(text, where)
    return kernel_from_table(table, where)
