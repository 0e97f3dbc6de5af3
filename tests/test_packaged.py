"""Data files kept parsed: the same tables whatever the cache folder holds, and no harm from it."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest

import perfmodel
from perfmodel import PerfmodelError, packaged
from perfmodel.packaged import cache_folder, packaged_toml

FILES: Final = sorted(Path(perfmodel.__file__).parent.rglob("*.toml"))
TEXT: Final = 'name = "a"\nvalues = [1, 2.0, 0.1, 1e300, inf]\n\n[part.inner]\ntrue = false\n'
TABLE: Final = {
    "name": "a",
    "values": [1, 2.0, 0.1, 1e300, math.inf],
    "part": {"inner": {"true": False}},
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have the cache in a folder of the test's own."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "perfmodel"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "some.toml"
    path.write_text(TEXT)
    return path


def only_entry(folder: Path) -> Path:
    (entry,) = folder.iterdir()
    return entry


def not_parsed(text: str, where: str) -> dict[str, object]:
    raise AssertionError("parsed again")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_of_the_package_is_the_same_from_the_cache(path: Path) -> None:
    # independent: tomllib; repr tells 1 from 1.0, and shows every digit and the order
    expected = repr(tomllib.loads(path.read_text(encoding="utf-8")))
    assert repr(packaged_toml(path)) == expected
    assert repr(packaged_toml(path)) == expected


def test_it_is_parsed_once(file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert packaged_toml(file) == TABLE
    assert only_entry(folder).stem.startswith("some-")
    monkeypatch.setattr(packaged, "parse_toml", not_parsed)
    assert repr(packaged_toml(file)) == repr(TABLE)


def test_another_content_counts_at_once(file: Path) -> None:
    packaged_toml(file)
    stamp = file.stat()
    file.write_text(TEXT.replace('"a"', '"b"'))
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # as old and as long as before
    assert packaged_toml(file)["name"] == "b"


def test_an_entry_of_another_file_with_the_same_sum_does_not_count(
    file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packaged, "crc32", lambda content: 7)
    packaged_toml(file)
    file.write_text('name = "b"\n')
    assert packaged_toml(file) == {"name": "b"}
    assert packaged_toml(file) == {"name": "b"}
    only_entry(folder)


@pytest.mark.parametrize(
    "spoilt",
    [
        b"",
        b"\0" * 40,
        TEXT.encode(),
        TEXT.encode() + packaged._END,
        TEXT.encode() + packaged._END + b'{"name": "b"',
        TEXT.encode() + packaged._END + b"[1, 2]",
        TEXT.encode() + packaged._END + b"\xff\xfe",
        TEXT.encode() + packaged._END + b"[" * 100_000,
        b'{"name": "b"}',
    ],
)
def test_a_spoilt_entry_is_replaced(file: Path, folder: Path, spoilt: bytes) -> None:
    packaged_toml(file)
    whole = only_entry(folder).read_bytes()
    only_entry(folder).write_bytes(spoilt)
    assert packaged_toml(file) == TABLE
    assert only_entry(folder).read_bytes() == whole


def test_an_entry_that_is_a_folder_is_left(file: Path, folder: Path) -> None:
    packaged_toml(file)
    entry = only_entry(folder)
    entry.unlink()
    entry.mkdir()
    assert packaged_toml(file) == TABLE
    assert entry.is_dir()


def test_where_no_folder_can_be_made_it_is_parsed(file: Path, folder: Path) -> None:
    folder.parent.write_text("a file where the folder would be")
    assert packaged_toml(file) == TABLE
    assert packaged_toml(file) == TABLE


def test_where_nothing_can_be_written_it_is_parsed(
    file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: object) -> None:
        raise PerfmodelError("No space left on device")

    monkeypatch.setattr(packaged, "write_file", full)
    assert packaged_toml(file) == TABLE
    assert list(folder.iterdir()) == []


def test_processes_at_once_read_and_write_whole_entries(file: Path, folder: Path) -> None:
    code = f"""
from pathlib import Path
from perfmodel.packaged import packaged_toml
for _ in range(50):
    assert packaged_toml(Path({str(file)!r})) == {{**{TABLE!r}}}
    for entry in Path({str(folder)!r}).glob("*.json"):
        entry.unlink(missing_ok=True)
""".replace("inf]", 'float("inf")]')
    started = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [process.wait(60) for process in started] == [0, 0, 0]
    assert not [entry for entry in folder.iterdir() if entry.suffix != ".json"]


def test_what_json_lacks_is_parsed_each_time(file: Path, folder: Path) -> None:
    file.write_text("day = 2025-01-01\n")
    assert str(packaged_toml(file)["day"]) == "2025-01-01"
    assert not folder.exists()


def test_an_error_is_that_of_the_file(file: Path, folder: Path) -> None:
    file.write_text("name = ")
    with pytest.raises(PerfmodelError, match=r"^file 'some\.toml' of perfmodel is not valid TOML"):
        packaged_toml(file)
    with pytest.raises(PerfmodelError, match=r"^here does not exist"):
        packaged_toml(file.with_name("none.toml"), "here")
    assert not folder.exists()


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/perfmodel"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/perfmodel"),  # the XDG rule
        ("linux", {}, "/home/me/.cache/perfmodel"),
        ("darwin", {}, "/home/me/Library/Caches/perfmodel"),
    ],
)
def test_the_folder_is_where_the_platform_has_it(
    platform: str, variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(expected)
