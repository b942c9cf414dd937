"""`queen batch`: files, streams, bad lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from queen_sdk import Rewriter

Queen = Callable[..., Any]

GOOD = [
    {"history": ["Smith is here."], "utterance": "Does he care?", "id": 7},
    {"history": [["assistant", "史密斯是谁"]], "utterance": "他好吗", "note": "好\ud800"},
    {"history": [], "utterance": "he"},
]
BAD = ["nonsense", {"utterance": "he", "id": 8}]


def write(path: Path, lines: list[Any]) -> Path:
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


def read(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("size", [1, 2, 32])
def test_results_are_added_in_order(
    queen: Queen, tiny_bundle_dir: Path, tmp_path: Path, size: int
) -> None:
    source, target = write(tmp_path / "in", GOOD), tmp_path / "out"
    outcome = queen("batch", "--bundle", tiny_bundle_dir, "--batch-size", size, source, target)
    assert outcome == (0, "", "")
    with Rewriter(tiny_bundle_dir) as rewriter:
        results = rewriter.rewrite_batch([(g["history"], g["utterance"]) for g in GOOD])
    for line, result, record in zip(GOOD, results, read(target.read_text("utf-8")), strict=True):
        assert {key: record[key] for key in line} == line
        assert (record["rewrite"], record["skip_reason"]) == (result.text, result.skip_reason)
        assert [edit["text"] for edit in record["edits"]] == [edit.text for edit in result.edits]
        assert record["confidence"] == pytest.approx(result.confidence)


def test_dashes_are_stdin_and_stdout(
    queen: Queen, typed: Callable[[str], None], tiny_bundle_dir: Path
) -> None:
    typed("".join(f"{json.dumps(line)}\n" for line in GOOD))
    outcome = queen("batch", "--bundle", tiny_bundle_dir, "-", "-")
    assert [line["rewrite"] for line in read(outcome.out)] == [
        "Does Smith care?",
        "史密斯好吗",
        "he",
    ]


def test_a_bad_line_stops_and_leaves_nothing_behind(
    queen: Queen, tiny_bundle_dir: Path, tmp_path: Path
) -> None:
    source = write(tmp_path / "in", [*GOOD, *BAD])
    outcome = queen("batch", "--bundle", tiny_bundle_dir, source, tmp_path / "out")
    assert outcome.code == 1
    assert outcome.err.startswith(f"queen: {source}, line 4: is not JSON")
    assert "--on-error skip" in outcome.err
    assert list(tmp_path.iterdir()) == [source]


def test_what_stood_before_a_bad_line_is_streamed(
    queen: Queen, typed: Callable[[str], None], tiny_bundle_dir: Path
) -> None:
    typed(f"{json.dumps(GOOD[0])}\nnonsense\n{json.dumps(GOOD[1])}\n")
    outcome = queen("batch", "--bundle", tiny_bundle_dir, "-", "-")
    assert outcome.code == 1
    assert [line["id"] for line in read(outcome.out)] == [7]
    assert outcome.err.startswith("queen: stdin, line 2: ")


def test_bad_lines_may_be_written_back_with_their_error(
    queen: Queen, tiny_bundle_dir: Path, tmp_path: Path
) -> None:
    source = write(tmp_path / "in", [BAD[0], GOOD[0], BAD[1], GOOD[2]])
    target = tmp_path / "out"
    call = ("batch", "--bundle", tiny_bundle_dir, "--on-error", "skip", source, target)
    assert queen(*call).code == 0
    text, first, missing, last = read(target.read_text("utf-8"))
    assert text["line"] == "nonsense"
    assert text["error"].startswith("is not JSON")
    assert missing == {**BAD[1], "error": "the key 'history' is missing"}
    assert (first["rewrite"], last["rewrite"]) == ("Does Smith care?", "he")


def test_an_older_output_stays_until_the_new_one_is_whole(
    queen: Queen, tiny_bundle_dir: Path, tmp_path: Path
) -> None:
    target = write(tmp_path / "out", ["old"])
    link = tmp_path / "link"
    link.symlink_to(target)
    queen("batch", "--bundle", tiny_bundle_dir, write(tmp_path / "bad", BAD), link)
    assert target.read_text() == "old\n"
    queen("batch", "--bundle", tiny_bundle_dir, write(tmp_path / "good", GOOD), link)
    assert len(read(target.read_text("utf-8"))) == len(GOOD)
    assert link.is_symlink()


def test_a_file_may_be_rewritten_in_place(
    queen: Queen, tiny_bundle_dir: Path, tmp_path: Path
) -> None:
    file = write(tmp_path / "both", GOOD)
    assert queen("batch", "--bundle", tiny_bundle_dir, file, file).code == 0
    assert all("rewrite" in line for line in read(file.read_text("utf-8")))


def test_a_device_is_written_to_and_not_replaced(
    queen: Queen, tiny_bundle_dir: Path, tmp_path: Path
) -> None:
    source = write(tmp_path / "in", GOOD)
    assert queen("batch", "--bundle", tiny_bundle_dir, source, "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()


def test_missing_input_and_odd_size_are_told_apart(
    queen: Queen, tiny_bundle_dir: Path, tmp_path: Path
) -> None:
    absent = tmp_path / "absent"
    outcome = queen("batch", "--bundle", tiny_bundle_dir, absent, "-")
    assert (outcome.code, outcome.err) == (1, f"queen: {absent}: No such file or directory\n")
    outcome = queen("batch", "--bundle", tiny_bundle_dir, "--batch-size", 0, absent, "-")
    assert (outcome.code, "--batch-size" in outcome.err) == (2, True)
