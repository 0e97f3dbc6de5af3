"""Rows that come in parts, into a CSV or Parquet file that is there once all are.

While they come, ``rows.csv.parts`` has a file for each part, and ``rows.csv.json`` says what they
are of. The same work given again goes on after the last part; other work is refused. At the end the
parts are joined and leave; the ``.json`` stays and tells where the file is from.
"""

import csv
import hashlib
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy.typing as npt

from perfmodel.chunks import Workers, installed
from perfmodel.errors import PerfmodelError
from perfmodel.records import record
from perfmodel.text_files import check_target, write_file

C = TypeVar("C")

SUFFIXES: Final = (".csv", ".parquet")
FORMAT: Final = "perfmodel.rows/1"

Columns = Mapping[str, npt.NDArray[Any]]
"""By name, of one length: whole numbers, floats, or text."""


@record
class Origin:
    """What rows are of."""

    command: str  # that wrote them, for people
    checksum: str  # of all that they follow from, see `origin`
    format: str = FORMAT


def origin(command: str, *facts: Any) -> Origin:
    """Return what rows are of: facts whose ``repr`` says all of them, and this perfmodel."""
    found = hashlib.sha256(installed().encode())
    for fact in facts:
        found.update(b"\0" + repr(fact).encode(errors="backslashreplace"))
    return Origin(command, found.hexdigest())


def check_rows_file(path: str | Path) -> Path:
    """Return where rows are to be written; see `perfmodel.text_files.check_target`.

    Raises `PerfmodelError` as that, or if it is Parquet, and pyarrow is not installed.
    """
    checked = check_target(path, "rows", SUFFIXES)
    if checked.suffix.lower() == ".parquet":
        _pyarrow()
    return checked


@record
class RowsFile:
    """Where rows go; as `check_rows_file` gives the path."""

    path: Path
    origin: Origin

    def resume(self) -> int:
        """Return how many parts are there already; -1 if all are, and the file is whole.

        Raises `PerfmodelError` if the file or its parts are of something else.
        """
        begun = self._part(0).exists()
        there = [self.path] * self.path.exists() + [self._parts] * begun
        if there:
            self._check_origin(there)
        if self.path in there:
            shutil.rmtree(self._parts, ignore_errors=True)
            return -1
        return next(n for n in count() if not self._part(n).exists())

    def add(self, number: int, content: bytes) -> None:
        """Keep a part, the parts before it being there; as `encoded` gives the content.

        Raises `PerfmodelError` if it cannot be written.
        """
        if number == 0:
            write_file(self._note, json.dumps(asdict(self.origin), indent=2) + "\n")
            try:
                self._parts.mkdir(exist_ok=True)
            except OSError as error:
                raise _not_written(self._parts, error) from None
        write_file(self._part(number), content)

    def finish(self, number: int) -> None:
        """Join so many parts to the file, one at a time in memory.

        Raises `PerfmodelError` if it cannot be written.
        """
        whole = self._parts / f"whole{self.path.suffix}"
        parts = (self._part(n).read_bytes() for n in range(number))
        try:
            join = _join_parquet if self._suffix == ".parquet" else _join_csv
            join(parts, whole)
            os.replace(whole, self.path)
        except OSError as error:
            raise _not_written(self.path, error) from None
        shutil.rmtree(self._parts, ignore_errors=True)

    @property
    def _suffix(self) -> str:
        return self.path.suffix.lower()

    @property
    def _parts(self) -> Path:
        return self.path.with_name(f"{self.path.name}.parts")

    @property
    def _note(self) -> Path:
        return self.path.with_name(f"{self.path.name}.json")

    def _part(self, number: int) -> Path:
        return self._parts / f"{number:06}{self._suffix}"

    def _check_origin(self, there: list[Path]) -> None:
        try:
            said = json.loads(self._note.read_text("utf-8"))
            found = Origin(said["command"], said["checksum"], said["format"])
        except (OSError, ValueError, KeyError, TypeError):
            found = None
        if found is not None and found.checksum == self.origin.checksum:
            return
        if found is None:
            what = "is there, and nothing says what it is of"
        elif found.command == self.origin.command:
            what = "is of other input files, or of another version of perfmodel"
        else:
            what = f"is of another command, which {self._note.name} has"
        names = " and ".join(repr(str(path)) for path in there)
        raise PerfmodelError(
            f"rows file {str(self.path)!r} {what}: delete {names}, or give another file"
        )


def fill(
    rows: RowsFile,
    parts: range,
    chunk: Callable[[int], C],
    work: Callable[[C], Columns],
    some: Workers,
    tell: Callable[[int], Any] = lambda done: None,
) -> None:
    """Write the parts that are left, each the rows of ``work(chunk(number))``; and finish.

    `tell` is told how many parts are done, at first and after each one.
    """
    tell(parts.start)
    encode = partial(_encoded_rows, work, rows.path.suffix)
    for number, content in zip(parts, some.in_order(encode, map(chunk, parts)), strict=True):
        rows.add(number, content)
        tell(number + 1)
    rows.finish(parts.stop)


def _encoded_rows(work: Callable[[Any], Columns], suffix: str, chunk: Any) -> bytes:
    return encoded(work(chunk), suffix)


def encoded(columns: Columns, suffix: str) -> bytes:
    """Return rows as a file of a suffix has them; floats without rounding."""
    if suffix.lower() == ".parquet":
        pyarrow, parquet = _pyarrow()
        sink = pyarrow.BufferOutputStream()
        parquet.write_table(pyarrow.table(dict(columns)), sink)
        return bytes(sink.getvalue())
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return text.getvalue().encode()


def decoded(content: bytes, suffix: str, kinds: Mapping[str, type]) -> dict[str, list[Any]]:
    """Return the columns of `encoded` rows; `kinds` are those of their values."""
    if suffix.lower() == ".parquet":
        pyarrow, parquet = _pyarrow()
        found = parquet.read_table(pyarrow.BufferReader(content)).to_pydict()
        return {name: list(found[name]) for name in kinds}
    lines = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
    return {name: [kind(line[name]) for line in lines] for name, kind in kinds.items()}


def _join_csv(parts: Iterator[bytes], whole: Path) -> None:
    with whole.open("wb") as file:
        for number, content in enumerate(parts):
            file.write(content if number == 0 else content[content.index(b"\n") + 1 :])


def _join_parquet(parts: Iterator[bytes], whole: Path) -> None:
    pyarrow, parquet = _pyarrow()
    first = parquet.read_table(pyarrow.BufferReader(next(parts)))
    with parquet.ParquetWriter(whole, first.schema) as writer:
        writer.write_table(first)
        for content in parts:
            writer.write_table(parquet.read_table(pyarrow.BufferReader(content)))


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise PerfmodelError(
            "Parquet needs pyarrow, which is not installed: pip install 'perfmodel[parquet]', or "
            "give a .csv file"
        ) from None
    return pyarrow, parquet


def _not_written(path: Path, error: OSError) -> PerfmodelError:
    return PerfmodelError(f"file {str(path)!r} cannot be written: {error.strerror or error}")
