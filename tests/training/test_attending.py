"""Plain attention computes what the fused one does, and knows dropout."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import pytest

pytestmark = pytest.mark.train
torch = pytest.importorskip("torch", reason="needs the extra train")

from queen_sdk.features import EncodedBatch  # noqa: E402
from queen_sdk.training.attending import attend_plainly  # noqa: E402
from queen_sdk.training.batches import as_tensors  # noqa: E402

if TYPE_CHECKING:
    from queen_sdk.training.scorer import QueenScorer


def batch() -> EncodedBatch:
    ids = torch.arange(1, 21).reshape(2, 10).numpy()
    mask = torch.tensor([[1] * 10, [1] * 7 + [0] * 3]).numpy()
    index = torch.tensor([[1, 2, 3], [1, 2, 3]]).numpy()
    return EncodedBatch(ids, mask, mask * 0, index, index + 2)


@pytest.fixture
def fused(scorer: QueenScorer) -> QueenScorer:
    config = copy.deepcopy(scorer.config)
    config._attn_implementation = "sdpa"
    model = type(scorer)(config)
    model.load_state_dict(scorer.state_dict())
    return model.eval()


def test_scores_stay_the_same(fused: QueenScorer) -> None:
    plain = copy.deepcopy(fused)
    attend_plainly(plain)
    inputs = as_tensors(batch())
    with torch.inference_mode():
        wanted, found = fused(**inputs), plain(**inputs)
    assert torch.allclose(wanted, found, atol=1e-5)
    assert wanted.abs().max() > 0.01


def test_attention_is_no_longer_the_fused_one(
    fused: QueenScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = copy.deepcopy(fused)
    attend_plainly(plain)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("fused attention was called")

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", refuse)
    plain(**as_tensors(batch()))
    with pytest.raises(AssertionError, match="fused attention"):
        fused(**as_tensors(batch()))
