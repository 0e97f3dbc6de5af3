"""Values of a kernel's parameters: what the caller gave, checked, and defaults for the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import reduce
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.expressions import evaluate, text
from perfmodel.kernels.kernel import Kernel, Parameter
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control

_ALIKE: Final = (
    ("int32", "int", "i32", "s32"),
    ("uint32", "unsigned", "u32"),
    ("uint64", "u64"),
    ("fp32", "float32", "float", "f32"),
    ("fp64", "float64", "double", "f64"),
    ("fp16", "float16", "half", "f16"),
    ("bf16", "bfloat16"),
    ("true", "True", "1", "yes"),
    ("false", "False", "0", "no"),
)
"""Other names of the same: CUDA's, NumPy's and PTX's types."""

_GROUPS: Final = MappingProxyType({word: group for group in _ALIKE for word in group})


def parameter_values(kernel: Kernel, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return all parameters as ints or int64 arrays, defaults filled in."""
    known = [parameter.name for parameter in kernel.parameters]
    for name in values:
        if name not in known:
            if (remedy := _l2_remedy(str(name))) is not None:
                raise PerfmodelError(
                    f"kernel {kernel.name!r} has no parameter {shown(name)}{remedy}"
                )
            has = f"its parameters are {', '.join(known)}" if known else "it has none"
            hint = nearest(str(name), known)
            hint = f"{hint} ({has})" if hint else f"; {has}"
            raise PerfmodelError(f"kernel {kernel.name!r} has no parameter {shown(name)}{hint}")
    filled: dict[str, Any] = {}
    for parameter in kernel.parameters:
        name = parameter.name
        what = f"kernel {kernel.name!r}, parameter {name!r}"
        if name in values:
            filled[name] = _integers(values[name], parameter, what)
        elif parameter.default is not None:
            what += " (its default)"
            try:
                value = plain(evaluate(parameter.default, filled))
            except PerfmodelError as error:
                raise PerfmodelError(f"{what}: {error}") from None
            filled[name] = value if parameter.words else _integers(value, parameter, what)
        else:
            meaning = f" ({parameter.summary})" if parameter.summary else ""
            raise PerfmodelError(f"{what}{meaning} has no default: give it a value, {name} = ...")
        if parameter.divides is not None:
            _check_divides(filled[name], evaluate(parameter.divides, filled), parameter, what)
    return filled


def _l2_remedy(name: str) -> str | None:
    """Return where to state what is no parameter of a kernel but L2 control; None for others."""
    name = name.replace("-", "_")
    whole, window = ({f.name for f in fields(c)} for c in (L2Control, AccessPolicyWindow))
    if name not in whole | window - {"buffer", "offset"}:
        return None
    stated = "window=AccessPolicyWindow(...)" if name in window | {"window"} else f"{name}=..."
    return (
        f", which is L2 control: give l2=L2Control({stated}), of perfmodel.kernels.l2_control, or "
        "on the command line its option (see --help)"
    )


def _check_divides(value: Any, whole: Any, parameter: Parameter, what: str) -> None:
    """Refuse a value that does not go into what it is a part of."""
    assert parameter.divides is not None
    values, wholes = np.broadcast_arrays(value, whole)
    wrong = np.ravel(wholes % np.maximum(values, 1) != 0) | np.ravel(wholes < values)
    if wrong.any():
        at = int(np.argmax(wrong))
        meaning = f" ({parameter.summary})" if parameter.summary else ""
        raise PerfmodelError(
            f"{what}{meaning} must divide {text(parameter.divides)}, which is "
            f"{np.ravel(wholes)[at]}, not be {np.ravel(values)[at]}; choose another value"
        )


def _integers(value: Any, parameter: Parameter, what: str) -> Any:
    """Return a parameter's value as an int or an int64 array, checked."""
    if parameter.words:
        return _codes(value, parameter, what)
    # numpy.asarray is slow for one number, and turns an int past 2**64 into an object.
    if type(value) is int:
        _check_range(value, value, parameter, what)
        return value
    try:
        array = np.asanyarray(value)
    except (ValueError, TypeError, OverflowError):
        raise PerfmodelError(f"{what} must be whole numbers, not {shown(value)}") from None
    if array.dtype.kind not in "iu":
        raise PerfmodelError(
            f"{what} must be a whole number, not {shown(value)} (of type {array.dtype})"
            if array.ndim == 0
            else f"{what} must be whole numbers, not an array of type {array.dtype}"
        )
    if array.size:
        _check_range(array.min(), array.max(), parameter, what, array)
    return array.item() if array.ndim == 0 else array.astype(np.int64)


def _codes(value: Any, parameter: Parameter, what: str) -> Any:
    """Return what the words of a parameter stand for; true and false may come as such."""
    known = dict(zip(parameter.words, parameter.choices, strict=True))
    flags = parameter.words == ("false", "true")

    def code(word: Any) -> int:
        if flags and isinstance(word, bool | int | np.bool_ | np.integer) and word in (0, 1):
            return int(word)
        if word not in known:
            same = [other for other in _GROUPS.get(str(word), ()) if other in known]
            if same and isinstance(word, str):
                return known[same[0]]
            raise PerfmodelError(
                f"{what} must be one of {', '.join(known)}, not {shown(word)}"
                f"{nearest(str(word), known)}"
            )
        return known[str(word)]

    array = np.asarray(value)
    if array.ndim == 0:
        return code(array.item())
    words, inverse = np.unique(array, return_inverse=True)
    codes = np.array([code(word) for word in words.tolist()], dtype=np.int64)
    return codes[np.ravel(inverse)].reshape(array.shape)


def _check_range(
    low: int, high: int, parameter: Parameter, what: str, array: Array | None = None
) -> None:
    least, most = parameter.minimum, parameter.maximum
    if low < least or high > most:
        raise PerfmodelError(
            f"{what} must be {least} to {most}, not {shown(int(low if low < least else high))}"
        )
    if parameter.choices:
        wrong = _not_among(parameter.choices, np.asanyarray(low if array is None else array))
        if wrong and len(parameter.choices) == 1:
            raise PerfmodelError(
                f"{what} is {parameter.choices[0]} in this launch, not {min(wrong)}: of a kernel "
                "from source the launch states it (--arg, --grid, --block)"
            )
        if wrong:
            known = ", ".join(map(str, parameter.choices))
            raise PerfmodelError(f"{what} must be one of {known}, not {min(wrong)}")


def common_shape(kernel: Kernel, given: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the shape that the parameters broadcast to."""
    shapes = {name: np.shape(value) for name, value in given.items()}
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items() if shape)
        raise PerfmodelError(
            f"kernel {kernel.name!r}: arrays of parameters must broadcast together, not {listed}"
        ) from None


def plain(value: Any) -> Any:
    """Return truth values as 0 and 1, and anything else as it is."""
    if isinstance(value, np.ndarray):
        return value.astype(np.int64) if value.dtype.kind == "b" else value
    return int(value) if isinstance(value, bool) else value


def _not_among(choices: Sequence[int], values: Array) -> set[int]:
    """Return the values that are none of some choices."""
    among = reduce(np.logical_or, [values == choice for choice in choices])
    return set() if np.all(among) else set(np.ravel(values).tolist()) - set(choices)
