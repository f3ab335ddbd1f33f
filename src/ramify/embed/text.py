"""Texts as features: hashed words and pairs of words, weighted by how rare they are, condensed by a truncated SVD."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from ramify.embed.base import Floats, digest
from ramify.errors import RamifyError
from ramify.files import read_npz, write_npz

__all__ = ["TextEmbedder"]

WORDS = 1 << 17  # hashed words and pairs
COLUMNS, FEW = 256, 8
FLAT = 1e-3  # of the longest direction
SAMPLE = 100_000  # texts that are learned from, at most
# A run of letters is a word; Chinese and Japanese are written without spaces, so there each sign is one.
SIGNS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
TOKEN = rf"[{SIGNS}]|[^\W{SIGNS}]+"


class TextEmbedder:
    """Learned from the first texts, then the same for all later ones.

    >>> embedder = TextEmbedder()
    >>> embedder.fit(["the cat purrs", "a dog barks", "the dog sleeps", "a cat sleeps"])
    >>> rows, _ = embedder.rows(["the cat sleeps", "dogs"])
    >>> rows.shape
    (2, 3)
    """

    name, reads, batch, fits = "text", "text", 4096, True
    reads_names = True
    templates: tuple[str, ...] = ()

    def __init__(self) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer  # it takes seconds to load

        self._hash = HashingVectorizer(
            n_features=WORDS, alternate_sign=False, norm=None, ngram_range=(1, 2), token_pattern=TOKEN
        )
        self._parts: dict[str, Any] = {}

    def fit(self, values: Sequence[str]) -> None:
        """Learn which words are rare, and which directions tell texts apart."""
        if len(values) > SAMPLE:
            chosen = np.random.default_rng(0).choice(len(values), SAMPLE, replace=False)
            values = [values[number] for number in np.sort(chosen)]
        counts = self._hash.transform(values)
        texts_with = np.bincount(counts.indices, minlength=WORDS)
        # In many texts a word that stands in one only says nothing of the others.
        words = np.flatnonzero(texts_with >= (2 if len(values) >= 1000 else 1))
        if not len(words):
            raise RamifyError("the texts hold no words, so there is nothing to embed: check the text column")
        rarity = np.log((1 + len(values)) / (1 + texts_with[words])) + 1
        self._parts = {"words": words.astype(np.int32), "rarity": rarity.astype(np.float32)}
        weighted = self._weighted(counts)
        # With a direction for each text all texts are at right angles once columns are scaled, and nothing is learned.
        columns = max(1, min(COLUMNS, max(FEW, len(values) // 2), len(values) - 1, len(words) - 1))
        if len(words) == 1:
            self._parts["directions"] = np.ones((1, 1), np.float32)
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # the share of variance, which nobody asks for, may be 0/0
            from sklearn.decomposition import TruncatedSVD

            svd = TruncatedSVD(columns, random_state=0).fit(weighted)
        # Directions in which the texts do not differ are arbitrary: later texts must not be measured by them.
        telling = svd.singular_values_ > FLAT * svd.singular_values_[0]
        self._parts["directions"] = np.ascontiguousarray(svd.components_[telling].T, np.float32)

    def _weighted(self, counts: "scipy.sparse.csr_matrix") -> "scipy.sparse.csr_matrix":
        chosen = counts[:, self._parts["words"]].astype(np.float32)
        chosen.data = 1 + np.log(chosen.data)
        weighted = scipy.sparse.csr_matrix(chosen.multiply(self._parts["rarity"]))
        length = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
        return scipy.sparse.csr_matrix(scipy.sparse.diags(1 / np.maximum(length, 1e-12)) @ weighted)

    def fingerprint(self) -> str:
        """What was learned."""
        return digest("text 1", *(part.tobytes() for _, part in sorted(self._parts.items())))

    def key(self, value: str) -> str:
        """The text itself."""
        return value

    def rows(self, values: Sequence[str]) -> tuple[Floats, dict[int, str]]:
        """The features of each text; one without any known word is zero."""
        weighted = self._weighted(self._hash.transform(values))
        return np.asarray(weighted @ self._parts["directions"], np.float32), {}

    def names(self, texts: Sequence[str]) -> Floats:
        """Names are texts; one without any known word is zero."""
        return self.rows(texts)[0]

    def save(self, folder: Path) -> None:
        """Write what was learned."""
        write_npz(folder / "text.npz", self._parts)

    @classmethod
    def load(cls, folder: Path) -> "TextEmbedder":
        """Read what ``save`` wrote."""
        embedder = cls()
        embedder._parts = read_npz(folder / "text.npz", ("words", "rarity", "directions"))
        return embedder
