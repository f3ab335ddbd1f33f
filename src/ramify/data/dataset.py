"""Dataset: ids, features and labels of the same items, and the two forms they are kept in on disk."""

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from ramify.data.bundle import as_names, read_bundle, write_bundle
from ramify.data.features import as_features
from ramify.data.name_vectors import NameVectors
from ramify.errors import RamifyError
from ramify.files import disk_troubles, read_npz, write_npz
from ramify.labels import Labels, as_labels
from ramify.taxonomy import Index

TRAIN, DEV, TEST = 0, 1, 2
FORMAT = 1  # of the folder; raised when a reader of the old form would misread the new one


@dataclass(frozen=True, eq=False)
class Dataset:
    """Items with their ids, features, labels, and optionally a payload (text or picture path) and a split.

    >>> from ramify.taxonomy import Taxonomy
    >>> labels = Labels(Taxonomy({"animal": ["cat", "dog"]}), [[1], [0]])
    >>> dataset = Dataset(labels, features=[[0.5, 1.0], [2.0, 0.0]], ids=["a", "b"])
    >>> len(dataset), dataset.take([1]).ids.tolist()
    (2, ['b'])
    """

    labels: Labels
    """What is known of every item."""
    features: Any = None
    """Items x columns: a numpy array, a memory map or a CSR array; None where only labels are known."""
    ids: Any = None
    """Unique names of the items, as an array of text; 0, 1, 2, ... where none are given."""
    payload: Sequence[str] | None = None
    """The text or the picture's path of every item, where there is one to show."""
    split: NDArray[np.uint8] | None = None
    """0 train, 1 dev, 2 test, where the data come with a split."""
    name_vectors: NameVectors | None = None
    """Vectors for the names of all concepts, where there are any."""

    def __post_init__(self) -> None:
        n_items = len(as_labels(self.labels))
        put = object.__setattr__
        put(self, "ids", np.arange(n_items).astype(str) if self.ids is None else as_names(self.ids, "ids"))
        if self.features is not None:
            # A memory map may be larger than memory, so it is not read through here; ``save`` does that.
            put(self, "features", as_features(self.features, check=not isinstance(self.features, np.memmap)))
        if self.split is not None:
            put(self, "split", _marks(self.split))
        if self.name_vectors is not None:
            _check_names(self.name_vectors, self.labels, self.features)
        parts = {"features": self.features, "ids": self.ids, "payloads": self.payload, "split marks": self.split}
        for name, part in parts.items():
            count = n_items if part is None else part.shape[0] if hasattr(part, "shape") else len(part)
            if count != n_items:
                raise RamifyError(f"{count} {name} for {n_items} labelled items: each item needs one of both")
        named, times = np.unique(self.ids, return_counts=True)
        if (times > 1).any():
            raise RamifyError(f"the id {str(named[times > 1][0])!r} stands {times.max()} times: ids must be unique")

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, items: ArrayLike) -> "Dataset":
        """The data of some items, in their order."""
        chosen: Index = np.asarray(items, np.intp)
        return Dataset(
            self.labels.take(chosen),
            None if self.features is None else self.features[chosen],
            self.ids[chosen],
            None if self.payload is None else [self.payload[item] for item in chosen],
            None if self.split is None else self.split[chosen],
            self.name_vectors,
        )

    def with_labels(self, labels: Labels) -> "Dataset":
        """The same items with other labels, of as many concepts where these have name vectors."""
        return replace(self, labels=labels)

    def not_exhaustive(self) -> "Dataset":
        """The same data, with no concept declared to have exhaustive children: the paper's own setting."""
        taxonomy = self.labels.taxonomy
        if not taxonomy.exhaustive.any():
            return self
        return self.with_labels(self.labels.migrate(taxonomy.not_exhaustive(), np.arange(len(taxonomy))))

    # -- files -------------------------------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | Path, *, exhaustive: bool = True) -> "Dataset":
        """Read an .npz bundle or a folder that ``save`` wrote.

        A bundle stores no coarse labels: a coarse concept is relevant where any of its fine ones is, so its children
        are declared exhaustive; a folder holds what was declared when it was saved. ``exhaustive=False`` is the
        paper's own setting for both, where only irrelevance is deduced.
        """
        path = Path(path)
        if path.is_dir():
            data = cls._load_folder(path)
            return data if exhaustive else data.not_exhaustive()
        if path.suffix != ".npz":
            wrong = "is no .npz bundle" if path.exists() else "does not exist"
            raise RamifyError(f"{path} {wrong}: give an .npz bundle or a folder that Ramify saved")
        try:
            return cls(**read_bundle(path, exhaustive))
        except RamifyError as error:
            raise error if str(error).startswith(str(path)) else RamifyError(f"{path}: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write a bundle, where the name ends in .npz, or a folder whose features can be memory-mapped.

        A bundle holds fully known, two-level labels only; a folder holds everything.
        """
        path = Path(path)
        if path.suffix == ".npz":
            if self.payload is not None:
                raise RamifyError("a bundle cannot hold texts or picture paths: save it as a folder instead")
            write_bundle(path, self.labels, self.features, self.ids, self.split, self.name_vectors)
            return
        if path.exists() and not (path / "dataset.json").is_file() and any(path.iterdir() if path.is_dir() else [path]):
            raise RamifyError(f"{path} holds something else: give a new folder, or one that Ramify saved")
        draft, old = (path.with_name(f".{path.name}.{os.getpid()}.{kind}") for kind in ("draft", "old"))
        try:
            with disk_troubles(path):
                self._write_folder(draft)
                if path.exists():
                    path.rename(old)
                draft.rename(path)
        finally:
            if old.exists() and not path.exists():  # interrupted between the two: the old data stay
                old.rename(path)
            shutil.rmtree(draft, ignore_errors=True)
            shutil.rmtree(old, ignore_errors=True)

    def _write_folder(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        if self.features is not None:
            features = as_features(self.features)
            if scipy.sparse.issparse(features):
                scipy.sparse.save_npz(folder / "features.npz", features)
            else:
                np.save(folder / "features.npy", features, allow_pickle=False)
        self.labels.save(folder / "labels.npz")
        np.save(folder / "ids.npy", self.ids, allow_pickle=False)
        if self.split is not None:
            np.save(folder / "split.npy", self.split, allow_pickle=False)
        if self.payload is not None:
            (folder / "payload.json").write_text(
                json.dumps([str(text) for text in self.payload], ensure_ascii=False), encoding="utf-8"
            )
        if self.name_vectors is not None:
            names = self.name_vectors
            write_npz(folder / "name_vectors.npz", {"vectors": names.vectors, "shared": np.array(names.shared)})
        (folder / "dataset.json").write_text(json.dumps({"format": FORMAT, "items": len(self)}) + "\n")

    @classmethod
    def _load_folder(cls, folder: Path) -> "Dataset":
        try:
            head = dict(json.loads((folder / "dataset.json").read_text()))
        except (OSError, TypeError, ValueError):
            raise RamifyError(f"{folder} is not a data set that Ramify saved: it has no dataset.json") from None
        if head.get("format") != FORMAT:
            raise RamifyError(f"{folder} has the format {head.get('format')}: this version of Ramify reads {FORMAT}")
        try:
            features: Any = None
            if (folder / "features.npy").exists():
                features = np.load(folder / "features.npy", mmap_mode="r", allow_pickle=False)
            elif (folder / "features.npz").exists():
                features = scipy.sparse.csr_array(scipy.sparse.load_npz(folder / "features.npz"))
            payload, split, names = (folder / name for name in ("payload.json", "split.npy", "name_vectors.npz"))
            return cls(
                Labels.load(folder / "labels.npz"),
                features,
                np.load(folder / "ids.npy", allow_pickle=False),
                list(json.loads(payload.read_text(encoding="utf-8"))) if payload.exists() else None,
                np.load(split, allow_pickle=False) if split.exists() else None,
                NameVectors(**read_npz(names, ("vectors", "shared"))) if names.exists() else None,  # type: ignore[arg-type]
            )
        except RamifyError as error:
            raise error if str(error).startswith(str(folder)) else RamifyError(f"{folder}: {error}") from None
        except Exception as error:  # a cut-off .npy, .npz or .json raises many kinds
            raise RamifyError(f"{folder}: a file of this data set is damaged ({error}): copy it again") from None


def _check_names(names: Any, labels: Labels, features: Any) -> None:
    if not isinstance(names, NameVectors):
        raise RamifyError(f"name vectors are a ramify.NameVectors, not {type(names).__name__}: build it from them")
    names.check(labels.taxonomy, None if features is None else features.shape[1])


def _marks(split: Any) -> NDArray[np.uint8]:
    marks = np.asarray(split)
    wrong = marks[~np.isin(marks, (TRAIN, DEV, TEST))]
    if marks.ndim != 1 or wrong.size:
        said = wrong.flat[0] if wrong.size else f"{marks.ndim} dimensions"
        raise RamifyError(f"the split holds {said}: it must be 0 (train), 1 (dev) or 2 (test)")
    return marks.astype(np.uint8)


def as_dataset(data: Any) -> Dataset:
    """The data set itself; whatever else is given in its place is refused with what to do.

    >>> as_dataset(([[0.5]], [[1]]))
    Traceback (most recent call last):
    ...
    ramify.errors.RamifyError: data are a ramify.Dataset, not tuple: build it with Dataset(labels, features)
    """
    if isinstance(data, Dataset):
        return data
    raise RamifyError(f"data are a ramify.Dataset, not {type(data).__name__}: build it with Dataset(labels, features)")
