"""Device files: extends, and every bad input refused in one line (expected: by hand)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from perfmodel.hardware import device_names, load_device

Write = Callable[..., Path]
Refusal = Callable[[str | Path], str]

HEAD = 'name = "mine"\nextends = "h100-sxm"\n'
ROW = 'value = 3000\nunit = "GB/s"\nkind = "measured"\nsource = "me"\n'


def test_extends_replaces_one_figure_whole(device_file: Write) -> None:
    base, mine = load_device("h100-sxm"), load_device(device_file(f"{HEAD}[dram_bandwidth]\n{ROW}"))
    assert (mine.name, mine.title, mine.compute_capability) == ("mine", "mine", "9.0")
    assert mine.dram_bandwidth == 3e12
    assert mine.figures["dram_bandwidth"].also == ()
    assert mine.l2_size == base.l2_size
    assert {k: v for k, v in mine.figures.items() if k != "dram_bandwidth"} == {
        k: v for k, v in base.figures.items() if k != "dram_bandwidth"
    }


def test_another_gpu_says_what_it_inherits(device_file: Write) -> None:
    # by hand: of what the file does not state, all that was measured or worked out for an H100
    found = load_device(device_file(f"{HEAD}[dram_bandwidth]\n{ROW}")).inherited
    base = load_device("h100-sxm").figures
    assert found is not None
    assert (found.device, found.compute_capability) == ("h100-sxm", "9.0")
    expected = {n for n, f in base.items() if f.kind != "datasheet"} - {"dram_bandwidth"}
    assert set(found.figures) == expected
    assert {"l2_size", "l2_read_bandwidth", "launch_floor"} <= expected


def test_a_newer_architecture_inherits_rates_of_data_sheets_too(device_file: Write) -> None:
    text = f'{HEAD}compute_capability = "10.0"\n[dram_bandwidth]\n{ROW}'
    found = load_device(device_file(text)).inherited
    assert found is not None
    assert set(found.figures) == load_device("h100-sxm").figures.keys() - {"dram_bandwidth"}


@pytest.mark.parametrize(
    "text",
    [
        HEAD,  # another name for the same GPU
        f"{HEAD}[l2_latency]\n" + ROW.replace("3000", "300").replace("GB/s", "cycles"),
        # the same DRAM in another unit
        f"{HEAD}[dram_bandwidth]\n" + ROW.replace("3000", "3.3523").replace("GB/s", "TB/s"),
        # a calibration: DRAM was measured on this GPU
        f"{HEAD}[dram_bandwidth]\n{ROW}[dram_read_efficiency]\n"
        + ROW.replace("3000", "0.9").replace("GB/s", "1"),
    ],
)
def test_the_same_gpu_and_a_measured_one_inherit_nothing(text: str, device_file: Write) -> None:
    assert load_device(device_file(text)).inherited is None


def test_the_catalogue_inherits_nothing() -> None:
    assert all(load_device(name).inherited is None for name in device_names())


def test_inline_form_with_other_sources(device_file: Write) -> None:
    path = device_file(
        HEAD + 'dram_bandwidth = {value = 3.0, unit = "TB/s", kind = "fitted", source = "fit", '
        'standard_error = 0.1, note = "n", also = [{value = 2.9, unit = "TB/s", '
        'kind = "assumed", source = "else"}]}\n'
    )
    figure = load_device(path).figures["dram_bandwidth"]
    assert (figure.value, figure.standard_error, figure.note) == (3.0, 0.1, "n")
    assert [f.value for f in figure.also] == [2.9]


def test_a_changed_clock_changes_what_is_given_in_cycles(device_file: Write) -> None:
    path = device_file(
        HEAD + '[sm_clock]\nvalue = 990\nunit = "MHz"\nkind = "assumed"\nsource = "half"\n'
    )
    base, slow = load_device("h100-sxm"), load_device(path)
    assert slow.l1_latency == pytest.approx(2 * base.l1_latency)
    assert slow.shared_bandwidth == pytest.approx(base.shared_bandwidth / 2)
    assert slow.dram_bandwidth == base.dram_bandwidth


def test_extends_a_file_beside_it(device_file: Write) -> None:
    device_file(f'abstract = true\nextends = "a100-sxm-80"\n[dram_bandwidth]\n{ROW}', "base.toml")
    mine = load_device(device_file('name = "mine"\ntitle = "My GPU"\nextends = "base.toml"\n'))
    assert (mine.title, mine.sm_count, mine.dram_bandwidth) == ("My GPU", 108, 3e12)


def test_paths_and_names(
    device_file: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = device_file(HEAD)
    device_file(HEAD, "bare")
    assert load_device(str(path)) == load_device(path)
    monkeypatch.chdir(tmp_path)
    assert load_device("mine.toml") == load_device(path)
    assert load_device("bare").name == "mine"
    assert load_device("H100-SXM") is load_device("h100-sxm")


def test_a_file_is_read_anew_each_time(device_file: Write) -> None:
    load_device(device_file(HEAD))
    assert load_device(device_file(f"{HEAD}[dram_bandwidth]\n{ROW}")).dram_bandwidth == 3e12


def row(**changes: str) -> str:
    """Return a file whose [dram_bandwidth] has these TOML values; '' leaves a key out."""
    keys = {"value": "3000", "unit": '"GB/s"', "kind": '"measured"', "source": '"me"'} | changes
    return f"{HEAD}[dram_bandwidth]\n" + "".join(f"{k} = {v}\n" for k, v in keys.items() if v)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('name = "mine"\nvalue = = 3\n', ["not valid TOML", "line 2"]),
        ("name = 'a'\nx = 1979-05-27\nx = 2\n", ["not valid TOML", "line 3"]),
        ("x = " + "[" * 10_000, ["not valid TOML"]),
        ("x = " + "9" * 5000, ["not valid TOML"]),
        (b"name = '\xff\xfe'\n", ["not UTF-8", "byte 8"]),
        (b"# " + b"x" * 2**20, ["larger than 1 MiB"]),
        ("", ["has no name"]),
        ('name = "mine"\n', ["has no compute_capability"]),
        (
            'name = "mine"\ncompute_capability = "9.0"\n',
            ["lacks the required sm_count", "more", "extends"],
        ),
        ('name = "mine"\nextends = "cc-9.0"\n', ["lacks the required sm_count, sm_clock"]),
        # by hand: 148 TFLOP/s (an H20) are fewer than the 855 that the file of an H200 has
        (
            'name = "mine"\nextends = "h200-sxm"\n[peak_bf16_tensor]\nvalue = 148\n'
            'unit = "TFLOP/s"\nkind = "datasheet"\nsource = "its data sheet"\n',
            ["peak_bf16_tensor below", "state reached_bf16_tensor and sustained_bf16_tensor too"],
        ),
        ('abstract = true\nextends = "h100-sxm"\n', ["is a base of device files"]),
        ('name = "mine"\nabstract = 1\n', ["abstract must be true or false"]),
        (f"{HEAD}format = 2\n", ["has format 2, but only format = 1", "calibrate again"]),
        (f"{HEAD}format = true\n", ["has format True, but only format = 1"]),
        ('name = "a b"\nextends = "h100-sxm"\n', ["name must be of letters"]),
        ('name = ""\n', ["name must be printable"]),
        ("name = 3\n", ["name must be printable"]),
        ('name = "mine"\ntitle = "a\\u001b[31m"\n', ["title must be printable"]),
        ('name = "mine"\ncompute_capability = "sm_90"\n', ["compute_capability must be"]),
        ('name = "mine"\nextends = "h100-sxn"\n', ["'h100-sxn'", "did you mean 'h100-sxm'"]),
        ('name = "mine"\nextends = "nowhere.toml"\n', ["nowhere.toml", "does not exist"]),
        ('name = "mine"\nextends = "mine.toml"\n', ["cycle"]),
        (f"{HEAD}[dram_bandwith]\n{ROW}", ["unknown figure", "did you mean 'dram_bandwidth'"]),
        (f"{HEAD}extend = 'x'\n", ["unknown figure 'extend'", "did you mean 'extends'"]),
        (f"{HEAD}dram_bandwidth = 3000\n", ["must be a table", "3000"]),
        (f"{HEAD}[[dram_bandwidth]]\n{ROW}", ["must be a table"]),
        (row(value=""), ["has no value"]),
        (row(unit=""), ["has no unit"]),
        (row(kind=""), ["has no kind"]),
        (row(source=""), ["has no source"]),
        (row(source='"  "'), ["source must be printable"]),
        (row(source="7"), ["source must be text"]),
        (row(note='"\\u0007"'), ["note must be printable"]),
        (row(kind='"guess"'), ["'guess'", "datasheet", "assumed"]),
        (row(unit='"GB"'), ["'GB' measures bytes", "bytes/second", "GB/s"]),
        (row(unit='"gb/s"'), ["unknown unit 'gb/s'", "did you mean 'GB/s'"]),
        (row(unit='"furlong"'), ["unknown unit", "TB/s"]),
        (row(unit="1"), ["unit must be text"]),
        (row(unit="[]"), ["unit must be text"]),
        (row(value="true"), ["must be a number, not True"]),
        (row(value='"3352"'), ["must be a number, not '3352'"]),
        (row(value="[1]"), ["must be a number"]),
        (row(value="1979-05-27"), ["must be a number"]),
        (row(value="nan"), ["must be finite"]),
        (row(value="inf"), ["must be finite"]),
        (row(value="-1"), ["not negative"]),
        (row(value="0"), ["must be above 0", "leave the figure out"]),
        (row(value="0x" + "f" * 5000), ["must be finite", "bits"]),
        (row(value="1e308"), ["too large"]),
        (row(standard_error='"x"'), ["standard_error must be a number"]),
        (row(standard_error="-1"), ["standard_error", "not negative"]),
        (row(uncertainty="1"), ["unknown key 'uncertainty'"]),
        (row(sources='"x"'), ["unknown key 'sources'", "did you mean 'source'"]),
        (row(also="3"), ["also must be one list"]),
        (row(also="[{}]"), ["also 1", "has no value"]),
        (row(also='[{value = 1, unit = "GB", kind = "measured", source = "x"}]'), ["also 1", "GB"]),
        (
            row(also='[{value=1, unit="GB/s", kind="measured", source="x", also=[]}]'),
            ["also 1", "also must be one list"],
        ),
        (
            f'{HEAD}[sm_count]\nvalue = 1.5\nunit = "SM"\nkind = "assumed"\nsource = "x"\n',
            ["whole SMs"],
        ),
        (
            f'{HEAD}[sm_clock]\nvalue = 1980\nunit = "Hz"\nkind = "assumed"\nsource = "x"\n',
            ["at least 1e+06"],
        ),
        (
            f'{HEAD}[sm_clock]\nvalue = 5\nunit = "cycles"\nkind = "assumed"\nsource = "x"\n',
            ["measures seconds"],
        ),
        (
            f'{HEAD}[dram_read_efficiency]\nvalue = 92\nunit = "1"\nkind = "assumed"\n'
            'source = "x"\n',
            ["at most 1"],
        ),
        (
            f'{HEAD}[shared_carveouts]\nvalue = 100\nunit = "KiB"\nkind = "assumed"\n'
            'source = "x"\n',
            ["must be a list"],
        ),
        (
            f'{HEAD}[shared_carveouts]\nvalue = [0, "8"]\nunit = "KiB"\nkind = "assumed"\n'
            'source = "x"\n',
            ["must be a number", "'8'"],
        ),
    ],
    ids=lambda value: str(value)[-40:] if isinstance(value, (str, bytes)) else "",
)
def test_bad_files_are_refused(
    text: str | bytes, parts: list[str], device_file: Write, refusal: Refusal
) -> None:
    message = refusal(device_file(text))
    for part in parts:
        assert part in message


def test_errors_name_the_file_and_the_figure(device_file: Write, refusal: Refusal) -> None:
    path = device_file(row(unit='"GB"'))
    assert refusal(path).startswith(f"device file '{path}', figure 'dram_bandwidth': ")


def test_cycle_through_another_file(device_file: Write, refusal: Refusal) -> None:
    device_file('name = "b"\nextends = "mine.toml"\n', "b.toml")
    assert "cycle" in refusal(device_file('name = "mine"\nextends = "./b.toml"\n'))


def test_chain_too_deep(device_file: Write, refusal: Refusal) -> None:
    for i in range(20):
        device_file(f'name = "d{i}"\nextends = "d{i + 1}.toml"\n', f"d{i}.toml")
    device_file(HEAD, "d20.toml")
    message = refusal(device_file('name = "mine"\nextends = "d0.toml"\n'))
    assert "more than 8 files deep" in message


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("h100", ["did you mean h100-pcie or h100-sxm?", "path to a TOML"]),
        ("a100-smx-80", ["a100-sxm-80"]),
        ("mi300x", ["unknown device 'mi300x'", "path to a TOML"]),
        ("", ["unknown device ''", "h100-sxm"]),
        ("\x00", ["unknown device"]),
        ("x\ny", ["unknown device"]),
        ("x" * 10_000, ["unknown device"]),
        ("cc-9.0", ["is a base of device files"]),
        ("nowhere/gpu.toml", ["does not exist"]),
        ("\x00.toml", ["does not exist"]),
    ],
)
def test_bad_names_are_refused(name: str, parts: list[str], refusal: Refusal) -> None:
    message = refusal(name)
    for part in parts:
        assert part in message


def test_a_directory_is_refused(tmp_path: Path, refusal: Refusal) -> None:
    assert "is a directory" in refusal(tmp_path)


def test_a_pipe_is_refused(tmp_path: Path, refusal: Refusal) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    assert "not a regular file" in refusal(tmp_path / "pipe.toml")


def test_a_loop_of_links_is_refused(tmp_path: Path, device_file: Write, refusal: Refusal) -> None:
    (tmp_path / "loop.toml").symlink_to("loop.toml")
    assert "does not exist" in refusal(device_file('name = "mine"\nextends = "loop.toml"\n'))
