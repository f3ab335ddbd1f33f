"""Texts as features: `words` against `text`, by what Refine learns from them, and by their names alone.

Two real sets of texts with two levels of labels: the captions of coco_captions (in ../shared/data), and the docstrings
of the packages that are installed here, package over subpackage. `python benchmarks/texts.py [SEEDS]`
"""

import ast
import gzip
import json
import re
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ramify.data import Dataset, benchmark
from ramify.data.bundle import known_labels
from ramify.embed import embedder
from ramify.embed.names import name_vectors
from ramify.experiments.common import OURS
from ramify.experiments.compare import Cell, run_cell
from ramify.metrics import precision_at_k
from ramify.taxonomy import Taxonomy

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
PACKAGES = ("matplotlib", "networkx", "numpy", "pandas", "scipy", "sklearn", "sqlalchemy", "sympy", "torch")
LEAST, MOST = 40, 250  # docstrings of a subpackage
WARM = (80, 320)
TEST = 2500
SECTIONS = re.compile(r"\n\s*(?:Parameters|Args|Arguments|Returns|Attributes|Examples)\b")


def captions() -> tuple[list[str], Dataset]:
    data = Dataset.load(SHARED / "coco_captions.npz")
    with gzip.open(SHARED / "coco_captions_texts.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in file], replace(data, features=None, name_vectors=None, split=None)


def docstrings() -> tuple[list[str], Dataset]:
    """What the public functions and classes of installed packages say of themselves, up to their parameters."""
    said: dict[tuple[str, str], set[str]] = defaultdict(set)
    for package in PACKAGES:
        spec = find_spec(package)
        root = Path(spec.origin).parent if spec and spec.origin else Path()
        for path in sorted(root.rglob("*.py")) if spec else []:
            parts = path.relative_to(root).parts
            if len(parts) > 1 and not parts[0].startswith("_") and not {"tests", "testing"} & set(parts):
                said[package, parts[0]].update(_documented(path))
    random = np.random.default_rng(0)
    chosen = {key: random.permutation(sorted(texts))[:MOST] for key, texts in said.items() if len(texts) >= LEAST}
    siblings = Counter(package for package, _ in chosen)
    chosen = {key: texts for key, texts in sorted(chosen.items()) if siblings[key[0]] > 1}
    coarse = sorted({package for package, _ in chosen})
    parents = [len(chosen) + coarse.index(package) for package, _ in chosen]
    taxonomy = Taxonomy.from_arrays(
        [*(name for _, name in chosen), *coarse], [*parents, *[-1] * len(coarse)], exhaustive=True
    )
    pairs = [(str(text), number) for number, texts in enumerate(chosen.values()) for text in texts]
    truth = np.eye(len(chosen), dtype=int)[[number for _, number in pairs]]
    return [text for text, _ in pairs], Dataset(known_labels(taxonomy, truth))


def _documented(path: Path) -> list[str]:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError):
        return []
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    texts = [SECTIONS.split(ast.get_docstring(node) or "")[0] for node in nodes if not node.name.startswith("_")]
    return [" ".join(text.split())[:600] for text in texts if len(text.split()) >= 8]


def with_features(texts: list[str], data: Dataset, name: str) -> Dataset:
    """The data with features of the texts, fitted without the test part, and vectors of the names."""
    split = np.where(np.random.default_rng(7).permutation(len(texts)) < TEST, 2, 0)
    by = embedder(name)
    by.fit([text for text, part in zip(texts, split, strict=True) if part == 0])
    names, unknown = name_vectors(data.labels.taxonomy, by)
    print(f"  {name}: no word of {len(unknown)} of {len(names.vectors)} concepts is known")
    return replace(data, features=by.rows(texts)[0], split=split, name_vectors=names)


def by_names_alone(data: Dataset) -> list[float]:
    """P@1, 3, 5 of the fine concepts below the known coarse ones, by the cosine of item and name."""
    test = data.take(np.flatnonzero(data.split == 2))
    taxonomy, truth = test.labels.taxonomy, test.labels.states()
    items = test.features / np.maximum(np.linalg.norm(test.features, axis=1, keepdims=True), 1e-9)
    scores = items @ data.name_vectors.vectors[taxonomy.leaves].T
    possible = test.labels.states(concepts=taxonomy.parents[taxonomy.leaves]) == 1
    return [precision_at_k(truth, np.where(possible, scores, -9), k) for k in (1, 3, 5)]


def main(seeds: int) -> None:
    for read in (docstrings, captions):
        texts, data = read()
        print(f"{read.__name__}: {len(texts)} texts, {data.labels.taxonomy!r}", flush=True)
        for name in ("text", "words"):
            whole = with_features(texts, data, name)
            print(f"  {name}, names alone, coarse labels known:", *(f"{p:.3f}" for p in by_names_alone(whole)))
            with tempfile.TemporaryDirectory() as memory:
                for warm in WARM:
                    for how, used in (("without names", replace(whole, name_vectors=None)), ("with names", whole)):
                        cells = [Cell("refine", warm, None, seed) for seed in range(seeds)]
                        results = [
                            run_cell(benchmark(used, warm=warm, seed=cell.seed), cell, OURS, Path(memory))
                            for cell in cells
                        ]
                        means = [np.mean([result[f"p@{k}"] for result in results]) for k in (1, 3, 5)]
                        print(f"  {name}, refine {how}, {warm} warm:", *(f"{p:.3f}" for p in means), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
