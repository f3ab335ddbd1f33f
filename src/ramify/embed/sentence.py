"""Texts as features by a pretrained model of sentence-transformers (the extra ``embed``)."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ramify.embed.base import Floats
from ramify.errors import RamifyError

__all__ = ["SentenceEmbedder"]


class SentenceEmbedder:
    """A model by its name, which may be downloaded once, or by the folder that holds it, which needs no network."""

    reads, batch, fits = "text", 256, False
    reads_names = True
    templates: tuple[str, ...] = ("This is about {}.",)

    def __init__(self, model: str, folder: Path | None = None) -> None:
        self.model = str(Path(model).resolve()) if Path(model).is_dir() else model
        self.name = f"sentence-transformers:{self.model}"

    @cached_property
    def _loaded(self) -> Any:
        try:
            from sentence_transformers import SentenceTransformer
            from transformers.utils import logging
        except ImportError:
            raise RamifyError(
                f"--embed {self.name} needs the package sentence-transformers: pip install 'ramify[embed]'"
            ) from None
        logging.disable_progress_bar()  # it would tear our own apart
        try:
            return SentenceTransformer(self.model)
        except Exception as error:  # no network, no such model, a damaged file: many kinds
            reason = str(error).strip().splitlines()[:1] or [type(error).__name__]
            raise RamifyError(
                f"the model {self.model!r} of sentence-transformers cannot be loaded ({reason[0]}): "
                "check its name, or give the folder of a model that was downloaded before"
            ) from None

    def fit(self, values: Sequence[str]) -> None:
        """Nothing is fitted, but a model that cannot be loaded is told before anything else happens."""
        _ = self._loaded

    def fingerprint(self) -> str:
        """The model."""
        return self.name

    def key(self, value: str) -> str:
        """The text itself."""
        return value

    def rows(self, values: Sequence[str]) -> tuple[Floats, dict[int, str]]:
        """What the model makes of each text."""
        rows = self._loaded.encode(list(values), batch_size=32, show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(rows, np.float32), {}

    def names(self, texts: Sequence[str]) -> Floats:
        """Names are texts."""
        return self.rows(texts)[0]

    def save(self, folder: Path) -> None:
        """The model stays where it is."""
