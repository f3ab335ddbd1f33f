"""Project: a project folder's whole life in Python, for notebooks and scripts; the command line does the same."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.taxonomy import ConceptRef, Taxonomy

if TYPE_CHECKING:
    from ramify.project.live.shapes import Quality, Status
    from ramify.project.store.outlook import Outlook
    from ramify.project.transfer.answer_table import Answered
    from ramify.project.transfer.importing import Added

__all__ = ["Concepts", "Project"]

READING = ("images", "skip_unreadable", "coarse_only", "how")  # what is said of reading beside a table's layout


class Project:
    """A folder with items, labels, answers and models that loses nothing.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> pets = Project.create(Path(folder.name, "pets"), {"animal": ["cat", "dog"]})
    >>> texts = ["a cat that purrs", "a dog that barks", "the dog barks", "one more cat"]
    >>> pets.add({"id": list("abcd"), "text": texts, "labels": ["animal"] * 4}).added
    4
    >>> pets.answer([{"id": "a", "concept": "cat", "answer": "yes"}], annotator="ann").saved
    1
    >>> pets.train(steps=5, hidden=(4, 4))
    1
    >>> pets.suggest(1)["choices"].tolist() in (["cat;dog"], ["dog"])
    True
    >>> pets.predict().set_index("id")["animal > cat"].loc["a"].item()
    1.0
    >>> pets
    <Project pets: 4 items, 1 answers, 7 entries unknown>
    >>> folder.cleanup()
    """

    def __init__(self, folder: str | Path) -> None:
        from ramify.project.store.store import Store

        self.folder = Path(folder)
        Store(self.folder).close()  # refuses what is none

    @classmethod
    def create(
        cls,
        folder: str | Path,
        taxonomy: Taxonomy | Mapping[str, Any] | str | Path,
        *,
        templates: Iterable[str] | None = None,
    ) -> "Project":
        """Start a project with the concepts of a taxonomy, a mapping or a file.

        ``templates`` are what the names of concepts are put into when they are read, such as "a photo of a {}".
        """
        from ramify.project.transfer.importing import init

        init(folder, taxonomy, templates).close()
        return cls(folder)

    def add(self, table: Any, *, features: Any = None, embed: str | None = None, **layout: Any) -> "Added":
        """Add items: any source that the command line takes, a DataFrame, a mapping of columns or a list of mappings.

        Features are given, or made from texts or pictures. Layout is what ``ramify.readers.table.Layout`` says, and
        ``images``, ``skip_unreadable`` and ``coarse_only`` are as on the command line; ``how`` is its ``--engine``,
        here and below.
        """
        from ramify.project.store.store import Store
        from ramify.project.transfer.importing import add
        from ramify.readers.table import Layout

        reading = {name: layout.pop(name) for name in READING if name in layout}
        with Store(self.folder) as store:
            return add(store, table, features=features, embed=embed, layout=_made(Layout, layout), **reading)

    def embed_again(self, embed: str | None = None, *, features: Any = None, how: str = "serial") -> str:
        """Make the features of all items anew, by another embedder or from an array; answers stay, train afterwards.

        Returns how they were made.
        """
        from ramify.project.store.store import Store
        from ramify.project.transfer.again import embed_again

        with Store(self.folder) as store:
            return embed_again(store, embed, features=features, how=how)

    def names(self, source: Any, *, other_space: bool = False) -> int:
        """Give the vectors of all concepts' names: an .npz file, or a mapping of concepts to vectors; returns how many.

        They lie in the space of the features where they are as wide, unless ``other_space`` says that they do not.
        """
        from ramify.project.store.store import Store
        from ramify.project.transfer.names import give_names

        with Store(self.folder) as store:
            return give_names(store, source, other_space=other_space)

    def train(
        self,
        learner: str | None = None,
        *,
        templates: Iterable[str] | None = None,
        verbose: bool = False,
        **parameters: Any,
    ) -> int:
        """Train a new model on everything that is known; returns its number.

        A learner, its parameters and templates of names hold from now on; by default they stay as they were, at first
        ``refine``.
        """
        from ramify.progress import showing
        from ramify.project.live.training import train
        from ramify.project.store.store import Store

        with Store(self.folder) as store, showing(verbose) as report:
            return train(store, learner=learner, parameters=parameters, templates=templates, report=report)

    def suggest(
        self,
        n: int = 20,
        *,
        annotator: str = "notebook",
        single: bool = False,
        strategy: str | None = None,
        how: str | None = None,
        audit: float | None = None,
    ) -> Any:
        """The questions whose answers would help most, as a DataFrame whose column ``answer`` is to be filled.

        A row asks which of its ``choices`` apply to an item (write their names, or none, or skip); with ``single`` a
        row asks about one concept (yes, no or skip). ``answer`` takes the table in. With ``how`` all items are looked
        at. A share of them, ``audit``, is drawn at random, to tell how good all labels are: by default as before, at
        first one in ten.
        """
        from ramify.project.live.service import Service
        from ramify.project.live.suggesting import suggest

        with Service(self.folder, strategy=strategy, audit=audit, background=False, engine=how) as service:
            return _frame(suggest(service, annotator, n, single=single))

    def suspects(self, n: int = 100, concept: str | None = None) -> Any:
        """The labels, imported or answered, that a model which did not see them contradicts most strongly.

        A DataFrame, the most doubtful first; yes or no in its column ``answer`` keeps or changes a label once
        ``answer`` has taken the table in, and settles it.
        """
        from ramify.project.live.suspecting import list_suspects
        from ramify.project.store.store import Store

        with Store(self.folder) as store:
            return _frame(list_suspects(store, n, concept)[0])

    def answer(self, table: Any, *, annotator: str | None = None) -> "Answered":
        """Take in answers: a file, a DataFrame, a mapping of columns or a list of mappings; twice counts once."""
        from ramify.project.store.store import Store
        from ramify.project.transfer.answer_table import answer_from_table

        with Store(self.folder) as store:
            return answer_from_table(store, table, annotator=annotator)

    def predict(
        self,
        table: Any = None,
        *,
        threshold: float | None = None,
        precision: float | None = None,
        recall: float | None = None,
        **reading: Any,
    ) -> Any:
        """Fine labels and probabilities as a DataFrame, of the project's own items or of new ones.

        Labels are chosen from a threshold on, by default one for each concept; or so that a precision or a recall of
        the predicted ones holds with 95 % confidence, by the audit.
        """
        from ramify.project.store.store import Store
        from ramify.project.transfer.exporting import prediction_columns, prediction_tables
        from ramify.project.transfer.predicting import predicting
        from ramify.readers.table import Layout

        passed: dict[str, Any] = {
            name: reading.pop(name) for name in ("features", "images", "skip_unreadable", "how") if name in reading
        }
        with Store(self.folder) as store:
            columns: dict[str, list[Any]] = {name: [] for name in prediction_columns(store.taxonomy)}
            how = {"layout": _made(Layout, reading), **passed}
            with predicting(store, table, threshold=threshold, precision=precision, recall=recall, **how) as predicted:
                for block in prediction_tables(store.taxonomy, predicted.ids, predicted.blocks):
                    for name, values in block.items():
                        columns[name] += values
        return _frame(columns)

    def labels(self) -> Labels:
        """All labels as they are known now: imported, answered, deduced."""
        from ramify.project.store.store import Store

        with Store(self.folder) as store:
            return store.labels()

    @property
    def taxonomy(self) -> "Concepts":
        """The concepts, to be looked at and changed."""
        return Concepts(self.folder)

    def status(self) -> "Status":
        """How far the project is."""
        from ramify.project.live.status import read_status
        from ramify.project.store.store import Store

        with Store(self.folder) as store:
            return read_status(store)

    def quality(self) -> "Quality":
        """How good the labels of all items are now, answered and predicted, by questions that were drawn at random."""
        from ramify.project.live.judging import measure
        from ramify.project.store.store import Store

        with Store(self.folder) as store:
            return measure(store)

    def serve(self, **options: Any) -> None:
        """Serve the annotation page until it is interrupted; the options are those of ``ramify serve``."""
        from ramify.web import serve

        serve(self.folder, **options)

    def __repr__(self) -> str:
        status = self.status()
        return (
            f"<Project {self.folder.name}: {status.items} items, {status.answers} answers, "
            f"{status.unknown} entries unknown>"
        )


class Concepts:
    """The taxonomy of a project: print it, and change it. Each change says what it does to labels.

    A concept is meant by its name, alias or path. With ``dry_run`` a change is only told; ``undo`` takes the last back.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> damage = Project.create(Path(folder.name, "damage"), {"crack": None, "dent": ["deep", "flat"]})
    >>> told = damage.taxonomy.split("crack", ["on glass", "in paint"], dry_run=True)
    >>> told.said, damage.taxonomy.now.names
    ("'crack' is split into 'on glass', 'in paint'", ('crack', 'deep', 'flat', 'dent'))
    >>> told = damage.taxonomy.split("crack", ["on glass", "in paint"])
    >>> damage.taxonomy
    crack
    ├── on glass
    └── in paint
    dent
    ├── deep
    └── flat
    >>> damage.taxonomy.undo().said
    "taken back: 'crack' is split into 'on glass', 'in paint'"
    >>> folder.cleanup()
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def now(self) -> Taxonomy:
        """The taxonomy as it is now."""
        from ramify.project.store.store import Store

        with Store(self.folder) as store:
            return store.taxonomy

    def __repr__(self) -> str:
        return str(self.now)

    def rename(self, concept: ConceptRef, name: str, *, dry_run: bool = False) -> "Outlook":
        """Call a concept otherwise; all that is said of it stays."""
        return self._change("rename", [concept], [name], dry_run)

    def merge(self, concepts: Iterable[ConceptRef], name: str, *, dry_run: bool = False) -> "Outlook":
        """Make siblings one: yes where one of them was, no where all of them were."""
        return self._change("merge", list(concepts), [name], dry_run)

    def move(self, concept: ConceptRef, below: ConceptRef | None, *, dry_run: bool = False) -> "Outlook":
        """Put a concept, with all below it, below another one, or (None) among the roots."""
        return self._change("move", [concept], [], dry_run, below=below)

    def add(self, names: Iterable[str], below: ConceptRef | None = None, *, dry_run: bool = False) -> "Outlook":
        """Add concepts of which nothing is known yet."""
        return self._change("add", [] if below is None else [below], list(names), dry_run)

    def remove(self, concept: ConceptRef, *, dry_run: bool = False) -> "Outlook":
        """Take a concept away with all below it; what is said of it is kept for an undo."""
        return self._change("remove", [concept], [], dry_run)

    def split(
        self, concept: ConceptRef, finer: Iterable[str], *, exhaustive: bool = False, dry_run: bool = False
    ) -> "Outlook":
        """Divide a fine concept; what is known of it stays known."""
        return self._change("split", [concept], list(finer), dry_run, exhaustive=exhaustive)

    def describe(
        self,
        concept: ConceptRef,
        description: str | None = None,
        *,
        aliases: Iterable[str] | None = None,
        exhaustive: bool | None = None,
        dry_run: bool = False,
    ) -> "Outlook":
        """Say something else of a concept; what is None stays."""
        said = {"description": description, "aliases": None if aliases is None else list(aliases)}
        return self._change("describe", [concept], [], dry_run, exhaustive=exhaustive, **said)

    def undo(self, *, dry_run: bool = False) -> "Outlook":
        """Take back the last change that stands: all is as if it had not been."""
        from ramify.project.store.store import Store

        with Store(self.folder) as store:
            return store.changes.undo(dry_run=dry_run)

    def _change(self, kind: Any, concepts: list[ConceptRef], names: list[str], dry_run: bool, **said: Any) -> "Outlook":
        from ramify.project.store.changes import Change
        from ramify.project.store.store import Store

        with Store(self.folder) as store:
            return store.changes.change(Change(kind, concepts, names, **said), dry_run=dry_run)


def _made(kind: Any, settings: dict[str, Any]) -> Any:
    """A layout from its settings; one that it does not know is refused."""
    known = kind.__dataclass_fields__
    for name in settings:
        if name not in known:
            raise RamifyError(f"there is no option {name!r}: how a table is read is said by {', '.join(known)}")
    return kind(**settings)


def _frame(columns: dict[str, list[Any]]) -> Any:
    try:
        import pandas
    except ImportError:
        raise RamifyError("this gives a DataFrame, and pandas is not installed: pip install pandas") from None
    return pandas.DataFrame(columns)
