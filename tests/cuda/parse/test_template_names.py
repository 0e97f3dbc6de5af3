"""Template kernels by the names that their source has."""

from __future__ import annotations

import pytest

from perfmodel.cuda.compile.program import Program
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.parse.template_names import is_named, source_name
from perfmodel.errors import PerfmodelError

# Independent: names that nvcc 13.0 gave, and what c++filt makes of them, parameters left out.
NAMES = {
    "_Z5saxpyIfLi256EEvPKT_PS0_i": "saxpy<float, 256>",
    "_Z5saxpyIdLi128EEvPKT_PS0_i": "saxpy<double, 128>",
    "_Z8branchesILi3EEvPfPKii": "branches<3>",
    "_Z6load_aIN6nvcuda4wmma9row_majorEEvPK6__halfPfi": "load_a<nvcuda::wmma::row_major>",
    "_Z4foldIPKfLb1ELin4EEvT_": "fold<const float*, true, -4>",
    "_ZN4mine4copyI6__halfEEvPT_": "copy<half>",
    "_Z4sortI4PairIjfEEvPT_": "sort<Pair<unsigned int, float>>",
    "_Z4softI6__halfS0_fLi10EEvPT0_PKT_T1_iii": "soft<half, half, float, 10>",
    "_Z1kI6float2P6__halfS2_N4cuda3std5tupleIJifEEEEvv": (
        "k<float2, half*, half*, cuda::std::tuple<int, float>>"
    ),
    "_ZN3foo1kINS_3BarIfEES2_EEvv": "k<foo::Bar<float>, foo::Bar<float>>",
    "plain": "plain",
    "_Z4copyPfi": "copy",
}


@pytest.mark.parametrize(("mangled", "name"), NAMES.items())
def test_names_as_the_source_has_them(mangled: str, name: str) -> None:
    assert source_name(mangled) == name


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("_Z1kI6__halfEvv", "k<__half>"),
        ("_Z1kI13__nv_bfloat16EvPT_", "k<__nv_bfloat16>"),
        ("_Z1kIhlEvv", "k<uint8_t, int64_t>"),
        ("_Z1kIjmEvv", "k<unsigned, size_t>"),
    ],
)
def test_types_may_have_the_names_that_headers_give_them(mangled: str, name: str) -> None:
    assert is_named(mangled, name)


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
