"""A warp's request as a record: its lanes, sectors and lines, held against counts by hand."""

from __future__ import annotations

from typing import Any

import pytest

from perfmodel import PerfmodelError, predict
from perfmodel.reports.drawings.place import Place
from perfmodel.reports.drawings.sectors import WarpRequest, warp_request


def request(
    kernel: str, access: str | None = None, place: Place | None = None, **given: Any
) -> WarpRequest:
    return warp_request(predict(kernel, **given), access, place)


@pytest.mark.parametrize(
    ("kernel", "access", "given", "sectors", "lines"),
    [
        # by hand: 32 lanes of 4 B, so many bytes from one to the next
        ("strided-copy", "in", {"stride": 1}, 4, 1),
        ("strided-copy", "in", {"stride": 2}, 8, 2),
        ("strided-copy", "in", {"stride": 4}, 16, 4),
        ("strided-copy", "in", {"stride": 8}, 32, 8),
        ("strided-copy", "in", {"stride": 32}, 32, 32),
        # one float past a sector's start: lanes 0 to 6 in the first, lane 31 in a fifth
        ("strided-copy", "in", {"stride": 1, "offset": 1}, 5, 2),
        # 16 B a lane: 512 B
        ("copy", "in", {"bytes": 1 << 20}, 16, 4),
        # lanes walk down m: rows of A and of C are 4 KiB apart, B's element is the same for all
        ("gemm", "A", {"mapping": "naive", "N": 1024}, 32, 32),
        ("gemm", "B", {"mapping": "naive", "N": 1024}, 1, 1),
        ("gemm", "C", {"mapping": "naive", "N": 1024}, 32, 32),
        # lanes walk along n: A's element is the same for all
        ("gemm", "A", {"mapping": "coalesced", "N": 1024}, 1, 1),
        ("gemm", "B", {"mapping": "coalesced", "N": 1024}, 4, 1),
        ("gemm", "C", {"mapping": "coalesced", "N": 1024}, 4, 1),
        # runs of 8 floats at random places of a table of a GiB: a sector each
        ("gather", "table", {"n": 1 << 20, "run": 8}, 4, 4),
        ("atomic-add", "modulo", {"n": 1 << 20, "addresses": 1}, 1, 1),
    ],
)
def test_sectors_and_lines_by_hand(
    kernel: str, access: str, given: dict[str, Any], sectors: int, lines: int
) -> None:
    found = request(kernel, access, **given)
    assert (len(found.sectors), len(found.lines)) == (sectors, lines)


@pytest.mark.parametrize("mapping", ["naive", "coalesced", "smem", "vectorized"])
@pytest.mark.parametrize("access", ["A", "B", "C"])
def test_every_request_is_as_the_mean_where_all_are_alike(mapping: str, access: str) -> None:
    # independent: the closed forms, of all requests of the launch together
    found = request("gemm", access, mapping=mapping, N=1024)
    assert len(found.sectors) == pytest.approx(found.mean_sectors)
    assert len(found.lines) == pytest.approx(found.mean_lines)


def test_lanes_of_a_chosen_warp_and_iteration() -> None:
    # by hand: m = 3*32 + lane, n = 2*32 + 5, of warp 5 of block (3, 2); k = 7; N = K = 1024
    place = Place((3, 2, 0), 5, {"k": 7})
    of_a = request("gemm", "A", place, mapping="naive", N=1024)
    assert of_a.lanes == tuple(4 * ((96 + lane) * 1024 + 7) for lane in range(32))
    of_b = request("gemm", "B", place, mapping="naive", N=1024)
    assert set(of_b.lanes) == {4 * (7 * 1024 + 69)}
    assert of_b.used == pytest.approx(4 / 32)


def test_lanes_past_the_end_take_no_part() -> None:
    # by hand: 4128 bytes of 16 a thread are 258 threads; the second block of 256 has two
    found = request("copy", "in", Place((1, 0, 0)), bytes=4128)
    assert found.lanes == (4096, 4112, *[None] * 30)
    assert found.text.startswith("2 lanes of 16 B: 1 sector in 1 line, 100%")


def test_by_default_the_most_expensive_access() -> None:
    # by hand: A has 32 sectors per request, B 1, C 32 but once
    found = request("gemm", mapping="naive", N=1024)
    assert (found.buffer, found.kind, found.access) == ("A", "load", "load A[m*K + k], every k")


@pytest.mark.parametrize(
    ("access", "place", "message"),
    [
        ("D", None, "--access 'D': no access to global memory is called so; there are A, B, C"),
        ("A", Place((99, 0, 0)), "--at blockIdx.x must be 0 to 31 in this launch, not 99"),
        ("A", Place(warp=32), "--at warp must be 0 to 31 in this launch, not 32"),
        ("A", Place(loops={"k": 1024}), "--at k must be 0 to 1023 in this launch, not 1024"),
        ("C", Place(loops={"k": 0}), "--at k: no such loop around this access; there is none"),
    ],
)
def test_what_a_launch_does_not_have(access: str, place: Place | None, message: str) -> None:
    with pytest.raises(PerfmodelError, match=message.replace(".", r"\.")):
        request("gemm", access, place, mapping="coalesced", N=1024)


def test_a_warp_that_takes_no_part() -> None:
    with pytest.raises(PerfmodelError, match="no lane of this warp takes part here"):
        request("copy", "in", Place((1, 0, 0), 3), bytes=4128)
