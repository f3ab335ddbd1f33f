"""What a person wants to see first of a data set, as plain text."""

from collections.abc import Iterator

import scipy.sparse

from ramify.data import Dataset
from ramify.labels import Labels, Source


def facts(dataset: Dataset) -> list[tuple[str, str]]:
    """Names and facts: items, features, concepts, what is known of the entries and why.

    >>> from ramify.taxonomy import Taxonomy
    >>> for name, fact in facts(Dataset(Labels(Taxonomy({"animal": ["cat", "dog"]}), [[1], [0]]))):
    ...     print(f"{name}: {fact}")
    items: 2
    features: none
    concepts: 1 coarse, 2 fine
    entries: 4 (2 items x 2 fine concepts)
    open: 2, whose parent is not known irrelevant
    known: 2: 0 annotated, 0 imported, 2 deduced
    unknown: 2
    warm items: 1, whose fine entries are all known
    contradictions: none
    """
    labels, taxonomy = dataset.labels, dataset.labels.taxonomy
    leaves = taxonomy.leaves
    by_source = labels.source_counts()[leaves].sum(axis=0).tolist()
    known = ", ".join(f"{by_source[s]} {s.name.lower()}" for s in (Source.ANNOTATED, Source.IMPORTED, Source.DEDUCED))
    inner = len(taxonomy) - len(leaves) - sum(root not in leaves for root in taxonomy.roots)
    exhaustive = taxonomy.exhaustive[len(leaves) :]
    said = " (exhaustive)" if exhaustive.all() and exhaustive.size else " (some exhaustive)" if exhaustive.any() else ""
    n_entries = len(dataset) * len(leaves)
    contradictions = labels.contradictions()
    return [
        ("items", f"{len(dataset)}{_split(dataset)}"),
        ("features", _features(dataset)),
        ("concepts", f"{len(taxonomy.roots)} coarse, {f'{inner} between, ' if inner else ''}{len(leaves)} fine{said}"),
        ("entries", f"{n_entries} ({len(dataset)} items x {len(leaves)} fine concepts)"),
        ("open", f"{labels.open_entries()[leaves].sum()}, whose parent is not known irrelevant"),
        ("known", f"{n_entries - by_source[Source.UNKNOWN]}: {known}"),
        ("unknown", f"{by_source[Source.UNKNOWN]}"),
        ("warm items", f"{len(labels.warm_items())}, whose fine entries are all known"),
        ("contradictions", f"{len(contradictions)}: their entries stay unknown" if contradictions else "none"),
    ]


def concept_rows(labels: Labels) -> Iterator[tuple[str, int, int, int]]:
    """The lines of the printed taxonomy, each with how many items are relevant, irrelevant and unknown.

    >>> from ramify.taxonomy import Taxonomy
    >>> for row in concept_rows(Labels(Taxonomy({"animal": ["cat", "dog"]}), [[1], [0]])):
    ...     print(*row)
    animal 1 1 0
    ├── cat 0 1 1
    └── dog 0 1 1
    """
    relevant, irrelevant, unknown = labels.counts()
    for concept, line in zip(labels.taxonomy.preorder, str(labels.taxonomy).splitlines(), strict=True):
        yield line, int(relevant[concept]), int(irrelevant[concept]), int(unknown[concept])


def _split(dataset: Dataset) -> str:
    if dataset.split is None:
        return ""
    parts = [f"{(dataset.split == mark).sum()} {name}" for mark, name in enumerate(("train", "dev", "test"))]
    return f" ({', '.join(part for part in parts if not part.startswith('0 '))})"


def _features(dataset: Dataset) -> str:
    features = dataset.features
    if features is None:
        return "none"
    kind = "sparse" if scipy.sparse.issparse(features) else "dense"
    return f"{features.shape[1]} columns, {kind} {features.dtype}"
