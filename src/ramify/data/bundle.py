"""The .npz bundle: fully known fine labels under coarse ones, with or without features, in one file."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ramify.data.features import as_features
from ramify.data.name_vectors import NameVectors
from ramify.errors import RamifyError
from ramify.files import read_npz, write_npz
from ramify.labels import IRRELEVANT, RELEVANT, UNKNOWN, Labels
from ramify.taxonomy import Taxonomy


def read_bundle(path: Path, exhaustive: bool) -> dict[str, Any]:
    """The parts of a Dataset from a bundle.

    Needed are ``Y`` (items x fine, 0/1), ``fine`` and ``coarse`` names and ``parent`` (the place of each fine
    concept's parent among the coarse); ``X``, ``split`` and ``ids`` may be missing, and so may the name vectors ``V``
    and ``Vc``, both of them. Coarse labels are not stored.
    """
    arrays = read_npz(path, ("Y", "fine", "coarse", "parent"), ("X", "split", "ids", "V", "Vc"))
    truth, parent = arrays["Y"], arrays["parent"]
    fine, coarse = as_names(arrays["fine"], "fine"), as_names(arrays["coarse"], "coarse")
    n_fine, n_coarse = len(fine), len(coarse)
    if truth.ndim != 2 or truth.shape[1] != n_fine or parent.shape != (n_fine,):
        raise RamifyError(
            f"Y has the shape {truth.shape} and parent {parent.shape} for {n_fine} fine concepts: "
            f"they must be (items, {n_fine}) and ({n_fine},)"
        )
    if truth.dtype.kind not in "biu" or truth.max(initial=0) > 1 or truth.min(initial=0) < 0:
        raise RamifyError("Y must hold only 0 (irrelevant) and 1 (relevant)")
    if parent.dtype.kind not in "iu" or parent.min(initial=0) < 0 or parent.max(initial=0) >= n_coarse:
        raise RamifyError(f"parent must hold places from 0 to {n_coarse - 1} among the coarse concepts")
    childless = np.setdiff1d(np.arange(n_coarse), parent)
    if len(childless):
        name = str(coarse[childless[0]])
        raise RamifyError(f"the coarse concept {name!r} has no fine concept below it: remove it, or give it one")
    names = [*fine.tolist(), *coarse.tolist()]
    taxonomy = Taxonomy.from_arrays(names, [*(n_fine + parent), *[-1] * n_coarse], exhaustive=exhaustive)

    labels = known_labels(taxonomy, truth)
    features = as_features(arrays["X"]) if "X" in arrays else None
    named = _name_vectors(taxonomy, arrays.get("V"), arrays.get("Vc"), features)
    ids, split = arrays.get("ids"), arrays.get("split")
    return {"labels": labels, "features": features, "ids": ids, "split": split, "name_vectors": named}


def _name_vectors(
    taxonomy: Taxonomy, fine: NDArray[Any] | None, coarse: NDArray[Any] | None, features: Any
) -> NameVectors | None:
    """The two arrays as one; they lie in the space of the features where they are as wide."""
    if fine is None and coarse is None:
        return None
    if fine is None or coarse is None:
        one, other = ("V", "Vc") if coarse is None else ("Vc", "V")
        raise RamifyError(f"{one} without {other}: name vectors are given for fine and coarse concepts, or for none")
    counts = len(taxonomy.leaves), len(taxonomy.roots)
    if fine.ndim != 2 or coarse.ndim != 2 or (len(fine), len(coarse)) != counts or fine.shape[1] != coarse.shape[1]:
        raise RamifyError(
            f"V has the shape {fine.shape} and Vc {coarse.shape} for {counts[0]} fine and {counts[1]} coarse concepts: "
            f"they must be ({counts[0]}, width) and ({counts[1]}, width)"
        )
    shared = features is not None and features.shape[1] == fine.shape[1]
    return NameVectors.of(taxonomy, np.concatenate([fine, coarse]), shared=shared)


def as_names(values: Any, what: str) -> NDArray[np.str_]:
    """A list of names, of concepts or items, as texts that every file can hold.

    >>> as_names([7, 8], "ids").tolist()
    ['7', '8']
    """
    array = values if isinstance(values, np.ndarray) else np.array(values, object)
    if array.ndim != 1:
        raise RamifyError(f"{what} must be a list of names, not an array of {array.ndim} dimension(s)")
    try:
        names: NDArray[np.str_] = array.astype(str)
        "".join(names).encode()
    except ValueError:
        raise RamifyError(f"{what} must be texts: one holds half of a character, or bytes that are not ASCII") from None
    return names


def known_labels(taxonomy: Taxonomy, truth: NDArray[Any]) -> Labels:
    """Labels of fully known items in a two-level taxonomy: coarse concepts are relevant where a fine one is.

    >>> known_labels(Taxonomy({"animal": ["cat", "dog"]}), np.array([[1, 0], [0, 0]]))
    <Labels: 2 items, 1 coarse and 2 fine concepts, 0 unknown of 2 open entries>
    """
    parents = taxonomy.parents[taxonomy.leaves]
    coarse = np.stack([truth[:, parents == root].any(axis=1) for root in taxonomy.roots], axis=1)
    labels = Labels(taxonomy, coarse)
    place = {root: place for place, root in enumerate(taxonomy.roots.tolist())}
    below_relevant = coarse[:, [place[parent] for parent in parents.tolist()]]
    # What lies below an irrelevant concept is deduced; only where there is nothing else is it said, so that an item
    # with no label at all counts as answered too.
    items, concepts = np.nonzero(below_relevant | ~below_relevant.any(axis=1, keepdims=True))
    labels.record(items, concepts, truth[items, concepts], "imported")
    return labels


def write_bundle(
    path: Path,
    labels: Labels,
    features: Any,
    ids: NDArray[np.str_],
    split: NDArray[np.uint8] | None,
    names: NameVectors | None = None,
) -> None:
    """Write a bundle, where a bundle can hold these labels."""
    taxonomy = labels.taxonomy
    elsewhere = "save it as a folder instead (a name without .npz)"
    parents = taxonomy.parents[taxonomy.leaves]
    if not np.isin(parents, taxonomy.roots).all() or len(taxonomy) != len(taxonomy.leaves) + len(taxonomy.roots):
        raise RamifyError(f"a bundle holds fine concepts directly below coarse ones, and here others are: {elsewhere}")
    truth, coarse = labels.states(), labels.states(concepts=taxonomy.roots)
    if UNKNOWN in truth:
        item, concept = np.argwhere(truth == UNKNOWN)[0]
        raise RamifyError(f"item {ids[item]!s}, concept {taxonomy.path(concept)!r} is unknown: {elsewhere}")
    place_of = {root: place for place, root in enumerate(taxonomy.roots.tolist())}
    parent = np.array([place_of[root] for root in parents.tolist()], np.int16)
    for place, root in enumerate(taxonomy.roots):
        any_fine = np.where((truth[:, parent == place] == RELEVANT).any(axis=1), RELEVANT, IRRELEVANT)
        different = np.flatnonzero(any_fine != coarse[:, place])
        if len(different):
            raise RamifyError(
                f"item {ids[different[0]]!s} is {taxonomy.names[root]!r} but none of its fine concepts, "
                f"which a bundle cannot say: {elsewhere}"
            )
    arrays: dict[str, NDArray[Any]] = {
        "Y": truth.astype(np.uint8),
        "fine": np.array([taxonomy.names[leaf] for leaf in taxonomy.leaves]),
        "coarse": np.array([taxonomy.names[root] for root in taxonomy.roots]),
        "parent": parent,
        "ids": ids,
    }
    if names is not None:
        as_wide = features is not None and features.shape[1] == names.vectors.shape[1]
        if as_wide != names.shared:
            raise RamifyError(
                "a bundle takes name vectors to lie in the space of the features exactly where they are as wide, "
                f"which is not so here: {elsewhere}"
            )
        arrays |= {"V": names.vectors[taxonomy.leaves], "Vc": names.vectors[taxonomy.roots]}
    if split is not None:
        arrays["split"] = split
    if features is not None:
        features = as_features(features)
        arrays["X"] = features.toarray() if scipy.sparse.issparse(features) else features
    write_npz(path, arrays, compress=True)
