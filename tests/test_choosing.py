"""Which model answers, when it is loaded, and when it is freed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from handmade import HISTORY, REWRITTEN, UTTERANCE

from queen_sdk import DecodingSettings, Rewriter
from queen_sdk.bundle import read_manifest
from queen_sdk.errors import ClosedError, UnknownBundleError

Altered = Callable[..., Path]


class TestBundles:
    """Which model answers."""

    def test_each_dialogue_gets_the_bundle_of_its_language(self, embedded: Path) -> None:
        with Rewriter(threads=1) as rewriter:
            batch: list[tuple[list[str], str]] = [
                (HISTORY, UTTERANCE),
                (["史密斯在北京"], "他呢"),
                (["스미스는 여기"], "그는 어때요"),
                (HISTORY, UTTERANCE),
            ]
            results = rewriter.rewrite_batch(batch)
        assert [(r.model, r.language) for r in results] == [
            ("en 1", "en"),
            ("zh 1", "zh"),
            (None, "ko"),
            ("en 1", "en"),
        ]
        assert [r.text for r in results] == [REWRITTEN, "史密斯呢", "그는 어때요", REWRITTEN]

    def test_models_are_loaded_when_they_are_needed(self, embedded: Path) -> None:
        with Rewriter(threads=1) as rewriter:
            (embedded / "zh" / "model.onnx").unlink()
            assert rewriter.rewrite(HISTORY, UTTERANCE).text == REWRITTEN
            with pytest.raises(Exception, match=r"model\.onnx: the file is missing"):
                rewriter.rewrite(["史密斯在北京"], "他呢")

    @pytest.mark.parametrize("name", ["ko", "no/such/place", ""])
    def test_an_unknown_bundle_is_told_with_the_known_ones(self, embedded: Path, name: str) -> None:
        with pytest.raises(UnknownBundleError, match=r"embedded bundles are: en, zh"):
            Rewriter(name)

    def test_a_bundle_by_name_serves_its_language_only(self, embedded: Path) -> None:
        with Rewriter("zh", threads=1) as rewriter:
            assert rewriter.rewrite(["史密斯在北京"], "他呢").text == "史密斯呢"
            assert rewriter.rewrite(HISTORY, UTTERANCE).skip_reason == "unsupported_language"

    def test_an_installation_without_bundles_says_so(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("queen_sdk.bundle.loading.EMBEDDED", tmp_path)
        with pytest.raises(UnknownBundleError, match="no bundle comes with this installation"):
            Rewriter()

    def test_thresholds_are_those_of_the_manifest(self, altered_bundle: Altered) -> None:
        settings = DecodingSettings(substitute_threshold=99.0, insert_threshold=99.0)
        with Rewriter(altered_bundle(decoding=settings), threads=1) as rewriter:
            assert not rewriter.rewrite(HISTORY, UTTERANCE).changed
            assert rewriter.rewrite(HISTORY, UTTERANCE, threshold=0.0).text == REWRITTEN

    def test_warm_up_loads_what_is_named(self, embedded: Path) -> None:
        with Rewriter(threads=1) as rewriter:
            rewriter.warm_up("zh")
            for name in ("en", "zh"):
                (embedded / name / "model.onnx").unlink()
            assert rewriter.rewrite(["史密斯在北京"], "他呢").text == "史密斯呢"
            with pytest.raises(
                UnknownBundleError, match=r"for the language 'ko'; there are: en, zh"
            ):
                rewriter.warm_up("ko")

    def test_warm_up_loads_everything_if_nothing_is_named(self, embedded: Path) -> None:
        with Rewriter(threads=1) as rewriter:
            rewriter.warm_up()
            for name in ("en", "zh"):
                (embedded / name / "model.onnx").unlink()
            assert rewriter.rewrite(HISTORY, UTTERANCE).model == "en 1"
            assert rewriter.rewrite(["史密斯在北京"], "他呢").model == "zh 1"

    def test_the_provider_tells_the_truth(self, rewriter: Rewriter, embedded: Path) -> None:
        assert rewriter.provider == "CPUExecutionProvider"
        with Rewriter(providers=["cpu"], threads=1) as by_language:
            assert by_language.provider == "CPUExecutionProvider"

    def test_the_model_is_the_one_of_the_manifest(self, tiny_bundle_dir: Path) -> None:
        manifest = read_manifest(tiny_bundle_dir)
        with Rewriter(str(tiny_bundle_dir), threads=1) as rewriter:
            name = rewriter.rewrite(HISTORY, UTTERANCE).model
        assert name == f"{manifest.name} {manifest.version}"


class TestClosing:
    """The end of a rewriter."""

    def test_a_closed_rewriter_refuses(self, tiny_bundle_dir: Path) -> None:
        with Rewriter(tiny_bundle_dir, threads=1) as rewriter:
            lazy = rewriter.rewrite_many([(HISTORY, UTTERANCE)])
        rewriter.close()
        calls: list[Callable[[], object]] = [
            lambda: rewriter.rewrite(HISTORY, UTTERANCE),
            lambda: rewriter.rewrite([], ""),
            lambda: rewriter.explain(HISTORY, UTTERANCE),
            lambda: rewriter.provider,
            lambda: next(lazy),
            rewriter.warm_up,
        ]
        for call in calls:
            with pytest.raises(ClosedError, match="was closed"):
                call()

    def test_a_closed_rewriter_of_embedded_bundles_refuses(self, embedded: Path) -> None:
        with Rewriter(threads=1) as rewriter:
            rewriter.rewrite(HISTORY, UTTERANCE)
        calls: list[Callable[[], object]] = [
            lambda: rewriter.rewrite(HISTORY, UTTERANCE),
            lambda: rewriter.provider,
            rewriter.warm_up,
        ]
        for call in calls:
            with pytest.raises(ClosedError, match="was closed"):
                call()

    def test_a_model_that_loads_while_it_is_closed_is_freed(
        self, embedded: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rewriter = Rewriter(threads=1)
        open_model = rewriter._models._open

        def open_and_close(bundle: str) -> Any:
            model = open_model(bundle)
            rewriter.close()
            return model

        monkeypatch.setattr(rewriter._models, "_open", open_and_close)
        with pytest.raises(ClosedError, match="was closed"):
            rewriter.rewrite(HISTORY, UTTERANCE)

    def test_calls_in_other_threads_finish_or_are_refused(self, tiny_bundle_dir: Path) -> None:
        rewriter = Rewriter(tiny_bundle_dir, threads=1)
        expected = rewriter.rewrite(HISTORY, UTTERANCE)
        running = threading.Barrier(5)

        def work() -> int:
            running.wait()
            done = 0
            try:
                while True:
                    assert rewriter.rewrite(HISTORY, UTTERANCE) == expected
                    done += 1
            except ClosedError:
                return done

        with ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(work) for _ in range(4)]
            running.wait()
            time.sleep(0.1)
            rewriter.close()
            assert sum(future.result(timeout=30) for future in futures) > 0
