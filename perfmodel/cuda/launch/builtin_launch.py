"""The launch of a built-in kernel, as a launch of its CUDA source."""

from collections.abc import Mapping

from perfmodel.cuda.launch.spec import Argument, Buffer, LaunchSpec, Scalar
from perfmodel.cuda.parse.signatures import parameter_names
from perfmodel.errors import PerfmodelError
from perfmodel.kernels import Instance, bind
from perfmodel.kernels.kernel import Kernel
from perfmodel.kernels.sources import Source


def builtin_launch(
    kernel: Kernel, source: Source, values: Mapping[str, int | str] | None = None
) -> tuple[LaunchSpec, tuple[str, ...]]:
    """Return the launch of a built-in's source that is the built-in's, and how it is compiled.

    Grid, block and the sizes of the buffers [B] are the built-in's; `values` has its parameters,
    defaults for the rest. Raises `PerfmodelError` if a value is wrong, or the source is not for
    such launches.
    """
    instance = bind(kernel, values)
    name = source.path.name
    if not instance.number(source.only):
        raise PerfmodelError(f"{name} is for other launches: see the comment at its start")
    text = source.text()
    named: dict[str, Argument] = {}
    for parameter in parameter_names(text)[source.function]:
        named[parameter] = _argument(parameter, source, instance)
    x, y, z = (int(side) for side in instance.grid)
    across, down, deep = (int(side) for side in instance.block)
    launch = LaunchSpec(
        grid=(x, y, z),
        block=(across, down, deep),
        shared_bytes=int(instance.number(source.shared_bytes)),
        kernel=source.function,
        named=named,
    )
    return launch, source.compiler_options(instance)


def _argument(name: str, source: Source, instance: Instance) -> Argument:
    if name in source.arguments:
        return Scalar(int(instance.number(source.arguments[name])))
    if name in source.buffers:
        return Buffer(source.buffers[name])
    if name in instance.values:
        return Scalar(int(instance.values[name]))
    if name not in instance.lengths:
        raise PerfmodelError(f"{source.path.name}: nothing says what argument {name!r} is")
    size = int(instance.lengths[name]) * int(instance.element_bytes[name])
    if name in source.contents:
        below = int(instance.number(source.contents[name]))
        if below == 1:
            return Buffer(size, dtype="u32", fill="zeros")
        return Buffer(size, dtype="u32", fill="uniform", below=below)
    return Buffer(size)
