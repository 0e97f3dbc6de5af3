"""Options of L2 control, and from them the `L2Control` that they mean."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from perfmodel.cli.grouped_options import option
from perfmodel.errors import PerfmodelError, shown
from perfmodel.records import record
from perfmodel.sizes import parse_size

if TYPE_CHECKING:
    from perfmodel.hardware import Device
    from perfmodel.kernels import Kernel
    from perfmodel.kernels.l2_control import L2Control


@record
class L2Options:
    """What the options of L2 control say."""

    set_aside: str | None = option(
        "L2 kept for persisting accesses (cudaLimitPersistingL2CacheSize); at most "
        "persistingL2CacheMaxSize, and not under MIG. Without it none, though a driver may start "
        "with some: an H200's with 11.25MiB, as cudaDeviceGetLimit tells.",
        metavar="SIZE",
    )
    window: str | None = option(
        "Length of the access policy window (num_bytes, at most accessPolicyMaxWindowSize; "
        "0 closes it).",
        metavar="SIZE",
    )
    window_buffer: str | None = option(
        "Buffer that the window starts at (base_ptr); by default the one read most often.",
        metavar="NAME",
    )
    hit_ratio: float = option(
        "Share of the window's lines that get --hit-prop, chosen at random by the hardware; "
        "the others get --miss-prop.",
        metavar="RATIO",
        default=1.0,
    )
    hit_prop: Literal["persisting", "streaming", "normal"] = option(
        "persisting: kept in the set-aside; streaming: first to leave; normal: as without.",
        default="persisting",
    )
    miss_prop: Literal["streaming", "normal"] = option(
        "Of the window's other lines. Streaming ones find little room where L2 is full of "
        "other kernels' data: between events after a flush, not warm.",
        default="streaming",
    )
    fetch_granularity: int = option(
        "Bytes that an L2 miss asks of DRAM (cudaLimitMaxL2FetchGranularity).",
        metavar="32|64|128",
        default=64,
    )
    compression: float = option(
        "DRAM bytes over compressed ones, if the data is compressible memory: never assumed, "
        "and closed forms and simulator alike divide all DRAM bytes by it. "
        "On an H200: zeros 4, small integers 2, half zeros 1.2, random numbers 1.",
        metavar="RATIO",
        default=1.0,
    )
    mig: bool = option("The GPU is in multi-instance mode: no set-aside.", default=False)
    mps: bool = option(
        "A multi-process server runs: only its environment sets L2 aside.", default=False
    )
    concurrent: list[str] | None = option(
        "Persisting window of a kernel that runs at the same time and shares the set-aside, "
        "such as 16MiB:0.5; once for each. The same for lines that an earlier kernel left "
        "persisting and nobody reset. Closed forms only: a simulated launch runs alone.",
        metavar="SIZE[:RATIO]",
    )

    def control(self, kernel: "Kernel", device: "Device", values: Mapping[str, Any]) -> "L2Control":
        """Return the L2 control that the options mean.

        The kernel's parameters, `values`, decide which buffer is read most often.
        """
        from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control

        opened = None
        if self.window is not None or self.window_buffer is not None:
            if self.window is None:
                raise PerfmodelError("--window-buffer needs --window SIZE: how long the window is")
            opened = AccessPolicyWindow(
                buffer=(
                    _read_most_often(kernel, device, values)
                    if self.window_buffer is None
                    else self.window_buffer
                ),
                num_bytes=parse_size(self.window, "--window"),
                hit_ratio=self.hit_ratio,
                hit_prop=self.hit_prop,
                miss_prop=self.miss_prop,
            )
        elif (self.hit_ratio, self.hit_prop, self.miss_prop) != (1.0, "persisting", "streaming"):
            raise PerfmodelError("--hit-ratio, --hit-prop and --miss-prop need --window SIZE")
        return L2Control(
            set_aside=0 if self.set_aside is None else parse_size(self.set_aside, "--set-aside"),
            window=opened,
            fetch_granularity=self.fetch_granularity,
            compression=self.compression,
        )

    def platform(self) -> dict[str, Any]:
        """Return `mig`, `mps` and `concurrent` as `perfmodel.predict` takes them."""
        from perfmodel.kernels.l2_control import AccessPolicyWindow

        found = []
        for text in self.concurrent or ():
            size, _, ratio = text.partition(":")
            try:
                share = float(ratio or 1)
            except ValueError:
                raise PerfmodelError(
                    f"--concurrent {shown(text)} must be SIZE or SIZE:RATIO, such as 16MiB:0.5"
                ) from None
            if not 0 <= share <= 1:
                raise PerfmodelError(
                    f"--concurrent {shown(text)}: its hit_ratio must be from 0 to 1, not {share:g}"
                )
            found.append(AccessPolicyWindow("", parse_size(size, "--concurrent"), share))
        return {"mig": self.mig, "mps": self.mps, "concurrent": tuple(found)}


def _read_most_often(kernel: "Kernel", device: "Device", values: Mapping[str, Any]) -> str:
    """Return the buffer whose bytes the launch reads from L2 most often, or the only one read."""
    from perfmodel.prediction.changes import reused_buffers
    from perfmodel.prediction.predict import predict

    loads = {a.buffer for a in kernel.accesses if a.kind == "load"}
    read = sorted(loads & {b.name for b in kernel.buffers if b.space == "global"})
    if len(read) == 1:
        return read[0]
    times = reused_buffers(predict(kernel, device=device, **values)) if read else {}
    if not times:
        raise PerfmodelError(
            f"--window needs --window-buffer: kernel {kernel.name!r} reads "
            f"{', '.join(read) or 'nothing'}, none of it more often than the others"
        )
    return max(times, key=lambda name: times[name])
