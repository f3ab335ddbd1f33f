"""Name vectors from names: the texts that stand for a concept, read by an embedder."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ramify.concepts import Concept, check_template
from ramify.data import NameVectors
from ramify.embed.base import Embedder, Floats, digest
from ramify.errors import RamifyError
from ramify.files import read_npz, write_npz
from ramify.taxonomy import Taxonomy

__all__ = ["name_texts", "name_vectors"]


def name_texts(concept: Concept, templates: Iterable[str]) -> list[list[str]]:
    """The texts that stand for a concept: its name and each alias, alone and in all templates, and its description.

    >>> name_texts(Concept("teddy_bear", aliases=("teddy",), description="a soft toy"), ["a photo of a {}"])
    [['teddy bear', 'a photo of a teddy bear'], ['teddy', 'a photo of a teddy'], ['a soft toy']]
    """
    texts = []
    for name in (concept.name, *concept.aliases):
        plain = " ".join(name.replace("_", " ").replace("-", " ").split()) or name
        texts.append(list(dict.fromkeys([plain, *(template.replace("{}", plain) for template in templates)])))
    return [*texts, [concept.description]] if concept.description.strip() else texts


def name_vectors(
    taxonomy: Taxonomy, by: Embedder, templates: Iterable[str] | None = None, folder: Path | None = None
) -> tuple[NameVectors, list[str]]:
    """The vectors of all concepts, and the paths of those of which the embedder knows no word.

    A vector is the unit mean of the unit rows of all texts of a concept; by default the templates are the embedder's
    own. A concept that is unknown to the embedder stands where its parent does, so that its name favours nothing; a
    root where its children do, or else all concepts. What was embedded is kept in the folder, and found again.

    >>> from ramify.embed.text import TextEmbedder
    >>> embedder = TextEmbedder()
    >>> embedder.fit(["the cat purrs", "a dog barks", "the dog sleeps", "a cat sleeps", "an animal"])
    >>> names, unknown = name_vectors(Taxonomy({"animal": ["cat", "dog", "gnu"]}), embedder)
    >>> names.vectors.shape[0], names.shared, unknown
    (4, True, ['animal > gnu'])
    """
    if not by.reads_names:
        raise RamifyError(f"{by.name} reads no names")
    filled = [check_template(template) for template in (by.templates if templates is None else templates)]
    texts = [name_texts(concept, filled) for concept in taxonomy.concepts]
    distinct = list(dict.fromkeys(text for groups in texts for group in groups for text in group))
    row_of = dict(zip(distinct, _unit(_embedded(by, distinct, folder)), strict=True))
    nothing = np.zeros_like(row_of[distinct[0]])
    means = np.stack([_mean([nothing, *(row_of[text] for text in _known(groups, row_of))]) for groups in texts])
    unknown = [number for number in taxonomy.preorder.tolist() if not means[number].any()]
    everything = _mean(means)
    if not everything.any():
        raise RamifyError(f"{by.name} knows no word of any concept: describe them in the taxonomy")
    for number in unknown:  # parents come before their children
        parent = int(taxonomy.parents[number])
        below = _mean(means[taxonomy.descendants(number)])
        means[number] = means[parent] if parent >= 0 else below if below.any() else everything
    return NameVectors.of(taxonomy, means, shared=True), [taxonomy.path(number) for number in unknown]


def _known(groups: Sequence[Sequence[str]], row_of: dict[str, Floats]) -> list[str]:
    """The texts of names of which the embedder knows a word: a template alone says nothing of a concept."""
    return [text for group in groups if row_of[group[0]].any() for text in group]


def _mean(rows: Sequence[Floats] | Floats) -> Floats:
    total: Floats = np.sum(rows, axis=0, keepdims=True)
    mean: Floats = _unit(total)[0]
    return mean


def _unit(rows: Floats) -> Floats:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Floats = np.where(length > 0, rows / np.where(length > 0, length, 1), 0).astype(np.float32)
    return unit


def _embedded(by: Embedder, texts: Sequence[str], folder: Path | None) -> Floats:
    """A row for each text; those of the last time are in the folder."""
    if folder is None:
        return by.names(texts)
    path = folder / f"{digest(by.fingerprint())}.npz"
    keys = [digest(text) for text in texts]
    kept: dict[str, Floats] = {}
    if path.exists():
        try:
            arrays = read_npz(path, ("keys", "rows"))
            kept = dict(zip(arrays["keys"].tolist(), arrays["rows"], strict=True))
        except (RamifyError, ValueError):  # damaged by something else than us: embed them again
            pass
    missing = [place for place, key in enumerate(keys) if key not in kept]
    if missing:
        rows = by.names([texts[place] for place in missing])
        kept.update((keys[place], row) for place, row in zip(missing, rows, strict=True))
        folder.mkdir(exist_ok=True)
        write_npz(path, {"keys": np.array(keys), "rows": np.stack([kept[key] for key in keys])})
    return np.stack([kept[key] for key in keys])
