"""Tables in Markdown that also read well in a terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def table(
    head: Sequence[str], body: Sequence[Sequence[str]], texts: Collection[str] = ("source",)
) -> str:
    """Return a table; all columns but the first and those titled as in `texts` hold numbers."""
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    numeric = [k > 0 and title not in texts for k, title in enumerate(head)]
    rule = [
        "-" * (width + 1) + ":" if right else "-" * (width + 2)
        for width, right in zip(widths, numeric, strict=True)
    ]
    lines = [_line(head, widths, numeric), f"|{'|'.join(rule)}|"]
    lines += (_line(cells, widths, numeric) for cells in body)
    return "\n".join(lines)


def number(value: float | None, digits: int = 1) -> str:
    """Return a figure for a cell, with so many digits behind the point; a dash for none."""
    return "-" if value is None else f"{value:.{digits}f}"


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    padded = (
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, numeric, strict=True)
    )
    return f"| {' | '.join(padded)} |"
