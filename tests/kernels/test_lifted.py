"""Kernels of one form: numbers that differ as parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from perfmodel.expressions import Number
from perfmodel.kernels import Kernel, bind
from perfmodel.kernels import lifted as module
from perfmodel.kernels.doubt import Doubt
from perfmodel.kernels.kernel import Assumption
from perfmodel.kernels.lifted import lifted
from tests.prediction.sources import saxpy


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    module._forms.clear()
    yield
    module._forms.clear()


def with_flop(kernel: Kernel, flop: float) -> Kernel:
    return replace(kernel, flop=Number(flop))


def test_what_differs_is_a_parameter_and_gives_the_same_numbers() -> None:
    # property: the launch's own numbers, a float that is no whole number among them to the bit
    first, second = (with_flop(saxpy(256 * n), n / 3) for n in (7, 11))
    lifted(first)
    found = lifted(second)
    assert found is not None
    instance, plain = bind(found.kernel, found.values), bind(second)
    assert instance.flop == plain.flop
    assert [*map(int, instance.grid)] == [*map(int, plain.grid)] == [11, 1, 1]
    assert instance.lengths == plain.lengths
    assert instance.counts == plain.counts


def test_kernels_of_a_form_share_one() -> None:
    # property: programs are kept by the kernel
    kernels = [saxpy(256 * n) for n in (2, 3, 4, 5)]
    first, *rest = [lifted(kernel) for kernel in kernels[1:]]
    assert first is not None
    assert all(each is not None and each.kernel is rest[0].kernel for each in rest if rest[0])


def test_other_forms_and_counted_contents_are_apart() -> None:
    # by hand: another pipe is another form
    lifted(saxpy(512))
    other = saxpy(768)
    lifted(replace(other, precision="fp64"))
    assert len(module._forms) == 2
    work = replace(other, block_work=(1.0, 1.0))
    assert lifted(work) is None
    assert len(module._forms) == 2


def test_numbers_that_are_whole_at_times_are_of_one_form() -> None:
    # property: the launch's own numbers, whichever came first
    kernels = [
        with_flop(saxpy(256 * n), flop) for n, flop in ((7, 4), (8, 4.5), (9, 6), (10, 1 / 3))
    ]
    for kernel in kernels:
        lifted(kernel)
    assert len(module._forms) == 1
    for kernel in kernels:
        found = lifted(kernel)
        assert found is not None
        assert bind(found.kernel, found.values).flop == bind(kernel).flop


def test_what_time_does_not_depend_on_is_in_no_form() -> None:
    # by hand: how far the time may be off, and contents that others would not change
    lifted(saxpy(512))
    assumed = Assumption(("x",), "x: random numbers")
    known = replace(saxpy(768), doubt=Doubt(2.0, 3.0, reasons=("for one",)), assumption=assumed)
    found = lifted(known)
    assert found is not None
    assert len(module._forms) == 1
    assert found.kernel.doubt == Doubt()
    assert found.kernel.assumption is None
    compared = replace(assumed, others=(saxpy(512),))
    assert lifted(replace(known, assumption=compared)) is None
