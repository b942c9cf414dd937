"""Rewrite one utterance and show where every new word came from.

$ python examples/one_utterance.py
Does the RTX-4090 come with a warranty?
  'the RTX-4090' was said in turn 0
"""

from __future__ import annotations

from queen_sdk import Rewriter

HISTORY = ["Do you sell the RTX-4090?", "Yes, we have it in stock."]


def main() -> None:
    """Rewrite, then go through the sources of the edits."""
    with Rewriter() as rewriter:
        result = rewriter.rewrite(HISTORY, "Does it come with a warranty?")
    print(result.text)
    for edit in result.edits:
        for source in edit.sources:
            if source.turn is None:
                print(f"  {source.text!r} is a function word that the model declares")
            else:
                print(f"  {source.text!r} was said in turn {source.turn}")


if __name__ == "__main__":
    main()
