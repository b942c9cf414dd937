import pytest

pytestmark = pytest.mark.train
pytest.importorskip("jieba", reason="needs the extra train")

from queen_sdk.data.examples import Example  # noqa: E402
from queen_sdk.data.omitting import omitting  # noqa: E402
from queen_sdk.errors import InvalidArgumentError  # noqa: E402
from queen_sdk.values import Turn  # noqa: E402


def dialogue(*texts: str, name: str = "1") -> Example:
    turns = tuple(Turn(text) for text in texts)
    return Example(turns, utterance="好的", reference="好的", id=f"rewrite:{name}")


def made(*texts: str) -> list[tuple[str, str]]:
    return [(e.utterance, e.reference) for e in omitting([dialogue(*texts)], "zh")]


@pytest.mark.parametrize(
    ("before", "turn", "short"),
    [
        ("你知道北京大学吗", "北京大学在哪里", "在哪里"),
        ("北京大学怎么样", "我最喜欢北京大学", "我最喜欢"),
        ("你去过北京吗", "明天去北京看朋友", "明天去看朋友"),
        ("你会Python吗", "我觉得Python很好学", None),  # one word
        ("你知道北京大学吗", "北京大学的食堂好吃", None),  # would begin with 的
        ("你找到了吗", "找到了告诉你", None),  # names nothing
        ("我昨天看了天气预报", "今天气温是多少", None),  # no whole word
        ("你好。", "你好。", None),
        ("图书馆", "图书馆", None),  # nothing would be left
        ("今天下雨", "明天去上海出差", None),
    ],
)
def test_what_was_named_before_is_left_out(before: str, turn: str, short: str | None) -> None:
    assert made(before, turn) == ([] if short is None else [(short, turn)])


def test_the_dialogue_ends_before_the_turn_and_the_id_tells() -> None:
    (example,) = omitting([dialogue("你好", "你知道北京大学吗", "北京大学在哪里", "在海淀")], "zh")
    assert [turn.text for turn in example.history] == ["你好", "你知道北京大学吗"]
    assert example.id == "rewrite:1.2#omitted"


def test_a_dialogue_that_several_examples_share_gives_its_turns_once() -> None:
    same = [dialogue("你知道北京大学吗", "北京大学在哪里", name=name) for name in "12"]
    assert len(omitting(same, "zh")) == 1


def test_what_everybody_says_is_no_topic() -> None:
    often = [dialogue(f"第{k}家图书馆开门了", f"图书馆{k}点关门", name=str(k)) for k in range(9)]
    assert omitting(often, "zh") == []
    assert len(omitting(often[:1], "zh")) == 1


def test_other_languages_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="only Chinese"):
        omitting([dialogue("Do you know Oxford", "Oxford is old")], "en")
