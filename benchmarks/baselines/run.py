"""RUN (Liu et al., EMNLP 2020): rewriting as segmentation of a history × utterance picture.

A BERT encoder and a BiLSTM give every token a vector; every pair of a history token and an
utterance token becomes a pixel of 403 channels; a U-Net gives each pixel one of three classes:
nothing, replace, insert before. Everything in `forward` is one tensor operation after another.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, interpolate, normalize, pad
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import BertModel

NOTHING, REPLACE, INSERT = 0, 1, 2
"""The classes of a pixel."""
CLASS_WEIGHTS = (0.25, 0.40, 0.35)
NOT_A_PIXEL = -100
"""Class of the padding, which the loss leaves out."""
EXTRA_WORDS = {"zh": ("的", "是", "我", "了", "和"), "en": ("of", "about", "the", "any", "for")}
"""What RUN puts before the history on REWRITE and on TASK."""

_HIDDEN = 200
_SMALLEST = 8
"""Least height and width of the picture."""


class RunNetwork(nn.Module):
    """The whole network; `encoder` is any BERT."""

    def __init__(self, encoder: BertModel, *, dropout: float = 0.2) -> None:
        """Put fresh layers on top of the encoder."""
        super().__init__()
        self.bert = encoder
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(
            encoder.config.hidden_size, _HIDDEN, batch_first=True, bidirectional=True
        )
        self.history_similarity = nn.Linear(2 * _HIDDEN, 1)
        self.utterance_similarity = nn.Linear(2 * _HIDDEN, 1, bias=False)
        self.segmentation = UNet(2 * _HIDDEN + 3)

    def head_parameters(self) -> list[nn.Parameter]:
        """Return what the encoder does not have."""
        encoder = {id(p) for p in self.bert.parameters()}
        return [p for p in self.parameters() if id(p) not in encoder]

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        token_type_ids: Tensor,
        token_index: Tensor,
        token_count: Tensor,
        history_index: Tensor,
        utterance_index: Tensor,
    ) -> Tensor:
        """Return class scores: batch × 3 × history tokens × utterance tokens and END.

        `token_index` is the first word piece of every token; `history_index` and `utterance_index`
        count those tokens, and point behind the last of them where they are padding. `token_count`
        stays on the CPU. The picture may be larger than asked for: at least 8 × 8.
        """
        hidden = self.bert(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        tokens = self._in_context(_picked(hidden, token_index), token_count)
        return self.segmentation(
            self._picture(_picked(tokens, history_index), _picked(tokens, utterance_index))
        )

    def _in_context(self, tokens: Tensor, count: Tensor) -> Tensor:
        """Run the BiLSTM; one vector of zeros more than tokens, for padding to point at."""
        packed = pack_padded_sequence(
            self.dropout(tokens), count, batch_first=True, enforce_sorted=False
        )
        unpacked, _ = pad_packed_sequence(
            self.lstm(packed)[0], batch_first=True, total_length=tokens.shape[1]
        )
        return pad(self.dropout(unpacked), (0, 0, 0, 1))

    def _picture(self, history: Tensor, utterance: Tensor) -> Tensor:
        """Compare every history token with every utterance token: batch × 403 × both."""
        height, width = (max(_SMALLEST, part.shape[1]) for part in (history, utterance))
        history = pad(history, (0, 0, 0, height - history.shape[1]))
        utterance = pad(utterance, (0, 0, 0, width - utterance.shape[1]))
        product = history.transpose(1, 2)[..., None] * utterance.transpose(1, 2)[:, :, None]
        dot = history @ utterance.transpose(1, 2)
        cosine = normalize(history, dim=-1) @ normalize(utterance, dim=-1).transpose(1, 2)
        linear = self.history_similarity(history) + self.utterance_similarity(utterance).mT
        return torch.cat((product, torch.stack((dot, cosine, linear), dim=1)), dim=1)


class UNet(nn.Module):
    """Two steps down, two steps up, and a class for every pixel."""

    def __init__(self, channels: int) -> None:
        """Take the channels of the picture."""
        super().__init__()
        self.inside = _double_convolution(channels, 256)
        self.down = _double_convolution(256, 512)
        self.bottom = _double_convolution(512, 512)
        self.up = _double_convolution(1024, 256)
        self.outside = _double_convolution(512, 128)
        self.classes = nn.Conv2d(128, 3, kernel_size=1)
        self.shrink = nn.MaxPool2d(2)

    def forward(self, picture: Tensor) -> Tensor:
        """Return the class scores of every pixel."""
        full = self.inside(picture)
        half = self.down(self.shrink(full))
        quarter = self.bottom(self.shrink(half))
        half = self.up(_joined(quarter, half))
        return self.classes(self.outside(_joined(half, full)))


def _double_convolution(before: int, after: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, kernel_size=3, padding=1),
        nn.BatchNorm2d(after),
        nn.ReLU(inplace=True),
        nn.Conv2d(after, after, kernel_size=3, padding=1),
        nn.BatchNorm2d(after),
        nn.ReLU(inplace=True),
    )


def _joined(small: Tensor, large: Tensor) -> Tensor:
    """Double the small map, pad what an odd size lacks, and put it beside the large one."""
    doubled = interpolate(small, scale_factor=2, mode="bilinear", align_corners=True)
    height, width = (large.shape[k] - doubled.shape[k] for k in (2, 3))
    doubled = pad(doubled, (width // 2, width - width // 2, height // 2, height - height // 2))
    return torch.cat((large, doubled), dim=1)


def _picked(vectors: Tensor, index: Tensor) -> Tensor:
    return torch.gather(vectors, 1, index.unsqueeze(-1).expand(-1, -1, vectors.shape[-1]))


def run_loss(scores: Tensor, classes: Tensor) -> Tensor:
    """Return the weighted cross-entropy over the pixels that are none of the padding."""
    weights = torch.tensor(CLASS_WEIGHTS, device=scores.device)
    return cross_entropy(scores, classes, weight=weights, ignore_index=NOT_A_PIXEL)
