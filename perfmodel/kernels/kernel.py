"""Kernel: what a CUDA launch does to memory and to the pipes, as expressions over its indices.

Expressions may use ``threadIdx``, ``blockIdx``, ``blockDim`` and ``gridDim`` (``.x .y .z``), the
kernel's parameters, its loop variables and its own definitions. Everything here is symbolic;
`perfmodel.kernels.instance` puts numbers in.
"""

from pathlib import Path
from typing import Final, Literal

from perfmodel.expressions import Node, Number
from perfmodel.kernels.access import Access
from perfmodel.kernels.counted import Unequal
from perfmodel.kernels.doubt import SURE, Doubt
from perfmodel.packaged import packaged_toml
from perfmodel.records import record

Space = Literal["global", "shared", "local"]


# Defaults; nodes are immutable, so all records can share them.
_ZERO: Final = Number(0)
_ONE: Final = Number(1)
_FLOAT_BYTES: Final = Number(4)
_USUAL_REGISTERS: Final = Number(32)

LARGEST_PARAMETER: Final = 2**40
"""Largest value of a parameter that states no maximum."""


PIPES: Final[dict[str, str]] = packaged_toml(Path(__file__).with_name("pipes.toml"))
"""Kinds of arithmetic: a thread's instructions that are not memory accesses."""

PRECISIONS: Final = (
    *("fp32", "fp64", "fp64_tensor", "tf32_tensor"),
    *("fp16_tensor", "bf16_tensor", "fp8_tensor", "int8_tensor"),
)
"""Compute ceilings that a kernel's operations can belong to: `Device.peak_...`."""


@record
class Parameter:
    """An integer, or one of a few words, that the caller chooses.

    Words stand for integers: in expressions ``dtype == float32`` compares the parameter `dtype`
    with what the word float32 stands for.
    """

    name: str
    # Value if not given, over the parameters before it; None makes the parameter required.
    default: Node | None = None
    # Smallest and largest value allowed.
    minimum: int = 1
    maximum: int = LARGEST_PARAMETER
    summary: str = ""
    # The only values allowed; empty allows all from minimum to maximum.
    choices: tuple[int, ...] = ()
    words: tuple[str, ...] = ()  # what the caller says for each of `choices`; empty for a number
    divides: Node | None = None  # what it must divide, over the parameters before it

    def shown(self, value: int) -> int | str:
        """Return a value as the caller gives it."""
        return self.words[self.choices.index(value)] if self.words else value


@record
class Launch:
    """Grid and block (x, y, z), and what a block takes from its SM."""

    # Blocks, and threads of a block.
    grid: tuple[Node, Node, Node]
    block: tuple[Node, Node, Node]
    registers: Node = _USUAL_REGISTERS  # 32-bit registers of a thread
    shared_bytes: Node = _ZERO  # static and dynamic shared memory of a block [B]


@record
class Buffer:
    """An array of `length` elements of `element_bytes` (1 to 16) in global or shared memory.

    The length of a shared one is that of each block's own copy. A local one holds the words of all
    threads of the launch, those of neighbours beside each other; only kernels from PTX have any.
    """

    name: str
    length: Node
    element_bytes: Node = _FLOAT_BYTES
    space: Space = "global"


@record
class Loop:
    """A loop of every thread: `variable` takes 0, 1, ... `trips` - 1."""

    variable: str
    trips: Node  # iterations, the same for all threads
    parent: str | None = None  # variable of the loop around it
    # Share of its iterations, those of loops around it too, that the last warp of a block runs: a
    # mean, where conditions keep threads out of some.
    turns: Node = _ONE


@record
class Arithmetic:
    """`count` instructions of a thread on a pipe (a key of `PIPES`), in a loop or outside.

    In a loop it is the count of one iteration, and may be a fraction: an unrolled loop shares its
    branch among iterations.
    """

    pipe: str
    count: Node
    loop: str | None = None


@record
class Barrier:
    """`count` times that a block's threads wait for one another, in a loop or outside.

    In a loop, it is an iteration's.
    """

    count: Node = _ONE
    loop: str | None = None


@record
class Pace:
    """Clocks that a lone warp takes for an iteration of a loop, or for what runs once.

    From the latencies of its instructions, waits for global memory and at barriers apart. `abreast`
    is how many iterations wait for their loads together: below 1 where an iteration waits again.
    """

    clocks: Node
    loop: str | None = None
    abreast: Node = _ONE


@record
class Pipeline:
    """Says that a block copies the data of later steps while it works on this one.

    Such blocks wait for their first data only, unless they say that their steps wait.
    """

    tiles: Node = _ZERO  # blocks that have work; 0 means all
    # Blocks up to the last that has work, with those that have none; 0 means as many as `tiles`.
    launched: Node = _ZERO
    resident: Node = _ONE  # blocks that an SM holds at a time
    # Steps of a block that wait for data asked for one step before; 0 if copies are ahead.
    waits: Node = _ZERO
    # Blocks that each make a part of the same results; with more than one, a second launch adds the
    # parts up.
    parts: Node = _ONE
    parts_ns: Node = _ZERO  # nanoseconds that this launch takes besides moving its bytes
    part_bytes: Node = _ZERO  # bytes of one part of all results
    result_bytes: Node = _ZERO  # bytes of the results
    # What all blocks move at least, each thing as often as one does: tells early what is slow.
    loaded_bytes: Node = _ZERO
    loaded_sectors: Node = _ZERO  # with those that rows have only a part of
    loaded_lines: Node = _ZERO
    # Sectors of all requests for these, and for the buffer that most are for, at most; 0 means four
    # times the bytes.
    asked_sectors: Node = _ZERO
    asked_of_one: Node = _ZERO
    distinct_bytes: Node = _ZERO  # of what is loaded, each once
    stored_bytes: Node = _ZERO


@record
class Menu:
    """Values of which a library picks one set, for parameters that the caller leaves open."""

    parameters: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]  # a value for each parameter


@record
class Assumption:
    """Contents of buffers that decide a kernel's time, and that nobody states."""

    names: tuple[str, ...]  # arguments whose contents decide
    words: str  # what they are taken to hold
    # The same launch with other contents that are as plausible, where that is another kernel.
    others: "tuple[Kernel, ...]" = ()
    allowed: bool = False  # whether to go on however far the time hangs on it


@record
class Kernel:
    """A CUDA kernel and its launch, with parameters still open.

    Attributes
    ----------
    name : str
    summary : str
    parameters : tuple of Parameter
    definitions : tuple of (str, Node)
        Named sub-expressions, in order; they stand for themselves in every other expression.
    launch : Launch
    buffers : tuple of Buffer
    loops : tuple of Loop
    accesses : tuple of Access
    arithmetic : tuple of Arithmetic
    guard : Node or None
        Condition under which a thread does anything at all (``if (i < n)``).
    flop : Node
        Useful floating-point operations of the whole launch, for the roofline.
    precision : str
        Ceiling that they belong to, one of `PRECISIONS`; or a parameter whose words are those of
        tensor cores without ``_tensor``.
    loads_in_flight : Node or None
        Loads that a thread issues before it needs the first, a mean where its machine code has
        several ways; None derives it from the loops.
    loads_a_wait : Node or None
        Loads of a loop from one wait to the next where each comes as late as the others and
        instructions wait in order; None takes those in flight.
    barriers : tuple of Barrier
        Where the warps of a block wait for one another: then a block's instructions are issued
        between its waits, not during them.
    strands : Node
        Independent strands of a thread's instructions between barriers: how many of its loads from
        shared memory and their uses are in flight together. 1: each use waits for its load.
    mapping : str
        Which variant of the kernel it is ("coalesced", ...); empty if there is one only.
    notes : tuple of str
        What was assumed in describing it; predictions repeat it among their warnings.
    dependent : bool
        Whether a loop's instructions wait for one another, as in a chain of comparisons or sums:
        then a warp takes as long for each as in code that runs once.
    paces : tuple of Pace
        Of each loop and of what runs once; without any, every instruction takes as long.
    longest : Node
        Work of the longest block over that of an average one, which loops and counts describe.
    pipeline : Pipeline or None
        None for blocks that wait for each batch of their loads.
    menus : tuple of Menu
        Choices that are made independently of each other: the fastest combination is meant.
    offered : Node
        Which combinations of menus there are for a launch, by its parameters; any, where none is.
    alike : Node or None
        A number that is the same for combinations with which a launch takes the same time.
    translated : bool
        Whether a program wrote it from PTX, which leaves more open than a person's description.
    constants : Node
        Bytes of constant memory that it reads, parameters not counted.
    unequal : Unequal or None
        How warps and blocks differ where data decides what they do; None for equal ones.
    block_work : tuple of float
        Work of each block in the order of the grid, over the mean of those that do not leave at
        once; empty for equal ones, and for those that guards cut off along an axis.
    doubt : Doubt
        How far what was assumed of it may be off.
    assumption : Assumption or None
        Contents that were assumed and decide its time.
    compute_capability : tuple of int
        The least that has the instructions it is made of; empty where any has them.
    asynchronous : frozenset of str
        Of a kernel from PTX, what it does asynchronously on sm_90: see
        `perfmodel.cuda.sass.asynchronous`.
    """

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    launch: Launch
    buffers: tuple[Buffer, ...]
    accesses: tuple[Access, ...]
    definitions: tuple[tuple[str, Node], ...] = ()
    loops: tuple[Loop, ...] = ()
    arithmetic: tuple[Arithmetic, ...] = ()
    guard: Node | None = None
    flop: Node = _ZERO
    precision: str = "fp32"
    loads_in_flight: Node | None = None
    barriers: tuple[Barrier, ...] = ()
    strands: Node = _ONE
    mapping: str = ""
    notes: tuple[str, ...] = ()
    dependent: bool = False
    loads_a_wait: Node | None = None
    paces: tuple[Pace, ...] = ()
    longest: Node = _ONE
    pipeline: Pipeline | None = None
    menus: tuple[Menu, ...] = ()
    offered: Node = _ONE
    alike: Node | None = None
    translated: bool = False
    constants: Node = _ZERO
    unequal: Unequal | None = None
    block_work: tuple[float, ...] = ()
    doubt: Doubt = SURE
    assumption: Assumption | None = None
    compute_capability: tuple[int, ...] = ()
    asynchronous: frozenset[str] = frozenset()

    @property
    def word_parameters(self) -> tuple[str, ...]:
        """Names of the parameters whose values are words."""
        return tuple(p.name for p in self.parameters if p.words)

    def buffer(self, name: str) -> Buffer:
        """Return the buffer called `name`."""
        return next(b for b in self.buffers if b.name == name)

    def loop_nest(self, variable: str | None) -> tuple[Loop, ...]:
        """Return the loops around something in loop `variable`, outermost first."""
        by_name = {loop.variable: loop for loop in self.loops}
        nest: list[Loop] = []
        while variable is not None:
            nest.append(by_name[variable])
            variable = by_name[variable].parent
        return tuple(reversed(nest))
