"""The scorer: right scores on every way through, and typed errors instead of crashes and hangs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from handmade import make_batch

from queen_sdk import runtime
from queen_sdk.errors import (
    DamagedBundleError,
    InferenceError,
    InvalidArgumentError,
    ProviderError,
)
from queen_sdk.features import EncodedBatch
from queen_sdk.runtime import CPU, CUDA, GPU_INSTALL, Scorer

Altered = Callable[..., Path]

CUDA_OFFERED = CUDA in runtime.onnxruntime.get_available_providers()


@pytest.fixture
def scorer(model_path: Path) -> Iterator[Scorer]:
    with Scorer(model_path, providers=["cpu"], threads=1) as opened:
        yield opened


def change_graph(path: Path, change: Callable[[onnx.ModelProto], object]) -> None:
    model = onnx.load(str(path))
    change(model)
    onnx.save(model, str(path))


class TestRun:
    """What comes out."""

    def test_scores_have_the_shape_of_the_batch(self, scorer: Scorer) -> None:
        scores = scorer.run(make_batch([12, 30]))
        assert scores.shape == (2, 2, 30, 10)
        assert scores.dtype == np.float32
        assert np.isfinite(scores).all()

    def test_batch_equals_single(self, scorer: Scorer) -> None:
        lengths = [6, 50, 12, 200, 33]
        together = scorer.run(make_batch(lengths))
        for k, length in enumerate(lengths):
            alone = scorer.run(make_batch([length]))[0]
            rows, columns = alone.shape[1:]
            np.testing.assert_allclose(together[k, :, :rows, :columns], alone, atol=1e-6, rtol=0)

    def test_every_scorer_of_a_graph_agrees(self, scorer: Scorer, model_path: Path) -> None:
        batch = make_batch([20, 40])
        with Scorer(str(model_path), threads=2) as other:
            np.testing.assert_allclose(other.run(batch), scorer.run(batch), atol=1e-6, rtol=0)

    def test_io_binding_changes_nothing(self, scorer: Scorer, model_path: Path) -> None:
        with Scorer(model_path, providers=["cpu"], threads=1, io_binding=True) as bound:
            results = [bound.run(make_batch([length])) for length in (9, 90, 10)]
        for length, result in zip((9, 90, 10), results, strict=True):
            np.testing.assert_array_equal(result, scorer.run(make_batch([length])))

    def test_io_binding_takes_arrays_of_any_layout(self, scorer: Scorer, model_path: Path) -> None:
        batch = make_batch([30, 12, 21])
        turned = EncodedBatch(*(np.asfortranarray(array) for array in batch.as_inputs().values()))
        with Scorer(model_path, providers=["cpu"], threads=1, io_binding=True) as bound:
            np.testing.assert_array_equal(bound.run(turned), scorer.run(batch))

    @pytest.mark.parametrize("io_binding", [False, True])
    def test_only_declared_inputs_are_fed(self, altered_bundle: Altered, io_binding: bool) -> None:
        path = altered_bundle() / "model.onnx"

        def drop_segments(model: onnx.ModelProto) -> None:
            for item in model.graph.input:
                if item.name == "token_type_ids":
                    model.graph.input.remove(item)
                    break
            for node in model.graph.node:
                if "token_type_ids" in node.input:
                    node.input[1] = "attention_mask"

        change_graph(path, drop_segments)
        with Scorer(path, io_binding=io_binding) as scorer:
            assert scorer.run(make_batch([12])).shape == (1, 2, 12, 4)

    def test_warm_up_runs(self, scorer: Scorer) -> None:
        scorer.warm_up()

    def test_failure_is_translated(self, scorer: Scorer, capfd: pytest.CaptureFixture[str]) -> None:
        batch = make_batch([12])
        batch.input_ids[0, 0] = 10**6
        with pytest.raises(InferenceError, match=r"failed on model\.onnx with input of shape"):
            scorer.run(batch)
        assert capfd.readouterr() == ("", "")
        assert scorer.run(make_batch([12])).shape == (1, 2, 12, 4)


class TestLoading:
    """What can be wrong with the file and the arguments."""

    @pytest.mark.parametrize("threads", [0, -1, True, 1.5, "2"])
    def test_threads_are_checked(self, model_path: Path, threads: Any) -> None:
        with pytest.raises(InvalidArgumentError, match="threads must be None or an int of at"):
            Scorer(model_path, threads=threads)

    @pytest.mark.parametrize("providers", [[], "cuda"])
    def test_providers_are_a_list(self, model_path: Path, providers: Any) -> None:
        with pytest.raises(InvalidArgumentError, match="providers must be None or a list"):
            Scorer(model_path, providers=providers)

    def test_a_missing_file_is_damage(self, tmp_path: Path) -> None:
        with pytest.raises(DamagedBundleError, match=r"absent\.onnx: ONNX Runtime .* cannot load"):
            Scorer(tmp_path / "absent.onnx")

    @pytest.mark.parametrize("content", [b"", b"text", b"\0" * 100])
    def test_a_file_of_another_kind_is_damage(
        self, tmp_path: Path, content: bytes, capfd: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "model.onnx"
        path.write_bytes(content)
        with pytest.raises(DamagedBundleError, match=r"model\.onnx: .*export it again"):
            Scorer(path)
        assert capfd.readouterr() == ("", "")

    def test_half_a_graph_is_damage(self, altered_bundle: Altered) -> None:
        path = altered_bundle() / "model.onnx"
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        with pytest.raises(DamagedBundleError, match=r"model\.onnx: ONNX Runtime"):
            Scorer(path)

    @pytest.mark.parametrize("side", ["input", "output"])
    def test_another_graph_is_damage(self, altered_bundle: Altered, side: str) -> None:
        path = altered_bundle() / "model.onnx"

        def rename(model: onnx.ModelProto) -> None:
            item = getattr(model.graph, side)[0]
            for node in model.graph.node:
                for names in (node.input, node.output):
                    names[:] = ["novel" if name == item.name else name for name in names]
            item.name = "novel"

        change_graph(path, rename)
        with pytest.raises(DamagedBundleError, match=r"not the graph of a scorer: .*novel"):
            Scorer(path)

    def test_a_bundle_may_vanish_while_it_runs(self, altered_bundle: Altered) -> None:
        path = altered_bundle() / "model.onnx"
        with Scorer(path) as scorer:
            before = scorer.run(make_batch([30]))
            path.unlink()
            np.testing.assert_array_equal(scorer.run(make_batch([30])), before)


class TestProviders:
    """Which device does the work."""

    def test_automatic_choice_tells_the_truth(
        self, model_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        with Scorer(model_path) as scorer:
            assert scorer.provider == scorer._current().native.get_providers()[0]
            if not CUDA_OFFERED:
                assert scorer.provider == CPU
        assert capfd.readouterr() == ("", "")

    @pytest.mark.parametrize("name", ["cpu", "CPU", CPU])
    def test_short_and_full_names_are_the_same(self, model_path: Path, name: str) -> None:
        with Scorer(model_path, providers=[name, CPU]) as scorer:
            assert scorer.provider == CPU

    @pytest.mark.skipif(CUDA_OFFERED, reason="this ONNX Runtime offers CUDA")
    @pytest.mark.parametrize("providers", [["cuda"], ["cuda", "cpu"], [CUDA]])
    def test_cuda_that_is_not_offered_is_an_error(
        self, model_path: Path, providers: list[str]
    ) -> None:
        with pytest.raises(ProviderError, match=f"only .*{CPU}; for an NVIDIA GPU") as caught:
            Scorer(model_path, providers=providers)
        assert GPU_INSTALL in str(caught.value)

    def test_cuda_is_at_work_or_an_error(self, model_path: Path) -> None:
        try:
            scorer = Scorer(model_path, providers=["cuda"])
        except ProviderError as error:
            assert "onnxruntime-gpu" in str(error)  # noqa: PT017
        else:
            assert scorer.provider == CUDA
            scorer.warm_up()

    def test_an_unknown_provider_lists_the_available_ones(self, model_path: Path) -> None:
        with pytest.raises(ProviderError, match=f"warp is not available here, only .*{CPU}$"):
            Scorer(model_path, providers=["warp"])


@pytest.fixture
def idle_cuda(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Offer CUDA that never starts, as onnxruntime-gpu does without a GPU; note what is tried."""
    tried: list[list[str]] = []
    create = runtime.onnxruntime.InferenceSession

    def session(path: str, options: Any, *, providers: list[str], **other: Any) -> Any:
        tried.append(providers)
        kept = [name for name in providers if name != CUDA] or [CPU]
        return create(path, options, providers=kept, **other)

    monkeypatch.setattr(runtime.onnxruntime, "get_available_providers", lambda: [CUDA, CPU])
    monkeypatch.setattr(runtime.onnxruntime, "InferenceSession", session)
    return tried


class TestCudaWithoutGpu:
    """The GPU package on a machine without GPU."""

    def test_automatic_choice_ends_on_the_cpu(
        self, model_path: Path, idle_cuda: list[list[str]]
    ) -> None:
        with Scorer(model_path) as scorer:
            assert scorer.provider == CPU
        assert idle_cuda == [[CUDA, CPU]]

    def test_explicit_choice_is_an_error(
        self, model_path: Path, idle_cuda: list[list[str]]
    ) -> None:
        with pytest.raises(ProviderError, match=r"did not start .* needs an NVIDIA GPU") as caught:
            Scorer(model_path, providers=["cuda", "cpu"])
        assert GPU_INSTALL in str(caught.value)
        assert idle_cuda == [[CUDA, CPU]]


@pytest.fixture
def failing_cuda(idle_cuda: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Offer CUDA that raises, as it does with libraries but no device."""
    create = runtime.onnxruntime.InferenceSession

    def session(path: str, options: Any, *, providers: list[str], **other: Any) -> Any:
        if CUDA in providers:
            raise runtime.onnxruntime_pybind11_state.Fail("no CUDA-capable device")
        return create(path, options, providers=providers, **other)

    monkeypatch.setattr(runtime.onnxruntime, "InferenceSession", session)


@pytest.mark.usefixtures("failing_cuda")
class TestCudaThatFails:
    """The GPU package on a machine where CUDA raises."""

    def test_automatic_choice_ends_on_the_cpu(self, model_path: Path) -> None:
        with Scorer(model_path) as scorer:
            assert scorer.provider == CPU

    def test_explicit_choice_says_why(self, model_path: Path) -> None:
        with pytest.raises(ProviderError, match=f"{CUDA} did not start .no CUDA-capable device"):
            Scorer(model_path, providers=["cuda"])

    @pytest.mark.parametrize("providers", [None, ["cuda"]])
    def test_a_bad_file_is_still_damage(self, tmp_path: Path, providers: list[str] | None) -> None:
        with pytest.raises(DamagedBundleError):
            Scorer(tmp_path / "absent.onnx", providers=providers)
