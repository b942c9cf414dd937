"""Model bundles: a directory with a manifest, a card, a tokenizer and one or more graphs."""

from queen_sdk.bundle.loading import Bundle, embedded_bundles, load_bundle
from queen_sdk.bundle.manifest import (
    SCHEMA_VERSION,
    Manifest,
    ParserSpec,
    read_manifest,
    write_manifest,
)
from queen_sdk.bundle.recording import read_card, record_scores, write_with_card

__all__ = [
    "SCHEMA_VERSION",
    "Bundle",
    "Manifest",
    "ParserSpec",
    "embedded_bundles",
    "load_bundle",
    "read_card",
    "read_manifest",
    "record_scores",
    "write_manifest",
    "write_with_card",
]
