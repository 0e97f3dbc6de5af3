"""Work in chunks, in order: in this process, in others of this machine, or over a Dask cluster.

::

    with workers(processes=2) as some:  # or cluster="tcp://host:8786", or "local:8"
        for result in some.in_order(work, chunks):
            ...

`work` is a function that other processes can import, or a `functools.partial` of one. Results come
in the order of the chunks, and are the same whoever works. No more chunks are taken than workers
can have waiting, so there may be any number. A chunk whose worker dies is given to another one by
Dask; what is done can be kept by whoever takes the results (see `perfmodel.rows_file`).
"""

import copyreg
import hashlib
import logging
import os
import pickle
import re
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from dataclasses import field
from functools import cache
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

from perfmodel.errors import PerfmodelError, shown
from perfmodel.records import record

C = TypeVar("C")
R = TypeVar("R")

_LOCAL: Final = re.compile(r"local:(\d{1,4})")
_WAITING: Final = 2
"""Chunks that a worker has at most: one in work, and one that waits for it."""
_CONNECT_S: Final = 10
_WORKERS_S: Final = 60
_ENDED: Final = (
    "worker processes were ended, perhaps for want of memory: give the same command again, with "
    "fewer of them if need be"
)


@record
class Submitted:
    """A chunk that a worker has, or that waits for one."""

    result: Callable[[], Any]  # once it is there
    give_up: Callable[[], object]


@record
class Workers:
    """Who works on chunks: other processes, or this one where nothing can be submitted."""

    submit: Callable[[Callable[[Any], Any], Any], Submitted] | None = None
    count: Callable[[], int] = lambda: 1  # how many there are now
    # What says that workers are gone, and what that means for the user.
    lost: Mapping[type[BaseException], str] = field(default_factory=dict)

    def in_order(self, work: Callable[[C], R], chunks: Iterable[C]) -> Iterator[R]:
        """Yield ``work(chunk)`` of each chunk, in order.

        Raises `PerfmodelError` if workers are lost, or have another perfmodel than this process;
        and what `work` raises, of the first chunk that fails.
        """
        if self.submit is None:
            yield from map(work, chunks)
            return
        waiting: deque[Submitted] = deque()
        try:
            for chunk in chunks:
                waiting.append(self.submit(work, chunk))
                if len(waiting) >= _WAITING * self.count():
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except tuple(self.lost) as error:
            meaning = next(text for kind, text in self.lost.items() if isinstance(error, kind))
            raise PerfmodelError(meaning) from None
        except ImportError as error:
            raise PerfmodelError(str(error)) from None
        finally:
            for submitted in waiting:
                submitted.give_up()


HERE: Final = Workers()
"""This process alone."""


@contextmanager
def workers(processes: int = 1, cluster: str | None = None) -> Iterator[Workers]:
    """Give who works on chunks, until the end of the block.

    `processes`: of this machine, where there is no cluster; one is this process. More need a main
    module that can be imported. `cluster`: address of a running Dask scheduler, or ``local:N`` for
    N processes of this machine.

    Raises `PerfmodelError` as `check_cluster`, or if no scheduler answers, or it has no workers.
    """
    if cluster is not None:
        check_cluster(cluster)
        with _over_dask(cluster) as some:
            yield some
    elif processes < 2:
        yield HERE
    else:
        pool = ProcessPoolExecutor(processes, get_context("spawn"), _ignore_interruption)
        try:

            def submit(work: Callable[[Any], Any], chunk: Any) -> Submitted:
                future = pool.submit(_done, work, chunk)
                return Submitted(future.result, future.cancel)

            yield Workers(submit, lambda: processes, {BrokenExecutor: _ENDED})
        finally:
            pool.shutdown(cancel_futures=True)


def cores() -> int:
    """Return the CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def check_cluster(cluster: str) -> None:
    """Refuse a cluster that is no address and not ``local:N``, or where Dask is not installed.

    Raises `PerfmodelError`.
    """
    matched = _LOCAL.fullmatch(cluster)
    if matched is None and not re.fullmatch(r"(\w+://)?[^\s/]+:\d+(/.*)?", cluster):
        wanted = "a scheduler's address such as tcp://host:8786, or local:8 for 8 processes"
        raise PerfmodelError(f"cluster {shown(cluster)} must be {wanted}")
    if cluster.startswith("local:") and (matched is None or not int(matched[1])):
        raise PerfmodelError(f"cluster {shown(cluster)} must be local:N, with N from 1 to 9999")
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise PerfmodelError(
            "a cluster needs Dask, which is not installed: pip install 'perfmodel[dask]'"
        ) from None


@contextmanager
def _over_dask(cluster: str) -> Iterator[Workers]:
    from distributed import Client, KilledWorker
    from distributed.comm import CommClosedError

    # Errors say what the user needs to know of a connection that is lost.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        own = _LOCAL.fullmatch(cluster)
        at = stack.enter_context(_local_cluster(int(own[1]))) if own else cluster
        try:
            client = stack.enter_context(Client(at, timeout=_CONNECT_S))
        except (OSError, ValueError):
            raise PerfmodelError(
                f"no Dask scheduler answers at {cluster}: start one there with `dask scheduler`, "
                "or give local:8 for 8 processes of this machine"
            ) from None
        try:
            client.wait_for_workers(1, timeout=_WORKERS_S)
        except TimeoutError:
            raise PerfmodelError(
                f"the Dask scheduler at {cluster} has no workers: start some with "
                f"`dask worker {cluster}`"
            ) from None

        run, same = _of_worker(), installed()

        # Not by the client's executor: it takes a result for an error if its worker is lost
        # before the future's state is looked at again.
        def submit(work: Callable[[Any], Any], chunk: Any) -> Submitted:
            future = client.submit(run, pickle.dumps((work, chunk)), same, pure=False)
            return Submitted(future.result, future.release)

        def count() -> int:  # they may come and go
            return max(1, sum(map(int, client.nthreads().values())))

        lost = (
            f"the Dask scheduler at {cluster} was lost: start it again, and give the same command"
        )
        gone = {KilledWorker: _ENDED, CancelledError: lost, CommClosedError: lost}
        yield Workers(submit, count, gone)


def _of_worker() -> Callable[[bytes, str], Any]:
    """Return what a worker of a cluster runs; sent as code, for it may have another perfmodel."""

    def run(content: bytes, wanted: str) -> Any:
        import pickle
        import platform
        from importlib import import_module

        try:
            chunks = import_module("perfmodel.chunks")
            there = chunks.installed()
        except (ImportError, AttributeError):
            there = None
        if there != wanted:
            has = "another version of perfmodel or NumPy" if there else "no perfmodel"
            raise ImportError(f"the Dask worker on {platform.node()} has {has}: install the same")
        return chunks._done(*pickle.loads(content))

    return run


@contextmanager
def _local_cluster(processes: int) -> Iterator[Any]:
    import dask
    from distributed import LocalCluster

    # Dask's setting gives the memory of every array back at once: half as fast for our arrays.
    setting = {"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None}
    with (
        dask.config.set(setting),
        LocalCluster(
            n_workers=processes,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",  # no port that somebody may have
            # That a worker was lost and another one started is not for the user.
            silence_logs=logging.CRITICAL,
            preload=["import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"],
        ) as cluster,
    ):
        yield cluster


def _ignore_interruption() -> None:
    """Leave Ctrl-C to the process that takes the results: it stops, and its workers with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _done(work: Callable[[C], R], chunk: C) -> R:
    """Return ``work(chunk)``; what it sets for its context, as by `switch_off`, ends with it."""
    return copy_context().run(work, chunk)


@cache
def installed() -> str:
    """Return what tells this perfmodel from others: a checksum of its code, data and NumPy."""
    package = Path(__file__).parent
    found = hashlib.sha256(version("numpy").encode())
    for path in sorted(p for p in package.rglob("*") if p.suffix in (".py", ".toml")):
        found.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def _view_of(content: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(content)


# Read-only views, of which records are full, cannot be sent to another process as they are.
copyreg.pickle(MappingProxyType, lambda view: (_view_of, (dict(view),)))
