"""The models of a rewriter: one that was named, or one per language, loaded when first needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from queen_sdk.bundle import embedded_bundles
from queen_sdk.errors import ClosedError, UnknownBundleError
from queen_sdk.model import Model

Bundle = str | os.PathLike[str]


class Models:
    """Opens models and keeps them; shared between threads."""

    def __init__(self, bundle: Bundle | None, open_model: Callable[[Bundle], Model]) -> None:
        """Open the named bundle, or none yet.

        Raises:
            UnknownBundleError: None is named, and none comes with this installation.
        """
        self._open = open_model
        self._loaded: dict[str, Model] | None = {}
        self._only: Model | None = None
        if bundle is not None:
            self._only = open_model(bundle)
        elif not embedded_bundles():
            raise UnknownBundleError(
                "no bundle comes with this installation; install queen-sdk again, "
                "or give the directory of a bundle"
            )

    @property
    def languages(self) -> Sequence[str]:
        """The languages that there is a model for."""
        return self._only.manifest.languages if self._only else embedded_bundles()

    def get(self, language: str) -> Model | None:
        """Return the model for a language, loading it if need be; None if there is none.

        Raises:
            ClosedError: They were closed.
        """
        loaded = self.still_open()
        if self._only is not None:
            return self._only if language in self._only.manifest.languages else None
        if language not in loaded and language in embedded_bundles():
            # Two threads may load at once; one of the two is kept. A lock could outlive a fork.
            fresh = self._open(language)
            if loaded.setdefault(language, fresh) is not fresh or self._loaded is None:
                fresh.scorer.close()
        return loaded.get(language)

    def some(self) -> Model:
        """Return any model, a loaded one if there is one.

        Raises:
            ClosedError: They were closed.
        """
        model = self._only or next(iter((self._loaded or {}).values()), None)
        model = model or self.get(embedded_bundles()[0])
        self.still_open()
        assert model is not None
        return model

    def still_open(self) -> dict[str, Model]:
        """Return the models that were loaded by language.

        Raises:
            ClosedError: They were closed.
        """
        loaded = self._loaded
        if loaded is None:
            raise ClosedError("this rewriter was closed; make a new one")
        return loaded

    def close(self) -> None:
        """Free the models; runs that are under way finish."""
        loaded, self._loaded = self._loaded, None
        for model in list((loaded or {}).values()):  # another thread may be adding one
            model.scorer.close()
        if self._only is not None:
            self._only.scorer.close()
