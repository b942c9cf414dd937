"""Faults of the model under running dialogues: none of them may cost a turn."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

from load_faults import Fault, count

from queen_sdk import MemoryStore, Middleware, Policy, Rewriter, Session
from queen_sdk.bundle import load_bundle
from queen_sdk.errors import InferenceError

TEXT = "What about the weather there?"


def model_faults(*, quick: bool) -> list[Fault]:
    """Do them all, each with a copy of the English bundle of its own."""
    dialogues, turns = (4, 6) if quick else (16, 20)

    def deleted(rewriter: Rewriter, directory: Path) -> None:
        shutil.rmtree(directory)

    def raising(rewriter: Rewriter, directory: Path) -> None:
        rewriter._some_model().scorer.run = fail  # type: ignore[method-assign]

    def closed(rewriter: Rewriter, directory: Path) -> None:
        rewriter.close()

    patient = Policy(timeout=60)
    return [
        troubled("model bundle deleted while running", patient, deleted, dialogues, turns),
        troubled("ONNX Runtime raising", patient, raising, dialogues, turns),
        troubled("rewriter closed while running", patient, closed, dialogues, turns),
        troubled("time-out of every call", Policy(timeout=1e-4), None, dialogues, turns),
        cancelled(dialogues, turns),
    ]


def fail(batch: object) -> NoReturn:
    """Fail as ONNX Runtime does."""
    raise InferenceError("ONNX Runtime failed")


def troubled(
    name: str,
    policy: Policy,
    trouble: Callable[[Rewriter, Path], None] | None,
    dialogues: int,
    turns: int,
) -> Fault:
    """Let threads lead dialogues, and make trouble in the middle of them."""
    store = MemoryStore()
    said: dict[str, list[str]] = {f"user/{k}": [] for k in range(dialogues)}

    def talk(number: int, session: Session, first: int, last: int) -> None:
        for turn in range(first, last):
            text = f"{number}:{turn} {TEXT}"
            result = session.rewrite(text, key=text)
            assert result.original == text
            if not result.unrecorded:
                said[session.id].append(text)

    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary) / "en"
        shutil.copytree(load_bundle("en").directory, directory)
        with (
            Rewriter(directory, threads=1) as rewriter,
            Middleware(rewriter, policy, observers=()) as middleware,
            ThreadPoolExecutor(dialogues) as pool,
        ):
            sessions = [middleware.session(id, store=store, max_turns=1000) for id in said]
            for half in ((0, turns // 2), (turns // 2, turns)):
                list(pool.map(lambda k, half=half: talk(k, sessions[k], *half), range(dialogues)))
                if half[0] == 0 and trouble is not None:
                    trouble(rewriter, directory)
    return count(name, store, said)


def cancelled(dialogues: int, turns: int) -> Fault:
    """Cancel an event loop's tasks in the middle of their dialogues."""
    store = MemoryStore()
    said: dict[str, list[str]] = {f"user/{k}": [] for k in range(dialogues)}

    async def talk(number: int, session: Session) -> None:
        for turn in range(10 * turns):
            text = f"{number}:{turn} {TEXT}"
            await session.arewrite(text, key=text)
            said[session.id].append(text)

    async def run(middleware: Middleware) -> None:
        tasks = [
            asyncio.create_task(talk(k, middleware.session(id, store=store, max_turns=1000)))
            for k, id in enumerate(said)
        ]
        while len(said["user/0"]) < turns:
            await asyncio.sleep(0.001)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    with (
        Rewriter("en", threads=1) as rewriter,
        Middleware(rewriter, Policy(timeout=60), observers=()) as middleware,
    ):
        asyncio.run(run(middleware))
    return count("event loop cancelled", store, said)
