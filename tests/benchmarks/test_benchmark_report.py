import argparse
import json
import sys
from pathlib import Path

import pytest
from measuring.report import Report, processor, table


def publish(folder: Path, *, quick: bool = False, json_file: Path | None = None) -> None:
    arguments = argparse.Namespace(results=folder, quick=quick, json=json_file)
    Report(
        name="mine",
        parts=["A sentence.", table(("a", "b"), [(1, 2.0)])],
        figures={"ratios": {"one_over_two": 0.5}},
        draw=lambda figure: figure.subplots().plot([1, 2]),
    ).publish(arguments)


def test_numbers_are_shortened_and_gaps_shown() -> None:
    rows = [("x", 1_234_567, 0.01234, 12.375, 1234.4, None)]
    last = table(("a", "b", "c", "d", "e", "f"), rows).splitlines()[-1]
    assert last == "| x | 1,234,567 | 0.0123 | 12.38 | 1,234 | – |"


def test_results_go_to_files_and_elsewhere_if_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(tmp_path, json_file=tmp_path / "elsewhere.json")
    text = (tmp_path / "mine.md").read_text(encoding="utf-8")
    assert "A sentence." in text
    assert text in capsys.readouterr().out
    figures = json.loads((tmp_path / "mine.json").read_text(encoding="utf-8"))
    assert figures["ratios"] == {"one_over_two": 0.5}
    assert figures["versions"]["queen-sdk"]
    assert json.loads((tmp_path / "elsewhere.json").read_text(encoding="utf-8")) == figures


def test_quick_results_do_not_replace_full_ones(tmp_path: Path) -> None:
    publish(tmp_path)
    before = (tmp_path / "mine.md").read_text(encoding="utf-8")
    publish(tmp_path, quick=True)
    assert (tmp_path / "mine.md").read_text(encoding="utf-8") == before
    assert "quick run" in (tmp_path / "quick" / "mine.md").read_text(encoding="utf-8")


def test_the_command_shows_no_folder_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ["/home/me/benchmarks/latency.py", "--path", str(tmp_path / "corpora"), "--repeat", "3"]
    monkeypatch.setattr(sys, "argv", line)
    publish(tmp_path)
    text = (tmp_path / "mine.md").read_text(encoding="utf-8")
    assert "`python benchmarks/latency.py --path corpora --repeat 3`" in text


def test_the_command_can_be_pasted_into_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["ablations.py", "--only", "no query"])
    publish(tmp_path)
    text = (tmp_path / "mine.md").read_text(encoding="utf-8")
    assert "`python benchmarks/ablations.py --only 'no query'`" in text


@pytest.mark.parametrize(
    ("flags", "shown"),
    [
        ("fpu avx2 sse", "AMD EPYC (AVX2)"),
        ("avx2 avx512f avx512_vnni", "AMD EPYC (AVX2, AVX-512, VNNI)"),
        ("fpu", "AMD EPYC"),
    ],
)
def test_the_processor_is_named_with_what_decides_how_fast_int8_is(
    tmp_path: Path, flags: str, shown: str
) -> None:
    file = tmp_path / "cpuinfo"
    core = f"processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: {flags}\n\n"
    file.write_text(core * 2, encoding="utf-8")
    assert processor(file) == shown


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra bench")
    publish(tmp_path)
    assert (tmp_path / "mine.png").read_bytes().startswith(b"\x89PNG")
