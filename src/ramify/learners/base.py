"""What a learner is: fit, predict and save in scikit-learn's manner, on labels that are mostly unknown.

A learner also says what it can do, by methods with honest defaults, so that strategies, the loop, a project and the
page ask the learner and never its type. A new one needs ``fit``, ``partial_fit``, ``_probabilities``, ``_state`` and
``_restore``; ``ramify.checks`` says whether it keeps its word.
"""

import hashlib
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from safetensors.numpy import load_file, save_file

from ramify.data import Dataset, NameVectors
from ramify.data.features import as_features
from ramify.errors import RamifyError
from ramify.files import whole_file
from ramify.labels import Labels, as_labels
from ramify.learners.cache import Cache, ToKeep
from ramify.learners.evidence import Evidence, Floats
from ramify.learners.inner import put_in, with_inner
from ramify.learners.scaling import Scaler
from ramify.learners.search import SearchSpace
from ramify.learners.warm import warm_items
from ramify.metrics import precision_at_k
from ramify.nets import pick_device
from ramify.parameters import Parameters
from ramify.progress import Report, showing
from ramify.taxonomy import Index, Taxonomy

ROWS = 8192  # items predicted at once, at most
RUN = 2048  # items that a net is run over at once: memory for more would be fetched from the system each time
ENTRIES = 1 << 22  # and entries: with very many concepts, fewer items
FORMAT = 2  # of saved learners


Logits: TypeAlias = Callable[[dict[str, torch.Tensor], torch.Tensor, torch.Tensor], torch.Tensor]
"""From parameters, scaled inputs, and what is known of these items (items x all concepts) to fine concepts' logits."""


@dataclass(kw_only=True, eq=False, repr=False)
class Learner(Parameters):
    """The part that all learners share. Parameters are fields; what is learned ends in an underscore."""

    device: str = "auto"
    """Where nets run: "auto" (CUDA where there is one), "cpu" or "cuda"."""
    random_state: int | None = None
    """The seed; None draws another one for each fit."""
    _report: Report | None = field(default=None, init=False)

    name: ClassVar[str]
    """How the command line calls this learner."""
    learns_at_once: ClassVar[bool] = False
    """Whether ``partial_fit(X, labels, items=changed)`` takes in an answer exactly and in milliseconds."""
    uses_names: ClassVar[bool] = False
    """Whether ``fit`` learns from the vectors of the concepts' names; else it ignores them."""
    stands_in: ClassVar[bool] = False
    """Whether it only goes on predicting until a new one is trained, since the taxonomy was changed: ``Carried``."""
    search_space: ClassVar[SearchSpace] = {}
    """What is worth tuning on a validation part; nothing for a learner that is meant to be used as it is."""

    @classmethod
    def qualified_name(cls) -> str:
        """The name by which ``ramify.load`` finds this class again: outside of Ramify, ``module:Class``."""
        own = cls.__module__.startswith("ramify.")
        return cls.name if own else f"{cls.__module__}:{cls.__qualname__}"

    # -- what each learner does for itself -----------------------------------------------------------------------------

    def fit(
        self,
        X: Any,  # noqa: N803
        labels: Labels,
        *,
        names: NameVectors | None = None,
        validation: Dataset | None = None,
        truth: Labels | None = None,
    ) -> Self:
        """Learn from features and labels of the same items.

        ``names`` are vectors of the concepts' names, for learners that use them (``uses_names``); others ignore them.
        ``validation`` is what to stop early on, for learners that do; ``truth`` (all labels) is only ever reported on.
        """
        raise NotImplementedError

    def partial_fit(self, X: Any, labels: Labels, *, items: ArrayLike | None = None) -> Self:  # noqa: N803
        """Go on learning, usually because more labels are known; like ``fit`` when nothing is learned yet.

        ``items`` says whose labels have changed, for learners that need not look at the others.
        """
        raise NotImplementedError

    def _probabilities(self, x: torch.Tensor) -> torch.Tensor:
        """The probability of every fine concept for scaled inputs."""
        raise NotImplementedError

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """What was learned: arrays, and what fits in JSON."""
        raise NotImplementedError

    def _restore(self, arrays: dict[str, NDArray[Any]], rest: dict[str, Any]) -> None:
        raise NotImplementedError

    # -- what a learner can do -----------------------------------------------------------------------------------------

    def can_begin(self, labels: Labels) -> bool:
        """Whether enough is known to fit."""
        return True

    def go_on(self, X: Any, labels: Labels, *, restart: bool, epochs: int) -> Self:  # noqa: N803
        """Learn from a round's answers; what is trained in epochs adds some, or begins anew where ``restart``."""
        return self.partial_fit(X, labels)

    def prepare(self, X: Any, labels: Labels) -> None:  # noqa: N803
        """Put what does not depend on fine labels into the folder ``memory``, for a learner with that parameter."""

    def changed_items(self, labels: Labels, items: Index) -> Index:
        """Where it learns at once: which of these and of the items it learned from are known differently now."""
        return np.empty(0, np.intp)

    def learned_items(self) -> Index | None:
        """The items whose fine labels it learned from; None where it does not remember them."""
        return None

    def outgrown(self, labels: Labels) -> bool:
        """Whether what it learned at first, such as a coarse stage, no longer fits what is known now: train it anew."""
        return False

    def opinions(self, X: Any, labels: Labels) -> NDArray[np.float32]:  # noqa: N803
        """The probability of every concept given all that is known of the item: items x all concepts, fine ones first.

        Of a concept that is known itself, given what is known of those above it, whatever its own label says.
        """
        return put_in(with_inner(self.predict_proba(X), self.taxonomy_), labels)

    def beliefs(self, X: Any, labels: Labels) -> NDArray[np.float32]:  # noqa: N803
        """The probability of every concept given all labels: the known ones as they are."""
        states = labels.states(concepts=np.arange(len(labels.taxonomy)))
        return np.where(states >= 0, states, self.opinions(X, labels)).astype(np.float32)

    def pseudo_labels(self, items: Index, concepts: Index, otherwise: NDArray[np.float32]) -> NDArray[np.float32]:
        """The labels that it gave unknown entries of its training items itself, and another value where it has none."""
        return otherwise

    def estimate(self) -> dict[str, float]:
        """Precision@k without held-out data; empty where it cannot tell."""
        return {}

    def left_out(self, items: Index, states: NDArray[np.int8], *, coarse_known: bool) -> Floats | None:
        """The probability of every concept of items that it learned from, by a model that did not see their answers.

        Given some states of all concepts (items x concepts), as ``opinions`` are; without ``coarse_known``, as
        ``predict_proba`` is. None where the learner cannot leave answers out.
        """
        return None

    def differentiable(self) -> tuple[dict[str, torch.Tensor], Logits]:
        """Parameters, and the fine concepts' logits as a function of them, of scaled inputs and of what is known.

        A learner whose opinions use what is known of an item gives the logits of its opinions.
        """
        raise RamifyError(f"{self.name} has nothing that a gradient step could change: choose another strategy")

    def is_layered(self) -> bool:
        """Whether ``differentiable`` is a plain MLP, its parameters the weight and bias of each layer in turn."""
        return False

    def evidence(
        self,
        X: Any,  # noqa: N803
        labels: Labels,
        sample: Index,
        directions: int,
        cache: Cache | None = None,
    ) -> Evidence | None:
        """What an answer speaks about, how noisy it is and where it matters; None where the learner cannot tell.

        The leading directions are those of a sample of items. With a cache nothing is run, and ``X`` is not looked at.
        """
        return None

    def to_cache(self, X: Any, labels: Labels) -> ToKeep:  # noqa: N803
        """What is to be kept of all items, so that asking and browsing never run a net."""
        return ToKeep({}, lambda items: {"predictions": self.opinions(X[items], labels.take(items)).astype(np.float16)})

    def cached_opinions(self, cache: Cache, labels: Labels, items: Index) -> Floats:
        """``opinions`` as they are now, from the cache alone, as far as it tells."""
        return put_in(cache["predictions"][items].astype(np.float64), labels, items)

    def guesses(self, cache: Cache, items: Index) -> Floats:
        """How probable each concept is, fine ones first, given that its parent is relevant; from the cache alone."""
        return cache["predictions"][items].astype(np.float64)

    def unseen(self, cache: Cache, items: Index, states: NDArray[np.int8]) -> Floats | None:
        """``cached_opinions`` by a model that saw no label of the item it speaks of, given some states of all concepts.

        None where the learner cannot leave labels out, or the cache does not tell.
        """
        return None

    # -- what all learners do alike ------------------------------------------------------------------------------------

    def watch(self, report: Report | None) -> Self:
        """Tell ``report(what, done, total)`` from now on how far a fit is, instead of showing it where ``verbose``."""
        self._report = report
        return self

    @contextmanager
    def _reporting(self) -> Iterator[Report]:
        if self._report is not None:
            yield self._report
            return
        with showing(getattr(self, "verbose", False)) as report:
            yield report

    def predict_proba(self, X: Any) -> NDArray[np.float32]:  # noqa: N803
        """The probability of every fine concept: items x fine concepts."""
        features = self._checked(X)
        blocks = [np.empty((0, len(self.taxonomy_.leaves)), np.float32)]
        size = min(RUN, at_once(len(self.taxonomy_)))
        with torch.no_grad():
            for first in range(0, features.shape[0], size):
                block = self._probabilities(self.inputs(features, slice(first, first + size)))
                blocks.append(block.float().cpu().numpy())
        return np.concatenate(blocks)

    def inputs(self, X: Any, items: Index | slice = slice(None)) -> torch.Tensor:  # noqa: N803
        """The features of some items, scaled, where nets run."""
        return self.scaler_.inputs(X[items], pick_device(self.device))

    @property
    def classes_(self) -> NDArray[np.str_]:
        """The paths of the fine concepts, in the order of the columns of ``predict_proba``."""
        return np.array([self._fitted_taxonomy().path(leaf) for leaf in self._fitted_taxonomy().leaves])

    @property
    def n_features_in_(self) -> int:
        """The number of features that the learner was fitted with."""
        self._fitted_taxonomy()
        return len(self.scaler_.mean)

    def _fitted_taxonomy(self) -> Taxonomy:
        if not self.is_fitted:  # an AttributeError, as scikit-learn expects of what is not learned yet
            raise AttributeError(f"this {type(self).__name__} has learned nothing yet: call fit first")
        return self.taxonomy_

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
        """Precision@1 on the items whose fine entries are all known; says so where others were left out."""
        features, items = self._matched(X, labels), np.arange(len(labels))
        if len(labels.warm_items()) < len(labels):
            items = warm_items(labels)  # without those that coarse labels settle alone: they are a biased sample
            if not len(items):
                raise RamifyError("no item has all its fine entries known, so there is nothing to score on")
            left_out = f"scored on the {len(items)} of {len(labels)} items whose fine entries are all known"
            warnings.warn(left_out, stacklevel=2)
        return precision_at_k(labels.states(items), self.predict_proba(features[items]), 1)

    def save(self, path: str | Path) -> None:
        """Write everything to a folder, as safetensors and JSON; ``ramify.load`` reads it."""
        self.check_fitted()
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        arrays, rest = self._state()
        scaler = {"scaler.mean": self.scaler_.mean, "scaler.scale": self.scaler_.scale}
        parameters = self.get_params(deep=False)
        head = {
            "format": FORMAT,
            "learner": self.qualified_name(),
            "parameters": {key: value for key, value in parameters.items() if key != "module"},
            "own_module": parameters.get("module") is not None,
            "taxonomy": self.taxonomy_.to_dict(),
            "by_row": self.scaler_.by_row,
            "rest": rest,
        }
        text = json.dumps(head, indent=1, default=as_json)
        with whole_file(folder / "arrays.safetensors") as draft:
            save_file({key: np.ascontiguousarray(value) for key, value in {**arrays, **scaler}.items()}, draft)
        with whole_file(folder / "learner.json") as draft:  # last: a folder without it is not a saved learner
            draft.write_text(text, encoding="utf-8")

    def restored(self, head: dict[str, Any], folder: Path) -> Self:
        """Take up what ``save`` wrote; ``ramify.load`` calls it."""
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

    def _continued(self, X: Any, labels: Labels, rows: Index | None = None) -> Any:  # noqa: N803
        """Check that data fit what was learned before; of the features all are looked at, or only some rows."""
        if as_labels(labels).taxonomy != self.taxonomy_:
            raise RamifyError("these labels have another taxonomy than the learner was fitted with: fit a new learner")
        features = self._matched(X, labels, check=rows is None)
        self.check_width(features)
        if rows is not None:
            labels.states(rows)  # refuses items that do not exist
            as_features(features[rows])
        return features

    def _matched(self, X: Any, labels: Labels, *, check: bool = True) -> Any:  # noqa: N803
        as_labels(labels)
        features = as_features(X, check=check)
        if features.shape[0] != len(labels):
            raise RamifyError(f"{features.shape[0]} rows of features for {len(labels)} labelled items: they must agree")
        return features

    def _checked(self, X: Any) -> Any:  # noqa: N803
        self.check_fitted()
        features = as_features(X)
        self.check_width(features)
        return features

    def check_width(self, features: Any) -> None:
        """Refuse features of another width than it was fitted with."""
        width = len(self.scaler_.mean)
        if features.shape[1] != width:
            raise RamifyError(f"the features have {features.shape[1]} columns, but the learner was fitted with {width}")

    def _draw_seed(self) -> int:
        """The seed of this fit: ``random_state``, or a new one."""
        return int(np.random.SeedSequence().generate_state(1)[0] if self.random_state is None else self.random_state)

    @property
    def is_fitted(self) -> bool:
        """Whether it has learned anything."""
        return hasattr(self, "taxonomy_")

    def check_fitted(self) -> None:
        """Refuse to be asked before anything was learned."""
        if not self.is_fitted:
            raise RamifyError(f"this {type(self).__name__} has learned nothing yet: call fit first")


def as_json(value: Any) -> Any:
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


def at_once(concepts: int) -> int:
    """How many items are predicted at once, so that their probabilities fit into memory.

    >>> at_once(80), at_once(10_000)
    (8192, 419)
    """
    return max(1, min(ROWS, ENTRIES // concepts))


class Inputs:
    """Scaled training inputs by item, batch by batch: no slower than to gather them, and no copy of all features."""

    def __init__(self, features: Any, scaler: Scaler, device: torch.device) -> None:
        self.features, self.scaler, self.device = features, scaler, device

    def __len__(self) -> int:
        return int(self.features.shape[0])

    def __getitem__(self, items: Index) -> torch.Tensor:
        return self.scaler.inputs(self.features[items], self.device)
