"""The record itself: derived figures, required figures, immutability, the hierarchy."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from perfmodel.errors import PerfmodelError
from perfmodel.hardware import Device, hierarchy, load_device
from perfmodel.hardware.device import quantities
from perfmodel.hardware.figure import UNITS


@pytest.fixture(scope="module")
def h100() -> Device:
    return load_device("h100-sxm")


def test_derived_figures(h100: Device) -> None:
    # independent, by hand from the catalogue's file
    assert h100.dram_read_bandwidth == pytest.approx(0.971 * 3352.3e9)


def test_fields_are_the_schema() -> None:
    others = {"name", "title", "compute_capability", "figures", "coefficients", "inherited"}
    assert {f.name for f in dataclasses.fields(Device)} == set(quantities()) | others
    dimensions = {unit.dimension for unit in UNITS.values()}
    assert all(what.dimension in dimensions and what.doc for what in quantities().values())


def test_require(h100: Device) -> None:
    assert h100.require("l2_far_latency") == h100.l2_far_latency
    with pytest.raises(PerfmodelError, match=r"'a100-sxm-40' has no figure 'peak_fp8_tensor'.*add"):
        load_device("a100-sxm-40").require("peak_fp8_tensor")
    with pytest.raises(PerfmodelError, match="did you mean 'l2_size'"):
        h100.require("l2_siz")
    with pytest.raises(PerfmodelError, match="a list"):
        h100.require("shared_carveouts")


def test_device_is_read_only(h100: Device) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        h100.sm_count = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        h100.figures["sm_count"] = h100.figures["l2_size"]  # type: ignore[index]


def test_device_travels_to_other_processes(h100: Device) -> None:
    for again in (pickle.loads(pickle.dumps(h100)), copy.deepcopy(h100)):
        assert again == h100
        assert again.figures == h100.figures
        with pytest.raises(TypeError):
            again.figures["sm_count"] = None


def test_device_is_a_key(h100: Device) -> None:
    faster = dataclasses.replace(h100, sm_clock=2e9)
    assert len({h100, load_device("h100-sxm"), faster}) == 2


def test_hierarchy_of_the_h100(h100: Device) -> None:
    # published: the table of the article "GPU Memory Hierarchy" for scope and management
    levels = {level.name: level for level in hierarchy(h100)}
    assert list(levels) == ["registers", "shared memory", "L1", "L2", "DRAM"]
    assert [level.scope for level in levels.values()] == ["thread", "block", "SM", "GPU", "GPU"]
    assert [level.managed_by for level in levels.values()] == [
        "compiler",
        "programmer",
        "hardware",
        "hardware",
        "allocator",
    ]
    assert levels["DRAM"].bandwidth == pytest.approx(3352.3e9)
    assert levels["DRAM"].bandwidth_figure == h100.figures["dram_bandwidth"]
    assert levels["L2"].size == 52_428_800
    assert levels["shared memory"].size == 228 * 1024
    assert levels["shared memory"].size_per == "SM"


def test_hierarchy_grows_and_slows(h100: Device) -> None:
    # property of any memory hierarchy; L1 and shared memory are one array
    levels = hierarchy(h100)
    bandwidths = [level.bandwidth for level in levels if level.bandwidth]
    latencies = [level.latency for level in levels if level.name != "L1" and level.latency]
    assert bandwidths == sorted(bandwidths, reverse=True)
    assert latencies == sorted(latencies)


def test_hierarchy_leaves_unknown_out(h100: Device) -> None:
    bare = dataclasses.replace(
        h100,
        register_latency=None,
        figures={k: v for k, v in h100.figures.items() if k != "register_latency"},
    )
    assert hierarchy(bare)[0].latency is None
    assert hierarchy(bare)[0].latency_figure is None
