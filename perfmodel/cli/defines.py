"""Parameters from the command line, ``-D`` and ``--over NAME=VALUES``: sizes, lists and ranges."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from inspect import Parameter, signature
from itertools import product
from math import inf, prod
from typing import TYPE_CHECKING, Any, Final

from perfmodel.errors import PerfmodelError, shown
from perfmodel.sizes import parse_size

if TYPE_CHECKING:
    from perfmodel.kernels import Kernel
    from perfmodel.prediction.grid import Axis

MOST_COMBINATIONS: Final = 10_000
"""Configurations that one command predicts at most."""


def parse_defines(
    defines: Iterable[str], words: Collection[str] = (), known: Collection[str] | None = None
) -> dict[str, int | str]:
    """Return the parameters of ``-D`` options that give one value each.

    `words` and `known`: as in `parse_value_lists`.
    """
    found = {}
    for name, values in parse_value_lists(defines, words, known).items():
        if len(values) > 1:
            raise PerfmodelError(
                f"-D {name} gives {len(values)} values, but here each parameter takes one: "
                "perfmodel predict takes several, and perfmodel sweep by --over"
            )
        found[name] = values[0]
    return found


def parse_value_lists(
    defines: Iterable[str],
    words: Collection[str] = (),
    known: Collection[str] | None = None,
    option: str = "-D",
    most: int = MOST_COMBINATIONS,
) -> dict[str, tuple[int | str, ...]]:
    """Return the parameters of ``-D NAME=VALUES`` options, in their order.

    Texts are such as ``"N=4096"``, ``"bytes=1MiB,16MiB"``, ``"M=128:1024:128"`` or
    ``"n=1024:1MiB:*2"``; a range includes its stop if it is hit exactly. Values of `words` are
    words. `known` are the parameters of kernels, which `perfmodel.predict` takes by name; a
    program has none. `option` is what the user wrote before the texts, for errors, and `most` how
    many values a text may have.
    """
    found: dict[str, tuple[int | str, ...]] = {}
    for text in defines:
        name, equals, values = (part.strip() for part in text.partition("="))
        if not equals:
            raise PerfmodelError(
                f"{option} {shown(text)} has no '=': write {option} NAME=VALUE, such as "
                f"{option} N=4096"
            )
        if not name.isidentifier():
            raise PerfmodelError(
                f"{option} {shown(text)} must start with a parameter's name, not {shown(name)}"
            )
        if known is not None:
            from perfmodel import predict

            check_free([name], known, predict, option)
        if name in found:
            raise PerfmodelError(
                f"{option} {name} is given twice: give several values as a list, "
                f"{option} {name}=1,2"
            )
        if name in words:
            found[name] = tuple(word.strip() for word in values.split(","))
        else:
            found[name] = _values(values, f"{option} {name}", most)
    return found


def check_free(
    names: Iterable[str], known: Collection[str], called: Callable[..., Any], option: str = "-D"
) -> None:
    """Refuse names of a function's own arguments, of which no parameter of a kernel can be one.

    `known`: the parameters of the kernels. `called`: the function, which takes them by name.
    """
    own = signature(called).parameters
    for name in names:
        if name in own and own[name].kind is not Parameter.VAR_KEYWORD:
            raise PerfmodelError(
                f"{option} {name} cannot be given: {called.__name__} has an argument of that name; "
                "rename the kernel's parameter"
                if name in known
                else f"{option} {name} is no parameter of the kernel; what --help lists goes "
                f"without {option}"
            )


def combinations(values: Mapping[str, Sequence[int | str]]) -> list[dict[str, int | str]]:
    """Return every combination of the parameters' values, the last parameter fastest."""
    total = prod(len(several) for several in values.values())
    if total > MOST_COMBINATIONS:
        raise too_many("the -D options", total)
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


def _values(text: str, what: str, most: int) -> tuple[int, ...]:
    found: list[int] = []
    for part in text.split(","):
        several = _range(part, what) if ":" in part else (parse_size(part.strip(), what),)
        if len(found) + len(several) > most:
            raise too_many(what, len(found) + len(several), most)
        found.extend(several)
    return tuple(found)


def _range(text: str, what: str) -> Sequence[int]:
    """Return the values of ``start:stop:step`` or ``start:stop:*factor``."""
    parts = [part.strip() for part in text.split(":")]
    if len(parts) != 3:
        raise PerfmodelError(
            f"{what} must be start:stop:step or start:stop:*factor, not {shown(text)}"
        )
    start, stop = (parse_size(part, what) for part in parts[:2])
    times = parts[2].startswith("*")
    step = parse_size(parts[2].removeprefix("*"), what)
    if stop < start:
        raise PerfmodelError(f"{what} must not stop before it starts, not {shown(text)}")
    if step < (2 if times else 1):
        least = "factor must be at least 2" if times else "step must be at least 1"
        raise PerfmodelError(f"{what}: the {least}, not {step}, in {shown(text)}")
    if not times:
        return range(start, stop + 1, step)
    if start == 0:
        raise PerfmodelError(f"{what} must start above 0 to be multiplied, not {shown(text)}")
    values = [start]
    while values[-1] * step <= stop:
        values.append(values[-1] * step)
    return values


def too_many(what: str, total: int, most: int = MOST_COMBINATIONS) -> PerfmodelError:
    """Return what to say of options that make more configurations than are allowed."""
    return PerfmodelError(
        f"{what} make {total} configurations, at most {most} are allowed: use fewer "
        "values or a larger step"
    )


MOST_ROWS: Final = 1 << 20
"""Values of one option that go to a file of rows."""

_FRACTIONS: Final = ("hit-ratio", "compression")


def values_over(
    text: str, kernel: "Kernel | None", most: int = MOST_COMBINATIONS
) -> tuple[str, tuple[float | str, ...]]:
    """Return the name and the values of an ``--over`` option, whole numbers to the last digit.

    `kernel`: whose parameters can be swept over; None: a program.
    """
    name, _, values = (part.strip() for part in text.partition("="))
    if kernel is not None and name:
        from perfmodel import predict
        from perfmodel.prediction.sweep import check_name

        check_name(name, kernel)
        check_free([name], [name], predict, "--over")
    if name in _FRACTIONS:
        return name, _fractions(values, text)
    # A knob's name has a dash, which no parameter has.
    plain = name.replace("-", "_")
    words = kernel.word_parameters if kernel is not None else ()
    return name, parse_value_lists([f"{plain}={values}"], words, None, "--over", most)[plain]


def axis_over(text: str, kernel: "Kernel | None") -> "Axis":
    """Return an ``--over`` option as an axis of a grid; `kernel`: as in `values_over`."""
    import numpy as np

    from perfmodel.prediction.grid import Axis

    name, found = values_over(text, kernel, MOST_ROWS)
    return Axis(name, np.array(found, dtype=object if isinstance(found[0], str) else None))


def _fractions(values: str, text: str) -> tuple[float, ...]:
    """Return the numbers of ``a,b,c`` or ``start:stop:step``."""
    try:
        if ":" not in values:
            return tuple(float(part) for part in values.split(","))
        start, stop, step = (float(part) for part in values.split(":"))
    except ValueError:
        raise PerfmodelError(
            f"--over {shown(text)} must be NAME=a,b,c or NAME=start:stop:step"
        ) from None
    if not 0 < step < inf or not start <= stop:
        raise PerfmodelError(f"--over {shown(text)}: a range goes up, by finite steps above 0")
    if not (stop - start) / step <= 10_000:
        raise PerfmodelError(
            f"--over {shown(text)} has over 10000 values: give a finite range of larger steps"
        )
    return tuple(start + i * step for i in range(int((stop - start) / step + 1e-9) + 1))
