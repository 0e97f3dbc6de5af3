"""Template kernels by the names that their source has."""

from __future__ import annotations

import pytest

from perfmodel.errors import PerfmodelError
from perfmodel.frontends.program import Program
from perfmodel.frontends.ptx.parse import parse_ptx
from perfmodel.frontends.template_names import source_name

# Independent: names that nvcc 13.0 gave, and what c++filt makes of them, parameters left out.
NAMES = {
    "_Z5saxpyIfLi256EEvPKT_PS0_i": "saxpy<float, 256>",
    "_Z5saxpyIdLi128EEvPKT_PS0_i": "saxpy<double, 128>",
    "_Z8branchesILi3EEvPfPKii": "branches<3>",
    "_Z6load_aIN6nvcuda4wmma9row_majorEEvPK6__halfPfi": "load_a<nvcuda::wmma::row_major>",
    "_Z4foldIPKfLb1ELin4EEvT_": "fold<const float*, true, -4>",
    "_ZN4mine4copyI6__halfEEvPT_": "copy<half>",
    "_Z4sortI4PairIjfEEvPT_": "sort<Pair<unsigned int, float>>",
    "plain": "plain",
    "_Z4copyPfi": "copy",
}


@pytest.mark.parametrize(("mangled", "name"), NAMES.items())
def test_names_as_the_source_has_them(mangled: str, name: str) -> None:
    assert source_name(mangled) == name


@pytest.mark.parametrize("name", ["_Z", "_Z9999x", "_Z4copyI", "_Z4copyIQE", "_ZN", "_Z1aI" * 99])
def test_what_cannot_be_read_stays(name: str) -> None:
    assert source_name(name) == name


def program(*names: str) -> Program:
    body = "\n".join(f".visible .entry {name}() {{ ret; }}" for name in names)
    module = parse_ptx(f".version 8.0\n.target sm_90\n.address_size 64\n{body}\n", "names")
    return Program("names.ptx", module, "", "sm_90", None, {}, {})


def test_a_kernel_is_found_by_its_arguments() -> None:
    float_, double, other = (*list(NAMES)[:2], "_Z8branchesILi3EEvPfPKii")
    found = program(float_, double, other)
    assert found.kernel("saxpy<float, 256>").name == float_
    assert found.kernel("saxpy<double,128>").name == double
    assert found.kernel("saxpy<d").name == double
    assert found.kernel("branch").name == other


def test_several_are_listed_as_the_source_has_them() -> None:
    found = program(*list(NAMES)[:2])
    for name in ("saxpy", "saxpy<"):
        with pytest.raises(
            PerfmodelError, match=r"2 kernels .*saxpy<float, 256>, saxpy<double, 128>"
        ):
            found.kernel(name)
    with pytest.raises(PerfmodelError, match=r"has 2 kernels: choose one of saxpy<float, 256>"):
        found.kernel()
    with pytest.raises(PerfmodelError, match=r"has no kernel 'saxpy<int>'"):
        found.kernel("saxpy<int>")
