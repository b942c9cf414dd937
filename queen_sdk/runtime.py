"""The one file that knows ONNX Runtime: arrays in, arrays out."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import sys
import threading
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import attrs
import numpy as np
import numpy.typing as npt

from queen_sdk.bundle.files import damaged
from queen_sdk.errors import (
    ClosedError,
    InferenceError,
    InvalidArgumentError,
    MissingExtraError,
    ProviderError,
)
from queen_sdk.features import EncodedBatch

# Before the import, which would start an uploader: users of a dialogue library did not ask for
# one, and its thread makes every forked child hang at exit. A value that is set already stays.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

try:
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state
except ImportError as error:
    raise MissingExtraError(
        f"ONNX Runtime cannot be imported ({error}); install it anew: "
        "pip uninstall -y onnxruntime onnxruntime-gpu && pip install onnxruntime"
    ) from error

Scores = npt.NDArray[np.float32]
Feed = Mapping[str, npt.NDArray[Any]]
"""The arrays of a graph's inputs, by name."""
G = TypeVar("G", bound="Graph")

CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"
GPU_INSTALL = "pip uninstall -y onnxruntime && pip install onnxruntime-gpu"
"""The two packages share one import name, so the first must go before the second comes."""

KEPT_APART = ("SkipLayerNormFusion",)
"""Fusions that stay undone: on CPUs a sum and a layer norm are quicker than both in one."""

_SUFFIX = "ExecutionProvider"
_DEVICES = {CUDA: "cuda", "TensorrtExecutionProvider": "cuda"}
_INPUTS = frozenset(attrs.fields_dict(EncodedBatch))
_OUTPUT = "scores"
_ONLY_FATAL, _WARNINGS = 4, 2

# Held while ONNX Runtime loads: a fork in the middle would leave its locks taken in the child.
_OPENING = threading.RLock()
_GRAPHS: weakref.WeakSet[Graph] = weakref.WeakSet()

# ONNX Runtime's errors have no common base.
_FOREIGN: tuple[type[Exception], ...] = (
    RuntimeError,
    ValueError,
    *(
        kind
        for kind in vars(onnxruntime_pybind11_state).values()
        if isinstance(kind, type) and issubclass(kind, Exception)
    ),
)


@attrs.frozen(eq=False)
class _Session:
    """A loaded graph."""

    native: Any
    inputs: frozenset[str]
    outputs: tuple[str, ...]
    provider: str

    def run(self, feed: Feed) -> list[npt.NDArray[Any]]:
        arrays: list[npt.NDArray[Any]] = self.native.run(self.outputs, feed)
        return arrays

    def run_bound(self, feed: Feed) -> list[npt.NDArray[Any]]:
        # The binding points into these arrays: they must live until the end of the run.
        arrays = {name: np.ascontiguousarray(array) for name, array in feed.items()}
        binding = self.native.io_binding()
        for name, array in arrays.items():
            binding.bind_cpu_input(name, array)
        for name in self.outputs:
            binding.bind_output(name, _DEVICES.get(self.provider, "cpu"))
        self.native.run_with_iobinding(binding)
        found: list[npt.NDArray[Any]] = binding.copy_outputs_to_cpu()
        return found


class Graph:
    """A graph that is ready to run: shared by threads, and usable on both sides of a fork."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        inputs: Collection[str],
        outputs: Sequence[str],
        providers: Sequence[str] | None = None,
        threads: int | None = None,
        io_binding: bool | None = None,
    ) -> None:
        """Load the graph; it may take only those inputs and must give those outputs.

        `providers` are tried in order and each must start; short names such as "cuda" will do.
        None takes CUDA if it really starts, else the CPU. `threads` work on one operator; None
        leaves the number to ONNX Runtime, which takes one per physical core. `io_binding` keeps
        arrays on the device during a run; None does so on CUDA only.

        Raises:
            InvalidArgumentError: An argument is out of range.
            ProviderError: A requested provider is not available, or does not start.
            DamagedBundleError: The file is missing, or is not a graph with those ends.
        """
        self._path = Path(os.path.abspath(path))
        self._inputs, self._outputs = frozenset(inputs), tuple(outputs)
        self._providers = None if providers is None else _full_names(providers)
        self._threads = _checked_threads(threads)
        self._io_binding = io_binding
        self._closed = False
        self._lock = threading.Lock()
        self._session: _Session | None = self._open()
        _GRAPHS.add(self)

    @property
    def provider(self) -> str:
        """The execution provider that is really at work, by its full name."""
        return self._current().provider

    def compute(self, feed: Feed) -> list[npt.NDArray[Any]]:
        """Return the outputs, in the order asked for; inputs that the graph lacks are left out.

        Raises:
            ClosedError: It was closed.
            InferenceError: ONNX Runtime failed.
        """
        session = self._current()
        taken = {name: array for name, array in feed.items() if name in session.inputs}
        bound = session.provider == CUDA if self._io_binding is None else self._io_binding
        try:
            return session.run_bound(taken) if bound else session.run(taken)
        except _FOREIGN as error:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in taken.items())
            raise InferenceError(
                f"ONNX Runtime {onnxruntime.__version__} failed on {self._path.name} with input "
                f"of shape {shapes}: {str(error).strip()}"
            ) from error

    def close(self) -> None:
        """Free the graph. Runs that are under way in other threads still finish."""
        with self._lock:
            self._closed = True
            self._session = None

    def __enter__(self: G) -> G:
        """Return the graph itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def _current(self) -> _Session:
        with self._lock:
            if self._closed:
                raise ClosedError(f"{self._path.name} was closed; load it again")
            if self._session is None:
                self._session = self._open()
            return self._session

    def _open(self) -> _Session:
        with _OPENING:
            try:
                if self._providers is None:
                    native = _start_automatically(self._create)
                else:
                    native = _start_explicitly(self._create, self._providers)
            except _FOREIGN as error:
                reason = str(error).strip()
                problem = f"ONNX Runtime {onnxruntime.__version__} cannot load it ({reason})"
                raise damaged(self._path, problem) from error
        inputs = frozenset(item.name for item in native.get_inputs())
        outputs = [item.name for item in native.get_outputs()]
        if not inputs <= self._inputs or not set(self._outputs) <= set(outputs):
            raise damaged(
                self._path,
                f"not the graph of a {type(self).__name__.lower()}: it takes "
                f"{', '.join(sorted(inputs))} and gives {', '.join(outputs)}, expected are "
                f"{', '.join(sorted(self._inputs))} and {', '.join(self._outputs)}",
            )
        return _Session(native, inputs, self._outputs, native.get_providers()[0])

    def _create(self, providers: Sequence[str]) -> Any:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.log_severity_level = _ONLY_FATAL
        return onnxruntime.InferenceSession(
            str(self._path),
            options,
            providers=list(providers),
            disabled_optimizers=list(KEPT_APART),
            enable_fallback=0,
        )

    def _forget_session(self) -> None:
        """Leave the parent's session alone; its threads did not come along through the fork."""
        self._lock = threading.Lock()
        if self._session is not None:
            # Not even freed: that would wait for those threads.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._session))
            self._session = None


class Scorer(Graph):
    """The graph of a bundle: encoded batches in, score rectangles out."""

    def __init__(
        self,
        model_path: str | os.PathLike[str],
        *,
        providers: Sequence[str] | None = None,
        threads: int | None = None,
        io_binding: bool | None = None,
    ) -> None:
        """Load the graph; arguments and errors are those of `Graph`."""
        super().__init__(
            model_path,
            inputs=_INPUTS,
            outputs=(_OUTPUT,),
            providers=providers,
            threads=threads,
            io_binding=io_binding,
        )

    def run(self, batch: EncodedBatch) -> Scores:
        """Return the scores of a batch, one rectangle per dialogue and operation.

        The axes are dialogue, operation, row, and utterance token with END.

        Raises:
            ClosedError: The scorer was closed.
            InferenceError: ONNX Runtime failed.
        """
        return np.asarray(self.compute(batch.as_inputs())[0], dtype=np.float32)

    def warm_up(self) -> None:
        """Run once on next to nothing, so that the first real run does not pay for set-up."""
        line = np.zeros((1, 8), dtype=np.int64)
        place = np.zeros((1, 1), dtype=np.int64)
        self.run(EncodedBatch(line, np.ones_like(line), line, place, place))


def available_providers() -> tuple[str, ...]:
    """Return the execution providers of the installed ONNX Runtime; not all need really work."""
    return tuple(onnxruntime.get_available_providers())


def _checked_threads(threads: int | None) -> int:
    if threads is None:
        return 0
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InvalidArgumentError(f"threads must be None or an int of at least 1, got {threads!r}")
    return threads


def _full_names(providers: Sequence[str]) -> tuple[str, ...]:
    if isinstance(providers, str) or not providers:
        raise InvalidArgumentError(
            f"providers must be None or a list with at least one name, got {providers!r}"
        )
    known = {name.removesuffix(_SUFFIX).lower(): name for name in onnxruntime.get_all_providers()}
    names = (str(name) for name in providers)
    full = [known.get(name.removesuffix(_SUFFIX).lower(), name) for name in names]
    return tuple(dict.fromkeys(full))


def _start_automatically(create: Callable[[Sequence[str]], Any]) -> Any:
    if CUDA in onnxruntime.get_available_providers():
        onnxruntime.set_default_logger_severity(_ONLY_FATAL)
        try:
            _preload_cuda()
            return create((CUDA, CPU))
        except _FOREIGN:
            pass  # Whether CUDA or the graph is at fault shows on the CPU.
        finally:
            onnxruntime.set_default_logger_severity(_WARNINGS)
    return create((CPU,))


def _start_explicitly(create: Callable[[Sequence[str]], Any], providers: Sequence[str]) -> Any:
    available = onnxruntime.get_available_providers()
    for name in providers:
        if name not in available:
            hint = f"; for an NVIDIA GPU: {GPU_INSTALL}" if name in _DEVICES else ""
            raise ProviderError(f"{name} is not available here, only {', '.join(available)}{hint}")
    if CUDA in providers:
        _preload_cuda()
    try:
        native = create(providers)
        active = native.get_providers()
    except _FOREIGN as error:
        create((CPU,))  # Raises if the graph is at fault.
        suspect = next((name for name in providers if name != CPU), CPU)
        raise _not_started(suspect, [CPU], str(error).strip()) from error
    for name in providers:
        if name not in active:
            raise _not_started(name, active, "ONNX Runtime's log says why")
    return native


def _not_started(name: str, active: Sequence[str], reason: str) -> ProviderError:
    hint = ""
    if name in _DEVICES:
        hint = (
            "; it needs an NVIDIA GPU with its driver, CUDA and cuDNN: "
            f"{GPU_INSTALL}, then pip install 'onnxruntime-gpu[cuda,cudnn]'"
        )
    return ProviderError(f"{name} did not start ({reason}), only {', '.join(active)} did{hint}")


def _preload_cuda() -> None:
    """Load CUDA from NVIDIA's pip packages, where ONNX Runtime would not look by itself."""
    if importlib.util.find_spec("nvidia") and hasattr(onnxruntime, "preload_dlls"):
        with contextlib.redirect_stdout(sys.stderr):
            onnxruntime.preload_dlls()


def _start_afresh() -> None:
    _OPENING.release()
    for graph in _GRAPHS:
        graph._forget_session()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_OPENING.acquire, after_in_parent=_OPENING.release, after_in_child=_start_afresh
    )
