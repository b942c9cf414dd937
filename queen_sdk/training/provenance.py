"""Where encoders and data come from, and under which licence: every bundle says so."""

from __future__ import annotations

import attrs


@attrs.frozen
class Origin:
    """One thing that a bundle derives from."""

    name: str
    licence: str


ENCODERS: dict[str, Origin] = {
    "bge-small-zh": Origin("bge-small-zh-v1.5 (BAAI), 4 layers of width 512", "MIT"),
    "bert-base-zh": Origin(
        "multilingual cased BERT-base (Google), vocabulary cut to Chinese", "Apache-2.0"
    ),
    "bert-base-en": Origin("BERT-base uncased (Google)", "Apache-2.0"),
    "minilm-l6": Origin("all-MiniLM-L6-v2 (sentence-transformers), 6 × 384", "Apache-2.0"),
}
"""Known encoders by the name of their directory."""

CORPUS_ORIGINS: dict[str, Origin] = {
    "rewrite": Origin("REWRITE (Su et al., ACL 2019)", "released for research"),
    "restoration": Origin("Restoration-200K (Pan et al., EMNLP 2019)", "research, none stated"),
    "task": Origin("TASK (Quan et al., EMNLP 2019)", "MIT"),
    "canard": Origin("CANARD (Elgohary et al., EMNLP 2019)", "CC BY-SA 4.0"),
    "canard-untitled": Origin("CANARD (Elgohary et al., EMNLP 2019)", "CC BY-SA 4.0"),
    "qrecc": Origin("QReCC (Anantha et al., NAACL 2021)", "CC BY-SA 3.0"),
    "jsonl": Origin("JSON lines of the user", "the user's"),
    "followups-en": Origin("English follow-ups made by queen-sdk", "Apache-2.0"),
    "followups-zh": Origin("Chinese follow-ups made by queen-sdk", "Apache-2.0"),
}


def encoder_origin(name: str) -> Origin:
    """Return what is known of an encoder."""
    return ENCODERS.get(name, Origin(name, "unknown"))
