"""Launches drawn at random: built-ins and kernel files, devices, timings, caches and L2 control."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from perfmodel import Prediction, predict
from perfmodel.expressions import evaluate
from perfmodel.hardware import device_names
from perfmodel.kernels import Kernel, builtin_names, find_kernel
from perfmodel.kernels.kernel import Parameter
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.kernels.library import mappings
from perfmodel.validation.sweeps import KERNELS

FILES: Final = sorted(str(path) for path in KERNELS.glob("*.toml"))
"""Kernel files that are no built-ins."""
EVERY: Final = tuple(
    (name, mapping) for name in builtin_names() for mapping in mappings(name) or (None,)
)
"""Every built-in with each of its mappings."""
DEVICES: Final = tuple(device_names())
_MIB: Final = 1 << 20


@dataclass(frozen=True)
class Drawn:
    """A launch and how it is timed, as `predict` takes it."""

    kernel: str
    mapping: str | None
    params: dict[str, Any]
    device: str
    timing: Any
    cache: Any
    l2: L2Control = field(default_factory=L2Control)
    mig: bool = False
    mps: bool = False
    concurrent: tuple[AccessPolicyWindow, ...] = ()

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of `predict` and `advise` besides the kernel and its parameters."""
        return {
            "device": self.device,
            "timing": self.timing,
            "cache": self.cache,
            "l2": self.l2,
            "mig": self.mig,
            "mps": self.mps,
            "concurrent": self.concurrent,
        }

    def found(self) -> Kernel:
        """Return the kernel."""
        return find_kernel(self.kernel, self.mapping)

    def predicted(self) -> Prediction:
        """Return the prediction."""
        return predict(self.kernel, mapping=self.mapping, **self.options, **self.params)

    def words(self) -> list[str]:
        """Return the words of a command line that mean the same."""
        words = [self.kernel, "--device", self.device, "--timing", self.timing]
        words += ["--cache", self.cache]
        words += [] if self.mapping is None else ["--mapping", self.mapping]
        for name, value in self.params.items():
            words += ["-D", f"{name}={value}"]
        if self.l2.set_aside:
            words += ["--set-aside", str(self.l2.set_aside)]
        if (window := self.l2.window) is not None:
            words += ["--window", str(window.num_bytes), "--window-buffer", window.buffer]
            words += ["--hit-ratio", repr(window.hit_ratio), "--hit-prop", window.hit_prop]
            words += ["--miss-prop", window.miss_prop]
        words += ["--fetch-granularity", str(self.l2.fetch_granularity)]
        words += ["--compression", repr(self.l2.compression)]
        words += ["--mig"] * self.mig + ["--mps"] * self.mps
        for other in self.concurrent:
            words += ["--concurrent", f"{other.num_bytes}:{other.hit_ratio!r}"]
        return words


def around_defaults(kernel: Kernel, generator: np.random.Generator) -> dict[str, Any]:
    """Return random parameters, about half of them away from their defaults."""
    values: dict[str, int] = {}
    for p in kernel.parameters:
        usual = 1024 if p.default is None else int(np.ravel(evaluate(p.default, values))[0])
        values[p.name] = usual
        if generator.random() < 0.5:
            if p.choices:
                values[p.name] = int(generator.choice(p.choices))
                continue
            most = min(p.maximum, 4 * max(usual, 2))
            value = int(np.exp(generator.uniform(0, np.log(most))))
            if generator.random() < 0.6:
                value = 1 << value.bit_length() - 1
            values[p.name] = min(max(value, p.minimum), p.maximum)
    return {p.name: p.shown(values[p.name]) for p in kernel.parameters}


def drawn(rng: random.Random) -> Drawn:
    """Draw a launch; `predict` may refuse it."""
    kernel, mapping = rng.choice(EVERY) if rng.random() < 0.9 else (rng.choice(FILES), None)
    return drawn_of(kernel, mapping, rng)


def drawn_of(kernel: str, mapping: str | None, rng: random.Random) -> Drawn:
    """Draw a launch of a kernel; `predict` may refuse it."""
    found = find_kernel(kernel, mapping)
    usual = rng.random() < 0.7
    return Drawn(
        kernel,
        mapping,
        _parameters(found, rng),
        rng.choice(DEVICES),
        rng.choice(("profiler", "events")),
        rng.choice(("cold", "warm")),
        L2Control() if usual else _l2_control(found, rng),
        mig=not usual and rng.random() < 0.05,
        mps=not usual and rng.random() < 0.05,
        concurrent=()
        if usual or rng.random() < 0.8
        else (AccessPolicyWindow("", rng.randrange(64 * _MIB), rng.random()),),
    )


def _parameters(kernel: Kernel, rng: random.Random) -> dict[str, Any]:
    """Draw values for most of the parameters; the others keep their defaults."""
    given = 0.3 + 0.6 * rng.random()
    return {
        p.name: _value(p, rng)
        for p in kernel.parameters
        if p.default is None or rng.random() < given * (0.4 if p.choices else 1)
    }


def _value(parameter: Parameter, rng: random.Random) -> Any:
    if parameter.choices:
        return parameter.shown(rng.choice(parameter.choices))
    low = max(parameter.minimum, 1)
    sized = "bytes" in parameter.name or parameter.name in ("n", "elements")
    high = min(parameter.maximum, 4 << 30 if sized else 1 << 14)
    if rng.random() < 0.08:
        return rng.choice((parameter.minimum, low, min(high, 2), high, parameter.maximum))
    size = low * (high / low) ** rng.random()
    power = 2 ** round(rng.uniform(0, 1) * max(high.bit_length() - 1, 1))
    close = power + rng.choice((-1, 0, 0, 0, 1))
    found = rng.choice((round(size), round(size / 256) * 256, close))
    return min(max(found, parameter.minimum), high)


def _l2_control(kernel: Kernel, rng: random.Random) -> L2Control:
    buffers = [b.name for b in kernel.buffers if b.space == "global"]
    window = None
    if buffers and rng.random() < 0.7:
        window = AccessPolicyWindow(
            rng.choice(buffers),
            rng.choice((0, 1 << rng.randrange(12, 28), rng.randrange(128 * _MIB))),
            rng.choice((0.0, 1.0, 1.0, 0.5, round(rng.random(), 3))),
            rng.choice(("persisting", "persisting", "streaming", "normal")),
            rng.choice(("streaming", "normal")),
        )
    return L2Control(
        set_aside=rng.choice((0, 0, rng.randrange(32 * _MIB), 8 * _MIB, 30 * _MIB)),
        window=window,
        fetch_granularity=rng.choice((32, 64, 64, 128)),
        compression=rng.choice((1.0, 1.0, 1.0, 1.2, 2.0, 4.0)),
    )
