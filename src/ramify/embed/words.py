"""Texts as features by small static word vectors that come inside a wheel (the extra ``words``): nothing is downloaded.

The vectors are those of wordllama. Its own loader looks for them on a hub, so the two files are read from where the
package lies, without importing it. A text is the mean of its tokens' vectors: weighting them by rarity, or removing
what all texts have in common, measured worse (docs/data.md).
"""

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ramify.embed.base import Floats
from ramify.errors import RamifyError

__all__ = ["WordEmbedder", "words_installed"]

WEIGHTS, TOKENS = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"
COLUMNS = 256


def words_installed() -> bool:
    """Whether the extra is there, without loading it."""
    return find_spec("tokenizers") is not None and find_spec("wordllama") is not None


class WordEmbedder:
    """The mean of a text's word vectors, at unit length; large and small letters are alike. Nothing is fitted."""

    name, reads, batch, fits = "words", "text", 4096, False
    reads_names = True
    templates: tuple[str, ...] = ()

    @cached_property
    def _loaded(self) -> tuple[Any, Floats]:
        """The tokenizer, and the vectors of its tokens."""
        if not words_installed():
            raise RamifyError("--embed words needs the package wordllama: pip install 'ramify[words]'")
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        places = getattr(find_spec("wordllama"), "submodule_search_locations", None) or []
        folder = Path(next(iter(places), ""))
        try:
            vectors = load_file(folder / WEIGHTS)["embedding.weight"].astype(np.float32)
            return Tokenizer.from_file(str(folder / TOKENS)), vectors
        except Exception as error:  # a file that is missing or damaged raises many kinds
            raise RamifyError(
                f"the word vectors of wordllama in {folder} cannot be read ({error}): "
                "install it again, pip install --force-reinstall 'ramify[words]'"
            ) from None

    def fit(self, values: Sequence[str]) -> None:
        """Nothing is fitted, but vectors that cannot be loaded are told before anything else happens."""
        _ = self._loaded

    def fingerprint(self) -> str:
        """The vectors never change within a version."""
        return f"words 1 {WEIGHTS}"

    def key(self, value: str) -> str:
        """The text itself."""
        return value

    def rows(self, values: Sequence[str]) -> tuple[Floats, dict[int, str]]:
        """The features of each text; one without any sign is zero."""
        tokens, vectors = self._loaded
        rows: Floats = np.zeros((len(values), vectors.shape[1]), np.float32)
        for row, value in zip(rows, values, strict=True):
            # One by one: many at once would start threads, which a process that forks later must not have.
            numbers, times = np.unique(tokens.encode(value.lower(), add_special_tokens=False).ids, return_counts=True)
            if len(numbers):
                total = times.astype(np.float32) @ vectors[numbers]
                row[:] = total / max(float(np.linalg.norm(total)), 1e-12)
        return rows, {}

    def names(self, texts: Sequence[str]) -> Floats:
        """Names are texts."""
        return self.rows(texts)[0]

    def save(self, folder: Path) -> None:
        """The vectors stay where they are."""
