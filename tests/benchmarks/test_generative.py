from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("default"), pytest.mark.timeout(900)]
torch = pytest.importorskip("torch", reason="needs the extra bench")

from generative import SIZES, Text, texts, write  # noqa: E402
from measuring.texts import made_up  # noqa: E402


@pytest.fixture(scope="module")
def tiny() -> Any:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=32_128, d_model=16, d_kv=4, d_ff=16, num_layers=1, num_heads=2,
        decoder_start_token_id=0,
    )  # fmt: skip
    return T5ForConditionalGeneration(config).eval()


@pytest.mark.parametrize("language", ["zh", "en"])
def test_as_many_tokens_are_written_as_the_reference_has(tiny: Any, language: str) -> None:
    for text in texts(language, made_up(language)):
        assert isinstance(text, Text)
        assert write(tiny, text).shape == (1, text.length + 1)  # the start token comes first


def test_the_sizes_are_those_of_t5() -> None:
    from generative import generator

    assert set(SIZES) == {"T5-small", "T5-base"}
    count = sum(p.numel() for p in generator("T5-small").parameters())
    assert count == pytest.approx(60.5e6, rel=0.01)


def test_editing_and_generating_stand_side_by_side(run_quickly: Callable[..., Any]) -> None:
    done = run_quickly("generative")
    systems = [(row["language"], row["system"].split(",")[0]) for row in done.figures["rows"]]
    assert systems == [(la, name) for la in ("zh", "en") for name in ("QUEEN", "T5-small")]
    assert done.figures["ratios"]["t5_small_over_queen"] > 0
    assert "random weights" in done.markdown
    assert "**not measured here**" in done.markdown
    assert [path.name for path in done.pictures] == ["generative.png"]
