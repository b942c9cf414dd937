"""The picture of a run: loss and exact match by epoch."""

from __future__ import annotations

import csv
from pathlib import Path


def draw_curve(log: Path, picture: Path) -> None:
    """Draw the log of a run."""
    from matplotlib.figure import Figure

    with log.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    epochs = [int(row["epoch"]) for row in rows]
    figure = Figure(figsize=(7, 4), layout="constrained")
    loss = figure.subplots()
    loss.plot(epochs, [float(row["loss"]) for row in rows], "o-", color="tab:gray", label="loss")
    loss.set(xlabel="epoch", ylabel="training loss")
    match = loss.twinx()
    for name, color in (("exact_match", "tab:blue"), ("incomplete", "tab:orange")):
        match.plot(epochs, [float(row[name]) for row in rows], "o-", color=color, label=name)
    match.set(ylabel="exact match on held-out examples, %")
    figure.legend(loc="outside upper center", ncols=3)
    figure.savefig(picture, dpi=120)
