"""Corpora, gold edits, and what is mined from them."""
