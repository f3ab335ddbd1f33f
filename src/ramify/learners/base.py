"""What a learner is: fit, predict and save in scikit-learn's manner, on labels that are mostly unknown."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from sklearn.base import BaseEstimator

from ramify.data.features import as_features
from ramify.errors import RamifyError
from ramify.files import whole_file
from ramify.labels import RELEVANT, Labels
from ramify.learners.scaling import Scaler
from ramify.metrics import precision_at_k
from ramify.nets import pick_device
from ramify.taxonomy import Index, Taxonomy

ROWS = 8192  # items predicted at once
FORMAT = 1  # of saved learners
IN_MEMORY = 1 << 28  # numbers: training inputs up to so many are scaled once, larger ones batch by batch


Logits: TypeAlias = Callable[[dict[str, torch.Tensor], torch.Tensor], torch.Tensor]


@dataclass(kw_only=True, eq=False, repr=False)
class Learner(BaseEstimator):  # type: ignore[misc]
    """The part that all learners share. Parameters are fields; what is learned ends in an underscore."""

    device: str = "auto"
    random_state: int | None = None

    name: ClassVar[str]
    """How the command line calls this learner."""

    # -- what each learner does for itself -----------------------------------------------------------------------------

    def fit(self, X: Any, labels: Labels) -> Self:  # noqa: N803
        """Learn from features and labels of the same items."""
        raise NotImplementedError

    def partial_fit(self, X: Any, labels: Labels) -> Self:  # noqa: N803
        """Go on learning, usually because more labels are known; like ``fit`` when nothing is learned yet."""
        raise NotImplementedError

    def _probabilities(self, x: torch.Tensor) -> torch.Tensor:
        """The probability of every fine concept for scaled inputs."""
        raise NotImplementedError

    def differentiable(self) -> tuple[dict[str, torch.Tensor], Logits]:
        """Parameters, and the fine concepts' logits as a function of them and of scaled inputs, to look ahead with."""
        raise RamifyError(f"{self.name} has nothing that a gradient step could change: choose another strategy")

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """What was learned: arrays, and what fits in JSON."""
        raise NotImplementedError

    def _restore(self, arrays: dict[str, NDArray[Any]], rest: dict[str, Any]) -> None:
        raise NotImplementedError

    # -- what all learners do alike ------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> NDArray[np.float32]:  # noqa: N803
        """The probability of every fine concept: items x fine concepts."""
        features = self._checked(X)
        device = pick_device(self.device)
        blocks = [np.empty((0, len(self.taxonomy_.leaves)), np.float32)]
        with torch.no_grad():
            for first in range(0, features.shape[0], ROWS):
                x = torch.from_numpy(self.scaler_.transform(features[first : first + ROWS])).to(device)
                blocks.append(self._probabilities(x).float().cpu().numpy())
        return np.concatenate(blocks)

    def predict(self, X: Any, *, threshold: float = 0.5, top_k: int | None = None) -> NDArray[np.int8]:  # noqa: N803
        """1 or 0 for all concepts (the fine ones are the first columns): above a threshold, or the ``top_k`` fine ones.

        No concept is predicted without its ancestors.
        """
        probabilities = self.predict_proba(X)
        taxonomy = self.taxonomy_
        chosen = np.zeros((len(probabilities), len(taxonomy)), np.int8)
        if top_k is None:
            chosen[:, taxonomy.leaves] = probabilities >= threshold
        else:
            best = np.argsort(-probabilities, axis=1, kind="stable")[:, :top_k]
            np.put_along_axis(chosen, best, 1, axis=1)
        for concept in taxonomy.preorder[::-1]:
            if taxonomy.parents[concept] >= 0:
                chosen[:, taxonomy.parents[concept]] |= chosen[:, concept]
        return chosen

    def score(self, X: Any, labels: Labels) -> float:  # noqa: N803
        """Precision@1 on the known entries."""
        return precision_at_k(labels.states(), self.predict_proba(X), 1)

    def save(self, path: str | Path) -> None:
        """Write everything to a folder, as safetensors and JSON; ``ramify.load`` reads it."""
        self._check_fitted()
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        arrays, rest = self._state()
        scaler = {"scaler.mean": self.scaler_.mean, "scaler.scale": self.scaler_.scale}
        parameters = self.get_params(deep=False)
        head = {
            "format": FORMAT,
            "learner": self.name,
            "parameters": {key: value for key, value in parameters.items() if key != "module"},
            "own_module": parameters.get("module") is not None,
            "taxonomy": self.taxonomy_.to_dict(),
            "by_row": self.scaler_.by_row,
            "rest": rest,
        }
        text = json.dumps(head, indent=1, default=_plain)
        with whole_file(folder / "arrays.safetensors") as draft:
            save_file({key: np.ascontiguousarray(value) for key, value in {**arrays, **scaler}.items()}, draft)
        with whole_file(folder / "learner.json") as draft:  # last: a folder without it is not a saved learner
            draft.write_text(text, encoding="utf-8")

    def _load(self, head: dict[str, Any], folder: Path) -> Self:
        if head["own_module"] and self.get_params(deep=False)["module"] is None:
            raise RamifyError(f"{folder} was saved with a module of your own: give it again, load(path, module=...)")
        arrays = load_file(folder / "arrays.safetensors")
        self.taxonomy_ = Taxonomy(head["taxonomy"])
        self.scaler_ = Scaler(arrays.pop("scaler.mean"), arrays.pop("scaler.scale"), head["by_row"])
        self._restore(arrays, head["rest"])
        return self

    def _start(self, X: Any, labels: Labels) -> Any:  # noqa: N803
        """Check and scale the training data; a fit begins with it."""
        features = self._matched(X, labels)
        if not len(labels):
            raise RamifyError("there is no item to learn from")
        self.taxonomy_ = labels.taxonomy
        self.scaler_ = Scaler.fitted(features)
        return features

    def _go_on(self, X: Any, labels: Labels, rows: Index | None = None) -> Any:  # noqa: N803
        """Check that data fit what was learned before; of the features all are looked at, or only some rows."""
        if labels.taxonomy != self.taxonomy_:
            raise RamifyError("these labels have another taxonomy than the learner was fitted with: fit a new learner")
        features = self._matched(X, labels, check=rows is None)
        self._check_width(features)
        if rows is not None:
            labels.states(rows)  # refuses items that do not exist
            as_features(features[rows])
        return features

    def _matched(self, X: Any, labels: Labels, *, check: bool = True) -> Any:  # noqa: N803
        features = as_features(X, check=check)
        if features.shape[0] != len(labels):
            raise RamifyError(f"{features.shape[0]} rows of features for {len(labels)} labelled items: they must agree")
        return features

    def _checked(self, X: Any) -> Any:  # noqa: N803
        self._check_fitted()
        features = as_features(X)
        self._check_width(features)
        return features

    def _check_width(self, features: Any) -> None:
        width = len(self.scaler_.mean)
        if features.shape[1] != width:
            raise RamifyError(f"the features have {features.shape[1]} columns, but the learner was fitted with {width}")

    def _draw_seed(self) -> int:
        """The seed of this fit: ``random_state``, or a new one."""
        return int(np.random.SeedSequence().generate_state(1)[0] if self.random_state is None else self.random_state)

    def _check_fitted(self) -> None:
        if not hasattr(self, "taxonomy_"):
            raise RamifyError(f"this {type(self).__name__} has learned nothing yet: call fit first")


def _plain(value: Any) -> Any:
    """What JSON does not know: numpy's numbers and paths."""
    return value.item() if isinstance(value, np.generic) else str(value)


def fingerprint(*parts: Any) -> str:
    """A digest of feature matrices (read block by block), labels, and whatever prints."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, Labels):
            blocks: Iterator[Any] = (
                part.states(slice(n, n + ROWS), np.arange(len(part.taxonomy))) for n in range(0, len(part), ROWS)
            )
        elif hasattr(part, "shape"):
            rows = (part[n : n + ROWS] for n in range(0, part.shape[0], ROWS))
            blocks = (row.toarray() if hasattr(row, "toarray") else np.asarray(row) for row in rows)
        else:
            blocks = iter([np.frombuffer(repr(part).encode(), np.uint8)])
        for block in blocks:
            digest.update(np.ascontiguousarray(block).tobytes())
    return digest.hexdigest()[:24]


class Inputs:
    """Scaled training inputs by item: scaled once where they are few, batch by batch where they are many."""

    def __init__(self, features: Any, scaler: Scaler, device: torch.device) -> None:
        self.features, self.scaler, self.device = features, scaler, device
        small = features.shape[0] * features.shape[1] <= IN_MEMORY
        self.ready = torch.from_numpy(scaler.transform(features)).to(device) if small else None

    def __len__(self) -> int:
        return int(self.features.shape[0])

    def __getitem__(self, items: Index) -> torch.Tensor:
        if self.ready is not None:
            return self.ready[torch.from_numpy(items)]
        return torch.from_numpy(self.scaler.transform(self.features[items])).to(self.device)


def answered_items(labels: Labels) -> Index:
    """The items of which anything was asserted that is not merely coarse: below a root, or of a root that is a leaf."""
    taxonomy = labels.taxonomy
    found = [np.empty(0, np.intp)]
    for first in range(0, len(labels), ROWS):  # most are coarse: all at once would take memory for every one of them
        said = labels.assertions(slice(first, first + ROWS))
        fine = (taxonomy.parents[said.concepts] >= 0) | (said.concepts < len(taxonomy.leaves))
        found.append(np.unique(said.items[fine]))
    return np.concatenate(found)


def warm_items(labels: Labels) -> Index:
    """The warm set D': answered items whose fine entries are all known.

    Items that the coarse labels settle completely do not belong to it: they would be a biased sample.
    """
    return np.intersect1d(answered_items(labels), labels.warm_items())


def only_children(taxonomy: Taxonomy) -> NDArray[np.bool_]:
    """The concepts that are the one child of an exhaustive parent, and so follow it."""
    parents = taxonomy.parents
    siblings = np.bincount(parents[parents >= 0], minlength=len(taxonomy))
    return np.asarray((parents >= 0) & taxonomy.exhaustive[parents] & (siblings[parents] == 1), np.bool_)


def sibling_rates(labels: Labels) -> NDArray[np.float64]:
    """How often each concept is relevant where its parent is, among the items known of, and one item shared by all.

    >>> labels = Labels(Taxonomy({"animal": ["cat", "dog"]}), [[1], [1], [0]])
    >>> labels.record([0, 0], ["cat", "dog"], [1, 0], "annotated")
    >>> sibling_rates(labels)[:2].tolist()
    [0.75, 0.25]
    """
    taxonomy = labels.taxonomy
    items = answered_items(labels)
    below = np.flatnonzero(taxonomy.parents >= 0)
    rates = np.full(len(taxonomy), 0.5)
    states = labels.states(items, below)
    counted = (labels.states(items, taxonomy.parents[below]) == RELEVANT) & (states >= 0)
    size = np.bincount(taxonomy.parents[below], minlength=len(taxonomy))[taxonomy.parents[below]]
    rates[below] = ((counted & (states == RELEVANT)).sum(axis=0) + 1 / size) / (counted.sum(axis=0) + 1)
    rates[only_children(taxonomy)] = 1.0
    return rates
