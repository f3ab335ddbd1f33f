"""ActiveLoop: ask, answer, record with deduction, learn, round by round; what is finished is never lost."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np

from ramify.data import Dataset, as_dataset
from ramify.errors import RamifyError
from ramify.files import whole_file
from ramify.labels import Labels
from ramify.learners import Learner, load
from ramify.learners.base import fingerprint
from ramify.learners.warm import answered_items
from ramify.loop.journal import Journal
from ramify.loop.oracles import Oracle, Question, Truth, as_value
from ramify.loop.quality import PoolQuality, pool_quality
from ramify.metrics import precision_at_k
from ramify.strategies import RandomItems, Strategy

NOT_SETTINGS = ("device", "memory", "module", "verbose")  # of a learner: they do not change what it learns


class ActiveLoop:
    """Lets a strategy ask an oracle and a learner learn from the answers, ``batch_size`` questions each round.

    The labels of the ``dataset`` are what is known at first; it stays as it is. The ``learner`` learns from it and from
    the answers, the ``strategy`` chooses the questions, and the ``oracle`` answers them.

    The paper's schedule is the default for net-trained learners: ``epochs`` more epochs after each round, and a new
    beginning every ``restart_every`` rounds. Learners in closed form take in all answers exactly, and never restart.

    With a ``folder`` every question, answer and finished round is on disk before the next begins: a loop that was
    interrupted or killed goes on from there, and ends exactly as if it had not been. ``test`` is what the learner is
    measured on after each round. With the ``truth`` of all items, so are the labels of the pool, known or predicted:
    of the items of which nothing fine is known at first.
    """

    def __init__(
        self,
        dataset: Dataset,
        learner: Learner,
        strategy: Strategy,
        oracle: Oracle,
        *,
        batch_size: int = 100,
        test: Dataset | None = None,
        truth: Labels | None = None,
        epochs: int = 1,
        restart_every: int = 10,
        folder: str | Path | None = None,
    ) -> None:
        for name, value in (("batch_size", batch_size), ("epochs", epochs), ("restart_every", restart_every)):
            if not isinstance(value, int | np.integer) or value < 1:
                raise RamifyError(f"{name} is a whole number from 1 on, not {value!r}")
        as_dataset(dataset if test is None else test)
        if as_dataset(dataset).features is None:
            raise RamifyError("the data have no features, only labels: a learner needs features")
        self.dataset, self.learner, self.strategy, self.oracle = dataset, learner, strategy, oracle
        if truth is not None and (len(truth) != len(dataset) or truth.taxonomy != dataset.labels.taxonomy):
            raise RamifyError("the truth is of other items or concepts than the data: give labels of the same")
        self.truth = truth
        self.batch_size, self.test, self.epochs, self.restart_every = batch_size, test, epochs, restart_every
        self.folder = None if folder is None else Path(folder)
        self.labels = dataset.labels.take(None)
        """All labels known so far: the data set's own and the answers."""
        self.curve_: list[dict[str, Any]] = []
        """One line for each finished round; round 0 is what the learner knew before the first question."""
        self.stopped_: str | None = None
        """Why the loop ended before its rounds or its budget, where it did."""
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._check_settings(self.folder / "loop.json")
        self.journal = Journal(self.folder / "answers.jsonl" if self.folder else None)
        self._go_on()

    def run(
        self,
        *,
        rounds: int | None = None,
        budget: int | None = None,
        on_round: Callable[[dict[str, Any]], None] = lambda row: None,
    ) -> Self:
        """Go on until so many rounds are finished in all, or so many answers given in all, or nothing is unknown."""
        if rounds is None and budget is None:
            raise RamifyError("say how long to go on: rounds=, or budget= in answers")
        if not self.curve_:
            on_round(self._finish(0, None))
        while (rounds is None or self.curve_[-1]["round"] < rounds) and (
            budget is None or self.curve_[-1]["answers"] < budget
        ):
            round_ = self.curve_[-1]["round"] + 1
            left = self.batch_size if budget is None else min(self.batch_size, budget - self.curve_[-1]["answers"])
            questions = self._questions(round_, left)
            if not questions:
                given = self.curve_[-1]["answers"]
                wanted = f"{rounds} rounds" if budget is None else f"a budget of {budget} answers"
                self.stopped_ = f"nothing is left to ask after {given} answers, before {wanted} were used up"
                break
            self._ask(round_, questions)
            on_round(self._finish(round_, questions))
        return self

    # -- one round -----------------------------------------------------------------------------------------------------

    def _questions(self, round_: int, count: int) -> list[tuple[int, int]]:
        """The questions of a round: those already begun with, or new ones."""
        if round_ not in self.journal.asked:
            # What was asked before and is still unknown was skipped, or contradicts another label: not again.
            strategy = self.strategy
            begins_alone = strategy.begins and not strategy.needs_learner
            if not self.learner.is_fitted and not begins_alone:  # it needs more answers: whole items are of use to all
                strategy = RandomItems(random_state=self.strategy.random_state)
            query = strategy.query(
                self.learner, self.dataset.features, self.labels, count, exclude=self.journal.entries()
            )
            if not len(query.items):
                return []
            self.journal.ask(round_, list(zip(query.items.tolist(), query.concepts.tolist(), strict=True)))
        return self.journal.asked[round_]

    def _ask(self, round_: int, questions: list[tuple[int, int]]) -> None:
        given = self.journal.answers.get(round_, {})
        paths = {concept: self.labels.taxonomy.path(concept) for _, concept in questions}
        for item, concept in questions:
            if (item, concept) in given:
                continue
            question = Question(item, concept, str(self.dataset.ids[item]), paths[concept])
            try:
                value = as_value(self.oracle(question), question)
            except RamifyError:
                raise
            except Exception as error:
                raise RamifyError(
                    f"the oracle failed at {question} ({type(error).__name__}: {error}) "
                    "All answers before are kept: run again to go on with this question"
                ) from error
            self.journal.answer(round_, (item, concept), value)

    def _finish(self, round_: int, questions: list[tuple[int, int]] | None) -> dict[str, Any]:
        """Record the answers, learn, measure, and put the round on disk."""
        answers = self.journal.answers.get(round_, {})
        said = [(item, concept, value) for (item, concept), value in answers.items() if value >= 0]
        if said:
            items, concepts, values = np.array(said).T
            self.labels.record(items, concepts, values, "annotated")
        self._learn(round_)
        before = self.curve_[-1] if self.curve_ else {"answers": 0, "item_views": 0}
        row = {
            "round": round_,
            "answers": before["answers"] + len(said),
            "item_views": before["item_views"] + len({item for item, _ in questions or []}),
            **self._measured(),
        }
        self.curve_.append(row)
        self._keep(round_)
        return row

    def _learn(self, round_: int) -> None:
        features = self.dataset.features
        if self.learner.is_fitted:
            restart = round_ % self.restart_every == 0
            self.learner.go_on(features, self.labels, restart=restart, epochs=self.epochs)
        elif self.learner.can_begin(self.labels):
            self.learner.fit(features, self.labels, names=self.dataset.name_vectors)

    def _measured(self) -> dict[str, float | None]:
        return self._on_test() | self._on_pool()

    def _on_test(self) -> dict[str, float | None]:
        if self.test is None:
            return {}
        ks = [k for k in (1, 3, 5) if k <= len(self.labels.taxonomy.leaves)]
        if not self.learner.is_fitted:
            return {f"p@{k}": None for k in ks}
        truth, scores = self.test.labels.states(), self.learner.predict_proba(self.test.features)
        return {f"p@{k}": precision_at_k(truth, scores, k) for k in ks}

    def _on_pool(self) -> dict[str, float | None]:
        if self.truth is None:
            return {}
        if not self.learner.is_fitted:
            return dict.fromkeys(PoolQuality._fields)
        before = self.dataset.labels
        pool = np.setdiff1d(np.arange(len(before)), answered_items(before))
        return pool_quality(self.learner, self.dataset.features, self.labels, self.truth, before, pool)._asdict()

    # -- on disk -------------------------------------------------------------------------------------------------------

    def _keep(self, round_: int) -> None:
        """The learner first, then the line that says the round is finished, then what is no longer needed goes."""
        if self.folder is None:
            return
        if self.learner.is_fitted:
            self.learner.save(self.folder / f"learner-{round_}")
        with whole_file(self.folder / "curve.json") as draft:
            draft.write_text(json.dumps(self.curve_), encoding="utf-8")
        for old in self.folder.glob("learner-*"):
            if old.name != f"learner-{round_}":
                shutil.rmtree(old)

    def _go_on(self) -> None:
        """Take up what the folder holds of an earlier run."""
        if self.folder is None or not (self.folder / "curve.json").exists():
            return
        self.curve_ = json.loads((self.folder / "curve.json").read_text(encoding="utf-8"))
        last = self.curve_[-1]["round"]
        items, concepts, values = self.journal.given(last)
        if len(items):
            self.labels.record(items, concepts, values, "annotated")
        if (self.folder / f"learner-{last}").exists():
            own = {name: v for name, v in self.learner.get_params(deep=False).items() if name in NOT_SETTINGS}
            self.learner = load(self.folder / f"learner-{last}", **own)

    def _check_settings(self, path: Path) -> None:
        settings = json.loads(json.dumps(self._settings()))
        if not path.exists():
            with whole_file(path) as draft:
                draft.write_text(json.dumps(settings, indent=1), encoding="utf-8")
            return
        kept = json.loads(path.read_text(encoding="utf-8"))
        for name, value in settings.items():
            if kept.get(name) != value:
                raise RamifyError(
                    f"{path.parent} holds a loop with other {name.replace('_', ' ')}: give another folder, or remove it"
                )

    def _settings(self) -> dict[str, Any]:
        parameters = {k: v for k, v in self.learner.get_params(deep=False).items() if k not in NOT_SETTINGS}
        own = isinstance(self.oracle, Truth)
        test, names = self.test, self.dataset.name_vectors if self.learner.uses_names else None
        return {
            "data": fingerprint(self.dataset.features, self.dataset.labels),
            "names": None if names is None else names.fingerprint(),
            "truth": None if self.truth is None else fingerprint(self.truth),
            "test": None if test is None else fingerprint(test.features, test.labels),
            "learner": [self.learner.name, parameters],
            "strategy": [self.strategy.name, self.strategy.get_params()],
            "oracle": repr(self.oracle) if own else getattr(self.oracle, "__qualname__", type(self.oracle).__name__),
            "batch_size": int(self.batch_size),
            "epochs": int(self.epochs),
            "restart_every": int(self.restart_every),
        }
