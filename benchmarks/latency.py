"""How long one utterance takes, end to end and by stage, beside the bare run of the network.

    python benchmarks/latency.py [--quick] [--json FILE] [--turns 2 8 32] [--repeat N] [--threads N]

Every measurement of the whole call is followed by one of the bare `session.run` on the very same
inputs, so that the ratio does not depend on how busy the machine is.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from queen_sdk import Rewriter, Timings, Turn, __version__
from queen_sdk.bundle import load_bundle
from queen_sdk.pipeline import Prepared
from queen_sdk.runtime import onnxruntime  # type: ignore[attr-defined]

DIALOGUES: dict[str, list[tuple[list[str], str]]] = {
    "zh": [
        (["你喜欢看电影吗", "我最喜欢看科幻电影"], "为什么喜欢看"),
        (["史密斯需要在附近找一家昂贵的餐馆。", "史密斯关心菜肴的类型吗？"], "不，他不关心。"),
        (["北京明天的天气怎么样", "明天北京多云转晴，最高气温二十五度"], "后天呢"),
        (["帮我订一张去上海的高铁票", "好的，您想什么时候出发"], "明天早上八点的有吗"),
        (["周杰伦的新专辑你听了吗", "听了，里面有几首歌特别好听"], "他还出过哪些专辑"),
    ],
    "en": [
        (
            [
                "I need to find an expensive restaurant in the south part of town.",
                "There are several restaurants in the south. Do you have a cuisine preference?",
            ],
            "No, I don't care.",
        ),
        (
            [
                "Is there a cheap Italian restaurant in the centre?",
                "Yes, Pizza Hut City Centre is a cheap Italian restaurant in the centre of town.",
            ],
            "What is their phone number?",
        ),
        (
            [
                "Smith needs to find an expensive restaurant nearby.",
                "Does Smith care about the type of cuisine?",
            ],
            "No, he does not care.",
        ),
        (
            [
                "What is the weather like in Paris in June?",
                "It is usually warm, around 23 degrees, with some rain.",
            ],
            "and in July?",
        ),
    ],
}
STAGES = tuple(field.name for field in attrs.fields(Timings))


@attrs.frozen
class Measured:
    """One language and history length."""

    language: str
    turns: int
    end_to_end: list[float]
    bare: list[float]
    stages: dict[str, list[float]]

    @property
    def ratio(self) -> float:
        """Median whole call over median bare run."""
        return statistics.median(self.end_to_end) / statistics.median(self.bare)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON, in milliseconds."""
        return {
            "language": self.language,
            "turns": self.turns,
            "end_to_end_ms": percentiles(self.end_to_end),
            "session_run_ms": percentiles(self.bare),
            "stages_ms": {name: statistics.median(v) for name, v in self.stages.items()},
            "ratio": self.ratio,
        }


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """Return median, 95th and 99th percentile."""
    p50, p95, p99 = np.percentile(values, [50, 95, 99])
    return {"p50": float(p50), "p95": float(p95), "p99": float(p99)}


def lengthened(history: Sequence[str], turns: int, language: str) -> list[str]:
    """Return the history with turns of the other dialogues put in front, `turns` in all."""
    others = [text for texts, _ in DIALOGUES[language] for text in texts]
    return [*islice(cycle(others), max(turns - len(history), 0)), *history]


def bare_session(bundle: str, threads: int | None) -> Any:
    """Open the bundle's graph with nothing around it."""
    options = onnxruntime.SessionOptions()
    options.inter_op_num_threads = 1
    options.intra_op_num_threads = threads or 0
    options.log_severity_level = 3
    opened = load_bundle(bundle)
    path = opened.model_path(opened.precisions[0])
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def measure(language: str, turns: int, repeat: int, threads: int | None) -> Measured:
    """Time whole calls and bare runs in turn."""
    rewriter = Rewriter(language, threads=threads, providers=["cpu"])
    session = bare_session(language, threads)
    names = {entry.name for entry in session.get_inputs()}
    whole: list[float] = []
    bare: list[float] = []
    stages: dict[str, list[float]] = {name: [] for name in STAGES}
    dialogues = [
        (lengthened(history, turns, language), utterance)
        for history, utterance in DIALOGUES[language]
    ]
    inputs = list(_inputs(rewriter, dialogues))
    for round_ in range(-3, repeat):
        for (history, utterance), feed in zip(dialogues, inputs, strict=True):
            started = time.perf_counter()
            result = rewriter.rewrite(history, utterance)
            middle = time.perf_counter()
            session.run(["scores"], {name: feed[name] for name in names})
            ended = time.perf_counter()
            if round_ >= 0:
                whole.append((middle - started) * 1e3)
                bare.append((ended - middle) * 1e3)
                for name in STAGES:
                    stages[name].append(getattr(result.timings, name))
    rewriter.close()
    return Measured(language, turns, whole, bare, stages)


def _inputs(
    rewriter: Rewriter, dialogues: Sequence[tuple[list[str], str]]
) -> Iterator[dict[str, Any]]:
    model = rewriter._some_model()
    for history, utterance in dialogues:
        prepared = model.pipeline.prepare([Turn(text) for text in history], utterance)
        assert isinstance(prepared, Prepared)
        yield model.pipeline.builder.batch([prepared.features]).as_inputs()


def table(measured: Sequence[Measured]) -> str:
    """Return the results as a Markdown table."""
    head = ("", "turns", "p50 ms", "p95", "p99", "session.run p50", "ratio", *STAGES)
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    for row in measured:
        whole, bare = percentiles(row.end_to_end), percentiles(row.bare)
        cells = [
            row.language,
            str(row.turns),
            *(f"{whole[p]:.2f}" for p in ("p50", "p95", "p99")),
            f"{bare['p50']:.2f}",
            f"{row.ratio:.2f}",
            *(f"{statistics.median(row.stages[name]):.3f}" for name in STAGES),
        ]
        lines.append(" | ".join(cells))
    return "\n".join(f"| {line} |" for line in lines)


def main() -> None:
    """Measure, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description="Latency of one utterance, end to end.")
    parser.add_argument("--quick", action="store_true", help="two-turn histories, few repetitions")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--turns", type=int, nargs="+", default=[2, 8, 32])
    parser.add_argument("--repeat", type=int, default=100)
    parser.add_argument("--threads", type=int, default=None)
    arguments = parser.parse_args()
    turns = [2] if arguments.quick else arguments.turns
    repeat = min(arguments.repeat, 20) if arguments.quick else arguments.repeat
    measured = [
        measure(language, count, repeat, arguments.threads)
        for language in DIALOGUES
        for count in turns
    ]
    print(f"queen-sdk {__version__}, onnxruntime {onnxruntime.__version__}, {platform.machine()}")
    print(table(measured))
    worst = max(row.ratio for row in measured if row.turns == 2) if 2 in turns else None
    if worst is not None:
        print(f"\nend to end over session.run (two turns, the worse language): {worst:.2f}")
    if arguments.json:
        figures = {
            "rows": [row.to_dict() for row in measured],
            "ratios": {"end_to_end_over_session_run": worst},
        }
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
