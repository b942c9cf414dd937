"""Fixed word vectors for a parser: what a pretrained encoder makes of each word alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import attrs
import torch
from torch import Tensor
from transformers import AutoModel, AutoTokenizer

from queen_sdk.data.treebanks import Sentence
from queen_sdk.errors import missing_extra
from queen_sdk.parsing.inputs import ParserInputs
from queen_sdk.tokenization import tokenize

_UNKNOWN = "[UNK]"
_LEAST = 2
_SPREAD = 0.5
_BATCH = 256
_CHINESE_WORDS = 24_000
_LONGEST_CHINESE_WORD = 4
_FIRST_WIDE = "\u2e80"


@attrs.frozen(eq=False)
class WordVectors:
    """A vocabulary, and a vector for each entry."""

    vocabulary: tuple[str, ...]
    """The first stands for unknown words."""
    vectors: Tensor
    fixed: bool
    """Whether training leaves them as they are."""


def encoder_vectors(
    encoder: Path, sentences: Sequence[Sentence], *, language: str, width: int
) -> WordVectors:
    """Let an encoder read every word alone; keep the strongest `width` components of the result.

    The words are the encoder's own, those of the treebank and, for Chinese, the most frequent ones
    of jieba's dictionary.

    Raises:
        MissingExtraError: The language is Chinese and jieba is not installed.
    """
    tokenizer = AutoTokenizer.from_pretrained(encoder)
    own = (piece for piece in tokenizer.get_vocab() if len(tokenize(piece)) == 1)
    wanted = (*sorted(piece for piece in own if piece == piece.lower()), *treebank_words(sentences))
    words = tuple(dict.fromkeys((_UNKNOWN, *wanted, *(_dictionary() if language == "zh" else ()))))
    words = without_crossing(words, sentences)
    return WordVectors(words, _reduced(_read(encoder, tokenizer, words), width), True)


def fresh_vectors(sentences: Sequence[Sentence], *, width: int) -> WordVectors:
    """Start with random vectors for the words of the treebank, to be learnt."""
    vocabulary = (_UNKNOWN, *treebank_words(sentences))
    return WordVectors(vocabulary, torch.randn(len(vocabulary), width) * _SPREAD, False)


def treebank_words(sentences: Iterable[Sentence]) -> list[str]:
    """Return tokens and Chinese words that occur more than once, in lower case."""
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(token.text.lower() for token in tokenize(sentence.text))
        counts.update(word.text for word in sentence.words if _is_chinese_word(word.text))
    return [word for word, count in counts.most_common() if count >= _LEAST]


def without_crossing(words: Sequence[str], sentences: Iterable[Sentence]) -> tuple[str, ...]:
    """Leave out the words that, found in the treebank, cross its words more often than they fit.

    They would be read as one unit: 一个 is two words in the treebanks.
    """
    inputs = ParserInputs(words)
    fits: Counter[str] = Counter()
    for sentence in sentences:
        spans = {(word.start, word.start + len(word.text)) for word in sentence.words}
        starts = {start for start, _ in spans}
        for start, end in inputs.cut(sentence.text):
            if (start, end) in spans:
                fits[sentence.text[start:end]] += 1
            elif any(place in starts for place in range(start + 1, end)):
                fits[sentence.text[start:end]] -= 1
    return tuple(word for word in words if not _is_chinese_word(word) or fits[word] >= 0)


def _dictionary() -> list[str]:
    try:
        import jieba
    except ImportError as error:
        raise missing_extra("jieba", "train") from error
    with jieba.get_dict_file() as lines:
        entries = [line.decode("utf-8").split() for line in lines]
    entries.sort(key=lambda entry: -int(entry[1]))
    words = (entry[0] for entry in entries if _is_chinese_word(entry[0]))
    return list(islice(words, _CHINESE_WORDS))


def _is_chinese_word(text: str) -> bool:
    return 1 < len(text) <= _LONGEST_CHINESE_WORD and min(text) >= _FIRST_WIDE


def _read(encoder: Path, tokenizer: object, words: Sequence[str]) -> Tensor:
    """Return for each word the mean over its pieces and over the layers."""
    model = AutoModel.from_pretrained(encoder).eval()
    found: list[Tensor] = []
    order = sorted(range(len(words)), key=lambda k: len(words[k]))
    with torch.inference_mode():
        for k in range(0, len(words), _BATCH):
            texts = [words[n] for n in order[k : k + _BATCH]]
            batch = tokenizer(texts, padding=True, return_tensors="pt")  # type: ignore[operator]
            layers = model(**batch, output_hidden_states=True).hidden_states
            lengths = batch["attention_mask"].sum(dim=1, keepdim=True)
            places = torch.arange(batch["input_ids"].shape[1])
            inner = ((places > 0) & (places < lengths - 1)).float().unsqueeze(-1)
            hidden = torch.stack(layers).mean(dim=0)
            found.append((hidden * inner).sum(dim=1) / inner.sum(dim=1).clamp(min=1))
    vectors = torch.empty(len(words), found[0].shape[1])
    vectors[torch.tensor(order)] = torch.cat(found)
    return vectors


def _reduced(vectors: Tensor, width: int) -> Tensor:
    centred = vectors - vectors.mean(dim=0)
    _, _, directions = torch.linalg.svd(centred.T @ centred)
    found = centred @ directions[:width].T
    return found / found.std() * _SPREAD
