"""Parsers for the ellipsis part of the query template."""

from queen_sdk.parsing.base import EllipsisEnds, Parser, Structure, ellipsis_ends

__all__ = ["EllipsisEnds", "Parser", "Structure", "ellipsis_ends"]
