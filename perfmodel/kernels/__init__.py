"""Kernels: the records, the file format, the built-in library, and numbers put in."""

from perfmodel.kernels.access import Access as Access
from perfmodel.kernels.bounds import check_bounds as check_bounds
from perfmodel.kernels.expansion import condition as condition
from perfmodel.kernels.expansion import expanded as expanded
from perfmodel.kernels.files import load_kernel as load_kernel
from perfmodel.kernels.files import parse_kernel as parse_kernel
from perfmodel.kernels.instance import Instance as Instance
from perfmodel.kernels.instance import bind as bind
from perfmodel.kernels.kernel import Arithmetic as Arithmetic
from perfmodel.kernels.kernel import Buffer as Buffer
from perfmodel.kernels.kernel import Kernel as Kernel
from perfmodel.kernels.kernel import Launch as Launch
from perfmodel.kernels.kernel import Loop as Loop
from perfmodel.kernels.kernel import Parameter as Parameter
from perfmodel.kernels.library import builtin as builtin
from perfmodel.kernels.library import find_kernel as find_kernel
from perfmodel.kernels.library import mappings as mappings
from perfmodel.kernels.tables import kernel_from_table as kernel_from_table
from perfmodel.names import builtin_names as builtin_names
