"""Chunks: in order and the same whoever works, also when a worker is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

import pytest

from perfmodel import chunks
from perfmodel.chunks import HERE, Workers, check_cluster, workers
from perfmodel.errors import PerfmodelError

CLUSTER: Final = "local:2"
_mark: Final[ContextVar[int]] = ContextVar("mark", default=0)


@pytest.fixture(scope="module", params=["here", "processes", "dask"])
def some(request: pytest.FixtureRequest) -> Iterator[Workers]:
    """Who works, each way once."""
    if request.param == "here":
        yield HERE
        return
    if request.param == "dask":
        pytest.importorskip("distributed")
    with workers(2, CLUSTER if request.param == "dask" else None) as found:
        yield found


# What workers import.


def squared(chunk: int) -> int:
    time.sleep(0.05 * (chunk % 3 == 0))  # so that some overtake others
    return chunk * chunk


def marked(chunk: int) -> tuple[int, int]:
    """Return what an earlier chunk left in the context, and leave something there."""
    before = _mark.get()
    _mark.set(chunk)
    return chunk, before


def refused(chunk: int) -> int:
    if chunk >= 3:
        raise PerfmodelError(f"chunk {chunk} is wrong: give another")
    return chunk


def process(chunk: int) -> tuple[int, int]:
    time.sleep(0.05)
    return chunk, os.getpid()


def killed(chunk: int) -> int:
    if chunk == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return chunk


def test_results_come_in_the_order_of_chunks(some: Workers) -> None:
    # by hand: squares
    assert list(some.in_order(squared, range(20))) == [n * n for n in range(20)]


def test_few_chunks_are_taken_ahead(some: Workers) -> None:
    # by hand: two for each worker, so that there may be any number of chunks
    taken: list[int] = []

    def counted() -> Iterator[int]:
        for n in range(1000):
            taken.append(n)
            yield n

    results = some.in_order(squared, counted())
    assert next(results) == 0
    assert len(taken) <= 4
    assert next(results) == 1
    assert len(taken) <= 5


def test_what_work_refuses_is_told_of_the_first_chunk(some: Workers) -> None:
    with pytest.raises(PerfmodelError, match=r"^chunk 3 is wrong: give another$"):
        list(some.in_order(refused, range(9)))


def test_context_of_a_chunk_ends_with_it(some: Workers) -> None:
    if some is HERE:
        pytest.skip("the context is the caller's")
    assert list(some.in_order(marked, range(1, 9))) == [(n, 0) for n in range(1, 9)]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
def test_a_worker_that_is_killed_changes_nothing() -> None:
    # property: its chunk is given to another one, which Dask starts
    pytest.importorskip("distributed")
    found = []
    with workers(cluster=CLUSTER) as some:
        for chunk, pid in some.in_order(process, range(30)):
            found.append(chunk)
            if chunk == 5:
                victim = pid
                os.kill(pid, signal.SIGKILL)
            if chunk > 20:
                assert pid != victim
    assert found == list(range(30))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
@pytest.mark.parametrize("cluster", [None, CLUSTER])
def test_a_chunk_that_ends_every_worker_is_one_line(cluster: str | None) -> None:
    if cluster is not None:
        pytest.importorskip("distributed")
    with (
        workers(2, cluster) as some,
        pytest.raises(PerfmodelError, match=r"were ended, .* give the same command again"),
    ):
        list(some.in_order(killed, range(9)))


def test_a_result_is_had_though_its_worker_is_lost_then(monkeypatch: pytest.MonkeyPatch) -> None:
    # property: a worker is lost between a result's arrival and the next look at its future
    client = pytest.importorskip("distributed.client")
    given = client.Future._result

    async def lost(self: Any, raiseit: bool = True) -> Any:
        result = await given(self, raiseit)
        self._state.lose()
        return result

    monkeypatch.setattr(client.Future, "_result", lost)
    with workers(cluster=CLUSTER) as some:
        assert list(some.in_order(squared, range(6))) == [0, 1, 4, 9, 16, 25]


def test_what_waits_is_given_up_also_after_the_cluster() -> None:
    pytest.importorskip("distributed")
    with workers(cluster=CLUSTER) as some:
        results = some.in_order(squared, range(100))
        assert next(results) == 0
    results.close()  # type: ignore[attr-defined]


def test_workers_with_another_perfmodel_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(chunks, "installed", lambda: "another")
    with (
        workers(cluster="local:1") as some,
        pytest.raises(PerfmodelError, match="has another version of perfmodel or NumPy"),
    ):
        list(some.in_order(squared, [1]))


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(chunks, "_CONNECT_S", 1)
    with (
        pytest.raises(PerfmodelError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1:"),
        workers(cluster="tcp://127.0.0.1:1"),
    ):
        pass


@pytest.mark.parametrize("cluster", ["", "local", "local:", "local:0", "local:x", "host", "a b:1"])
def test_no_clusters(cluster: str) -> None:
    with pytest.raises(PerfmodelError, match=r"cluster .* must be .*local:"):
        check_cluster(cluster)


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(PerfmodelError, match=r"pip install 'perfmodel\[dask\]'"):
        check_cluster(CLUSTER)


def test_nothing_of_an_extra_is_imported_unless_asked_for() -> None:
    code = (
        "import sys\n"
        "from perfmodel.chunks import workers\n"
        "import perfmodel.rows_file, perfmodel.cli.sweep, perfmodel.validation.case\n"
        "with workers(1) as some: print(list(some.in_order(abs, [-1])))\n"
        "print({'dask', 'distributed', 'pyarrow'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[1]\nset()\n"


def test_partial_functions_and_views_are_sent(some: Workers) -> None:
    # records are full of mapping proxies, which pickle does not know
    from types import MappingProxyType

    work = partial(summed, MappingProxyType({"a": 1, "b": 2}))
    assert list(some.in_order(work, [10, 20])) == [13, 23]


def summed(view: dict[str, int], chunk: int) -> int:
    return sum(view.values()) + chunk
