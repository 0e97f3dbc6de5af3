"""Kernels: the records, the file format, the built-in library, and numbers put in."""

from perfmodel.kernels.access import Access
from perfmodel.kernels.bounds import check_bounds
from perfmodel.kernels.expansion import condition, expanded
from perfmodel.kernels.files import load_kernel, parse_kernel
from perfmodel.kernels.instance import Instance, bind
from perfmodel.kernels.kernel import Arithmetic, Buffer, Kernel, Launch, Loop, Parameter
from perfmodel.kernels.library import builtin, find_kernel, mappings
from perfmodel.kernels.tables import kernel_from_table
from perfmodel.names import builtin_names

__all__ = [
    "Access",
    "Arithmetic",
    "Buffer",
    "Instance",
    "Kernel",
    "Launch",
    "Loop",
    "Parameter",
    "bind",
    "builtin",
    "builtin_names",
    "check_bounds",
    "condition",
    "expanded",
    "find_kernel",
    "kernel_from_table",
    "load_kernel",
    "mappings",
    "parse_kernel",
]
