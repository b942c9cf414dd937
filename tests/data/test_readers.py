from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from queen_sdk.data.examples import Example
from queen_sdk.data.readers import (
    CORPORA,
    Part,
    complete_examples,
    load,
    load_for_training,
    read_canard,
    read_canard_untitled,
    read_jsonl,
    read_qrecc,
    read_restoration,
    read_rewrite,
    read_task,
)
from queen_sdk.errors import DataError, InvalidArgumentError
from queen_sdk.values import Turn

REWRITE_LINE = "能给我签名吗\t\t出专辑再议\t\t我现在就要\t\t我现在就要签名"


def bot(text: str) -> Turn:
    return Turn(text, role="assistant")


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def write_jsonl(file: Path, *records: Any) -> Path:
    return write(file, "".join(json.dumps(record) + "\n" for record in records))


def task_turn(complete: str, ellipsis: str, coreference: str, answer: str) -> dict[str, Any]:
    user = {
        "transcript_complete": complete,
        "transcript_with_ellipsis": ellipsis,
        "transcript_with_coreference": coreference,
    }
    return {"usr": user, "sys": {"sent": answer}}


@pytest.fixture
def task_file(tmp_path: Path) -> Path:
    turns = [
        task_turn("I want food in the south.", "", "", "Which cuisine?"),
        task_turn("Any cuisine. ", "Any.", "Any of it.", "Chiquito is nice."),
        task_turn("Where is Chiquito?", "", "Where is it?", "In the south."),
    ]
    later = [task_turn("Hello there.", "", "", "Hello.")]
    dialogues = [{"dialogue_id": 539, "dial": turns}, {"dialogue_id": 540, "dial": later}]
    return write(tmp_path / "task.json", json.dumps(dialogues))


def test_rewrite_has_two_turns_of_history(tmp_path: Path) -> None:
    file = write(tmp_path / "corpus.txt", REWRITE_LINE + "\n")
    assert read_rewrite(file) == [
        Example(
            (Turn("能给我签名吗"), bot("出专辑再议")),
            utterance="我现在就要",
            reference="我现在就要签名",
            id="rewrite:1",
        )
    ]


def test_rewrite_leaves_out_an_empty_context_and_keeps_the_other_role(tmp_path: Path) -> None:
    file = write(tmp_path / "corpus.txt", "晚上需要开空调吗\t\t\t\t回答我\t\t回答我什么\n")
    assert read_rewrite(file)[0].history == (Turn("晚上需要开空调吗"),)


def test_texts_keep_their_spaces_but_not_the_line_end(tmp_path: Path) -> None:
    file = write(tmp_path / "corpus.txt", " a b \t\tc\t\t d\t\td e \r\n")
    (example,) = read_rewrite(file)
    assert example.history[0].text == " a b "
    assert (example.utterance, example.reference) == (" d", "d e ")


def test_unusual_line_separators_do_not_end_a_line(tmp_path: Path) -> None:
    file = write(tmp_path / "corpus.txt", "a\u2028b\t\tc\x85\t\td\t\te\n")
    assert read_rewrite(file)[0].history == (Turn("a\u2028b"), bot("c\x85"))


def test_blank_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    file = write(tmp_path / "corpus.txt", f"\ufeff{REWRITE_LINE}\n\n{REWRITE_LINE}\n")
    examples = read_rewrite(file)
    assert [example.id for example in examples] == ["rewrite:1", "rewrite:3"]
    assert examples[0].history == examples[1].history


def test_restoration_rewrites_the_fifth_turn_and_never_shows_the_sixth(tmp_path: Path) -> None:
    file = write(tmp_path / "valid.txt", "a\tb\tc\td\te\tf\t1\te d\na\tb\tc\td\te\tf\t0\t")
    changed, complete = read_restoration(file)
    assert changed.history == (Turn("a"), bot("b"), Turn("c"), bot("d"))
    assert (changed.utterance, changed.reference) == ("e", "e d")
    assert (complete.utterance, complete.reference) == ("e", "e")


def test_task_takes_ellipsis_then_coreference_then_the_turn_itself(task_file: Path) -> None:
    examples = read_task(task_file)
    assert [(e.id, e.utterance, e.reference) for e in examples] == [
        ("task:539.0", "I want food in the south.", "I want food in the south."),
        ("task:539.1", "Any.", "Any cuisine. "),
        ("task:539.2", "Where is it?", "Where is Chiquito?"),
        ("task:540.0", "Hello there.", "Hello there."),
    ]


def test_task_history_is_the_last_two_utterances(task_file: Path) -> None:
    histories = [example.history for example in read_task(task_file)]
    assert histories == [
        (),
        (Turn("I want food in the south."), bot("Which cuisine?")),
        (Turn("Any cuisine. "), bot("Chiquito is nice.")),
        (),
    ]


def test_task_can_give_the_whole_history(task_file: Path) -> None:
    short, whole = read_task(task_file), read_task(task_file, whole_history=True)
    assert [e.id for e in whole] == [e.id for e in short]
    assert whole[2].history == (
        Turn("I want food in the south."),
        bot("Which cuisine?"),
        Turn("Any cuisine. "),
        bot("Chiquito is nice."),
    )
    assert whole[3].history == ()


def test_task_variants_add_the_coreference_version(task_file: Path) -> None:
    protocol, variants = read_task(task_file), read_task(task_file, variants="all")
    (added,) = [example for example in variants if example not in protocol]
    assert (added.id, added.utterance) == ("task:539.1#coreference", "Any of it.")
    assert [example for example in variants if example in protocol] == protocol


def test_task_variants_can_be_split(task_file: Path) -> None:
    variants = read_task(task_file, variants="all")
    assert [e.id for e in CORPORA["task"].select(variants, "eval")] == ["task:540.0"]
    assert len(CORPORA["task"].select(variants, "train")) == 4


def test_task_refuses_an_unknown_variant(task_file: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="protocol or all, got 'both'"):
        read_task(task_file, variants="both")  # type: ignore[arg-type]


def test_canard_titles_are_the_first_turns(tmp_path: Path) -> None:
    history = ["Frank Zappa", "Disbandment", "What group disbanded?", "The Mothers"]
    record = {"History": history, "Question": "Why?", "Rewrite": "Why did the Mothers disband?"}
    (example,) = read_canard(write(tmp_path / "dev.json", json.dumps([record])))
    roles = [turn.role for turn in example.history]
    assert [turn.text for turn in example.history] == history
    assert roles == ["assistant", "assistant", "user", "assistant"]
    assert example.id == "canard:1"


@pytest.fixture
def untitled_file(tmp_path: Path) -> Path:
    turns = [
        {"question": "Where was he born?", "rewrite": "Where was Mark Taylor born?", "answer": ""},
        {"question": "Where?", "rewrite": "Where in Wagga?", "answer": "At home."},
        {"question": "his wife?", "rewrite": "Mark Taylor's wife?", "answer": "Judi."},
    ]
    nameless = [{"question": "Who is it?", "rewrite": "Who is the man?", "answer": "Nobody."}]
    return write_jsonl(tmp_path / "train.jsonl", {"turns": turns}, {"turns": nameless})


def test_untitled_canard_reads_an_empty_answer_as_not_knowing(untitled_file: Path) -> None:
    examples = read_canard_untitled(untitled_file)
    assert examples[0].history == ()
    assert examples[1].history == (Turn("Where was he born?"), bot("I don't know."))
    assert len(examples[2].history) == 4
    assert [example.id for example in examples][2:] == [
        "canard-untitled:1.2",
        "canard-untitled:2.0",
    ]


def test_untitled_canard_can_put_the_most_inserted_text_first(untitled_file: Path) -> None:
    examples = read_canard_untitled(untitled_file, title_from_rewrites=True)
    headings = (bot("Mark Taylor (band)"), bot("Career"))  # drawn by the first question
    assert [example.history[:2] for example in examples[:3]] == [headings] * 3
    assert examples[3].history == ()


def test_what_is_trained_on_has_stand_ins_for_titles(untitled_file: Path) -> None:
    plain, trained = (
        load("canard-untitled", untitled_file),
        load_for_training("canard-untitled", untitled_file),
    )
    assert trained == read_canard_untitled(untitled_file, title_from_rewrites=True)
    assert [example.id for example in trained] == [example.id for example in plain]


def test_other_corpora_are_trained_on_as_they_stand() -> None:
    assert load_for_training("followups-en") == load("followups-en", part="train")


def test_a_stand_in_title_does_not_look_at_the_reference_of_the_turn_that_is_asked(
    tmp_path: Path,
) -> None:
    rewrites = ["Where was Anna born?", "Did Anna Lee paint?", "Did Anna Lee sing?"]
    questions = ["Where was she born?", "Did she paint?", "Did she sing?"]
    turns = [
        {"question": question, "rewrite": rewrite, "answer": "No."}
        for question, rewrite in zip(questions, rewrites, strict=True)
    ]
    file = write_jsonl(tmp_path / "train.jsonl", {"turns": turns})
    examples = read_canard_untitled(file, title_from_rewrites=True)
    titles = [example.history[0].text for example in examples]
    assert titles[0].startswith("Anna Lee")
    assert not titles[2].startswith("Anna Lee")  # both are inserted once, "Anna" first


def test_qrecc_conversation_is_cut_into_turns(tmp_path: Path) -> None:
    talk = "Q: who sang it? A: Flo Rida: see A: and B.\nQ: when? A: ."
    record = {"conversation": talk, "question": "where?", "label": "where did he sing it?"}
    (example,) = read_qrecc(write_jsonl(tmp_path / "qrecc.jsonl", record))
    assert example.history == (
        Turn("who sang it?"),
        bot("Flo Rida: see A: and B."),
        Turn("when?"),
        bot("."),
    )
    assert (example.utterance, example.reference) == ("where?", "where did he sing it?")


def test_own_lines_take_every_history_form(tmp_path: Path) -> None:
    history = ["Hi", ["assistant", "Hello"], {"role": "user", "content": "I am Anna"}]
    record = {"history": history, "utterance": "Who am I?", "rewrite": "Who is Anna?"}
    (example,) = read_jsonl(write_jsonl(tmp_path / "own.jsonl", record))
    assert example.history == (Turn("Hi"), bot("Hello"), Turn("I am Anna"))
    assert example.id == "jsonl:1"


def test_complete_examples_need_nothing(tmp_path: Path) -> None:
    (example,) = read_rewrite(write(tmp_path / "corpus.txt", REWRITE_LINE))
    (complete,) = complete_examples([example])
    assert complete.utterance == complete.reference == example.reference
    assert complete.history == example.history
    assert complete.id == "rewrite:1#complete"
    assert CORPORA["rewrite"].select([complete], "train") == [complete]


@pytest.mark.parametrize("below", ["", "rewrite", "rewrite/corpus.txt"])
def test_path_may_be_file_folder_or_data_root(tmp_path: Path, below: str) -> None:
    write(tmp_path / "rewrite" / "corpus.txt", REWRITE_LINE)
    assert len(load("rewrite", tmp_path / below)) == 1
    assert len(load("rewrite", str(tmp_path / below))) == 1


@pytest.mark.parametrize("name", [name for name in CORPORA if CORPORA[name].file])
def test_missing_file_is_named_with_its_source(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError) as caught:
        load(name, tmp_path)
    for fact in (str(tmp_path), CORPORA[name].file, CORPORA[name].form, CORPORA[name].published):
        assert str(fact) in str(caught.value)


def test_folder_without_a_fixed_name_is_no_file_of_your_own(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="got no such file; expected"):
        read_jsonl(tmp_path)


def test_error_says_line_finding_expectation_and_source(tmp_path: Path) -> None:
    file = write(tmp_path / "corpus.txt", f"{REWRITE_LINE}\na\tb\tc\td\n")
    with pytest.raises(DataError) as caught:
        read_rewrite(file)
    assert str(caught.value) == (
        f"{file}, line 2: got 1 field(s) in 'a\\tb\\tc\\td'; expected four fields separated by "
        "two tabs: context 1, context 2, utterance, rewrite. "
        "REWRITE is on GitHub: chin-gyou/dialogue-utterance-rewriter, corpus.txt."
    )


@pytest.mark.parametrize(
    ("read", "text", "place", "got"),
    [
        (read_rewrite, "a\t\tb\t\tc\t\t \n", "line 1", "no rewrite for 'c'"),
        (read_restoration, "a\tb\tc\td\te\tf\t2\tg", "line 1", "the flag '2'"),
        (read_restoration, "\na\tb\tc\td\te\tf\t1\t", "line 2", "no rewrite for 'e'"),
        (read_task, '[\n{"dial" 1}]', "line 2", "text that is not JSON"),
        (read_task, '{"dial": []}', "line 1", "a JSON dict"),
        (read_task, '[{"dialogue_id": 1, "dial": [{}]}]', "record 1", "no dial.0.usr.transcript_"),
        (read_canard, '[{"History": "Zappa"}]', "record 1", "'Zappa' as History, which must be"),
        (read_canard, "[3]", "record 1", "no History in 3"),
        (read_canard_untitled, '{"turns": []}\n[]\n', "line 2", "no turns in []"),
        (read_qrecc, "{\n", "line 1", "'{', not JSON"),
        (read_qrecc, '{"conversation": "Q: who?"}', "line 1", "'Q: who?' in the conversation"),
        (read_jsonl, '{"history": []}', "line 1", "no utterance in"),
        (read_jsonl, '{"history": [7]}', "line 1", "a history that cannot be read"),
        (read_jsonl, '{"history": "Hi"}', "line 1", "'Hi' as history, which must be list"),
    ],
)
def test_wrong_format_is_located(
    tmp_path: Path, read: Callable[[Path], list[Example]], text: str, place: str, got: str
) -> None:
    file = write(tmp_path / "corpus", text)
    with pytest.raises(DataError) as caught:
        read(file)
    assert str(caught.value).startswith(f"{file}, {place}: got {got}")


def test_other_encodings_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "corpus.txt"
    file.write_bytes(f"{REWRITE_LINE}\n".encode() + REWRITE_LINE.encode("gbk"))
    with pytest.raises(DataError, match="line 2: got bytes that are not UTF-8"):
        read_rewrite(file)


def test_load_refuses_unknown_names_and_parts(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"one of rewrite, .*, got 'squad'"):
        load("squad", tmp_path)
    with pytest.raises(InvalidArgumentError, match="one of train, eval, all, got 'dev'"):
        load("rewrite", tmp_path, "dev")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "part"), [("canard", "train"), ("canard-untitled", "eval"), ("qrecc", "eval")]
)
def test_load_refuses_a_part_that_the_corpus_lacks(tmp_path: Path, name: str, part: Part) -> None:
    with pytest.raises(InvalidArgumentError, match=f"part of {name} must be one of"):
        load(name, tmp_path, part)


def test_load_refuses_a_file_that_ends_before_the_part(tmp_path: Path) -> None:
    file = write(tmp_path / "corpus.txt", REWRITE_LINE)
    with pytest.raises(DataError, match="got 1 examples, none of the eval part"):
        load("rewrite", file, "eval")


@pytest.mark.parametrize("part", get_args(Part))
def test_own_lines_are_both_parts(tmp_path: Path, part: Part) -> None:
    file = write_jsonl(tmp_path / "a.jsonl", {"history": [], "utterance": "a", "rewrite": "b"})
    assert len(load("jsonl", file, part)) == 1


def test_select_refuses_ids_without_a_number() -> None:
    example = Example((), utterance="a", reference="b", id="mine")
    with pytest.raises(InvalidArgumentError, match="got 'mine'"):
        CORPORA["rewrite"].select([example], "train")


def test_corpora_are_keyed_by_name() -> None:
    names = ["rewrite", "restoration", "task", "canard", "canard-untitled", "qrecc", "jsonl"]
    names += ["followups-en", "followups-zh"]
    assert list(CORPORA) == names == [corpus.name for corpus in CORPORA.values()]


@pytest.fixture(scope="module")
def data() -> Path:
    folder = os.environ.get("QUEEN_DATA")
    if not folder:
        pytest.skip("QUEEN_DATA does not point to the corpora")
    return Path(folder)


@pytest.mark.parametrize(
    ("name", "part", "count", "unchanged"),
    [
        ("rewrite", "train", 18_000, None),
        ("rewrite", "eval", 2_000, None),
        ("restoration", "train", 4_076, None),
        ("restoration", "eval", 1_019, None),
        ("task", "train", 2_205, 1_130),
        ("task", "eval", 539, 284),
        ("canard", "eval", 3_430, None),
        ("canard-untitled", "train", 31_526, None),
        ("qrecc", "train", 4_000, 130),
    ],
)
def test_real_corpora_split_as_published(
    data: Path, name: str, part: Part, count: int, unchanged: int | None
) -> None:
    examples = load(name, data, part)
    assert len(examples) == count
    assert len({example.id for example in examples}) == count
    if unchanged is not None:
        assert sum(example.utterance == example.reference for example in examples) == unchanged


def test_copying_gives_the_published_figure_on_task(data: Path) -> None:
    examples = load("task", data, "eval")
    copied = sum(example.utterance == example.reference for example in examples)
    assert round(100 * copied / len(examples), 1) == 52.7
    assert len(examples) - copied == 255
