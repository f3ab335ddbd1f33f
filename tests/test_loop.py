import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ramify.checks.data import TAXONOMY, data
from ramify.data import Dataset
from ramify.errors import RamifyError
from ramify.labels import UNKNOWN, Labels
from ramify.learners import CoarsePrior, FullySupervised, PseudoLabel, Refine
from ramify.learners.warm import answered_items
from ramify.loop import ActiveLoop, Question, Truth
from ramify.strategies import ExpectedGain, LookAhead, Random, RandomItems, Uncertainty
from ramify.taxonomy import Taxonomy

SMALL = {"hidden": (8,), "epochs": 2, "shortest_epoch": 10, "random_state": 0}
COARSE = {"hidden": (16, 16), "steps": 40, "random_state": 0}


EXHAUSTIVE = Taxonomy({**TAXONOMY.to_dict(), "sky": {"exhaustive": True, "sun": None, "moon": None}})
"""So all coarse labels are known: Refine's coarse stage stays as it is."""


def parts(warm=10, taxonomy=TAXONOMY):
    """Training data of 60 items, their true labels, and 40 more items to test on."""
    features, labels = data(n_items=100, warm=warm, taxonomy=taxonomy)
    truth = data(n_items=100, warm=100, taxonomy=taxonomy)[1]
    train, test = np.arange(60), np.arange(60, 100)
    return (
        Dataset(labels.take(train), features[train], ids=[f"img_{n}" for n in train]),
        truth.take(train),
        Dataset(truth.take(test), features[test], ids=[f"img_{n}" for n in test]),
    )


def prior():
    return CoarsePrior(**COARSE)


def loop_of(strategy=None, learner=None, warm=10, taxonomy=TAXONOMY, **settings):
    dataset, truth, test = parts(warm, taxonomy)
    learner = learner or prior()
    return ActiveLoop(
        dataset,
        learner,
        strategy or Random(random_state=0),
        Truth(truth),
        **{"batch_size": 10, "test": test} | settings,
    )


# -- what a loop does --------------------------------------------------------------------------------------------------


def test_a_loop_asks_records_deduces_and_learns():
    loop = loop_of(ExpectedGain(random_state=0), Refine(**COARSE), taxonomy=EXHAUSTIVE).run(rounds=5)
    assert [row["round"] for row in loop.curve_] == list(range(6))
    assert [row["answers"] for row in loop.curve_] == [0, 10, 20, 30, 40, 50]
    assert loop.curve_[-1]["item_views"] < 50
    everything = np.arange(len(EXHAUSTIVE))
    truth = parts(taxonomy=EXHAUSTIVE)[1].states(concepts=everything)
    states = loop.labels.states(concepts=everything)
    assert ((states == truth) | (states == UNKNOWN)).all()
    known = (states != UNKNOWN).sum() - (loop.dataset.labels.states(concepts=everything) != UNKNOWN).sum()
    assert known >= 50  # deduction may add some
    fresh = Refine(**COARSE).fit(loop.dataset.features, loop.labels)
    assert np.array_equal(fresh.predict_proba(loop.test.features), loop.learner.predict_proba(loop.test.features))
    assert set(loop.curve_[0]) == {"round", "answers", "item_views", "p@1", "p@3", "p@5"}
    assert loop.dataset.labels == parts(taxonomy=EXHAUSTIVE)[0].labels  # the data stay as they were


def test_item_views_count_an_item_once_a_batch():
    views = {}
    for strategy in (Random(random_state=0), RandomItems(random_state=0)):
        loop = loop_of(strategy).run(rounds=3)
        asked = [loop.journal.asked[r] for r in (1, 2, 3)]
        assert loop.curve_[-1]["item_views"] == sum(len({item for item, _ in each}) for each in asked)
        views[strategy.name] = loop.curve_[-1]["item_views"]
    assert views["random-items"] < views["random"]


def test_a_budget_is_counted_in_answers_and_may_end_within_a_batch():
    loop = loop_of().run(budget=25)
    assert [row["answers"] for row in loop.curve_] == [0, 10, 20, 25]
    assert loop.stopped_ is None
    assert loop.run(budget=25).curve_[-1]["answers"] == 25


def test_a_budget_larger_than_what_is_unknown_ends_when_everything_is_known():
    loop = loop_of(batch_size=50).run(budget=100_000)
    assert not len(loop.labels.unknown()[0])
    assert loop.stopped_.startswith("nothing is left to ask after")
    assert "before a budget of 100000 answers" in loop.stopped_
    with pytest.raises(RamifyError, match="say how long"):
        loop.run()


def test_net_learners_follow_the_papers_schedule():
    learner = FullySupervised(**SMALL)
    epochs = []
    loop = loop_of(learner=learner, epochs=3, restart_every=4)
    loop.run(rounds=5, on_round=lambda row: epochs.append(len(loop.learner.history_)))
    assert epochs == [2, 5, 8, 11, 2, 5]


def test_answers_of_partly_known_items_are_replayed_in_every_batch():
    dataset, truth, _ = parts()
    labels = dataset.labels.take(None)
    learner = PseudoLabel(**SMALL).fit(dataset.features, labels)
    assert len(learner._partly) == 0
    items, concepts = (part[::5] for part in labels.unknown())
    labels.record(items, concepts, truth.states()[items, concepts], "annotated")
    learner.partial_fit(dataset.features, labels, epochs=1)
    incomplete = np.unique(items)[(labels.states(np.unique(items)) == UNKNOWN).any(axis=1)]
    assert len(learner._partly) == len(incomplete)
    assert np.array_equal(learner._partly.states[:, : len(TAXONOMY.leaves)].numpy(), labels.states(incomplete))


def test_a_loop_begins_with_no_fine_label_and_any_learner():
    for learner in (Refine(**COARSE), PseudoLabel(**SMALL)):
        loop = loop_of(Uncertainty(random_state=0), learner, warm=0, batch_size=20).run(rounds=2)
        assert loop.curve_[-1]["answers"] == 40
        assert loop.curve_[-1]["p@1"] > 0
    assert loop_of(learner=PseudoLabel(**SMALL), warm=0).run(rounds=0).curve_[0]["p@1"] is None


def test_with_no_fine_label_expected_gain_asks_by_design_from_the_first_round():
    loop = loop_of(ExpectedGain(random_state=0), Refine(**COARSE), warm=0).run(rounds=1)
    dataset = loop.dataset
    assert not len(answered_items(dataset.labels))
    fitted = Refine(**COARSE).fit(dataset.features, dataset.labels)
    query = ExpectedGain(random_state=0).query(fitted, dataset.features, dataset.labels, 10)
    assert loop.journal.asked[1] == list(zip(query.items.tolist(), query.concepts.tolist(), strict=True))
    assert loop.curve_[0]["p@1"] > 0

    whole = RandomItems(random_state=0).query(None, dataset.features, dataset.labels, 10)
    random = list(zip(whole.items.tolist(), whole.concepts.tolist(), strict=True))
    assert loop.journal.asked[1] != random
    for strategy, learner in (
        (ExpectedGain(random_state=0), PseudoLabel(**SMALL)),  # which cannot begin yet
        (ExpectedGain(random_state=0), prior()),  # which gives no evidence
        (Uncertainty(random_state=0), Refine(**COARSE)),
    ):
        assert loop_of(strategy, learner, warm=0).run(rounds=1).journal.asked[1] == random


@pytest.mark.parametrize("exhaustive", [True, False])
@pytest.mark.parametrize("coarse", [0.0, 0.5])
def test_a_loop_asks_from_the_coarsest_unknown_level_to_the_end(coarse, exhaustive):
    """Of a tree of three levels; whatever is asked first was not known, and its parent was."""
    taxonomy = TAXONOMY if exhaustive else TAXONOMY.not_exhaustive()
    features, labels = data(n_items=40, warm=8, taxonomy=taxonomy, coarse=coarse)
    truth = data(n_items=40, warm=40, taxonomy=taxonomy)[1]
    for strategy, learner in (
        (ExpectedGain(random_state=0), Refine(**COARSE)),
        (Uncertainty(random_state=0), Refine(**COARSE)),
        (LookAhead(random_state=0), Refine(**COARSE)),
        (ExpectedGain(random_state=0), PseudoLabel(**SMALL)),
    ):
        loop = ActiveLoop(Dataset(labels, features), learner, strategy, Truth(truth), batch_size=60)
        loop.run(budget=10_000)
        assert loop.stopped_.startswith("nothing is left to ask")
        assert np.array_equal(loop.labels.states(), truth.states())
        levels = {len(taxonomy.ancestors(c)) for asked in loop.journal.asked.values() for _, c in asked}
        assert levels == {0, 1, 2}


# -- oracles -----------------------------------------------------------------------------------------------------------


def test_a_noisy_oracle_errs_and_skips_at_its_rates_and_never_changes_its_mind():
    truth = Labels.from_matrix(TAXONOMY, np.random.default_rng(0).integers(0, 2, (600, len(TAXONOMY.leaves))))
    oracle = Truth(truth, error_rate=0.2, skip_rate=0.1, random_state=1)
    states = truth.states()
    given = {}
    for item in range(600):
        for concept in range(len(TAXONOMY.leaves)):
            given[item, concept] = oracle(Question(item, concept, str(item), ""))
    skipped = np.mean([answer is None for answer in given.values()])
    wrong = np.mean([answer != states[where] for where, answer in given.items() if answer is not None])
    assert abs(skipped - 0.1) < 0.02
    assert abs(wrong - 0.2) < 0.02
    assert all(oracle(Question(*where, "", "")) == answer for where, answer in list(given.items())[:50])
    with pytest.raises(RamifyError, match="skip_rate is a share"):
        Truth(truth, skip_rate=1.5)


def test_truth_says_no_to_what_it_does_not_know_where_nothing_below_is_relevant():
    taxonomy = Taxonomy({"animal": {"cat": None, "dog": ["poodle", "pug"]}})
    truth = Labels.from_matrix(taxonomy, [[1, 0, 0], [0, 0, -1], [0, 0, 0]])
    truth.record(2, "dog", 1, "imported")

    def ask(item, name):
        return Truth(truth)(Question(item, taxonomy.index(name), "", ""))

    assert [ask(item, "dog") for item in range(3)] == [0, None, 1]
    assert [ask(item, "animal") for item in range(3)] == [1, None, 1]
    assert [ask(item, "pug") for item in range(3)] == [0, None, 0]


def test_skipped_questions_are_not_asked_again_and_cost_no_answer():
    dataset, truth, _ = parts()
    loop = ActiveLoop(dataset, prior(), Random(random_state=0), Truth(truth, skip_rate=0.3), batch_size=20)
    loop.run(budget=10_000)
    asked = [entry for entries in loop.journal.asked.values() for entry in entries]
    assert len(asked) == len(set(asked))
    assert loop.curve_[-1]["answers"] < len(asked)
    assert "nothing is left to ask" in loop.stopped_


def test_any_callable_may_answer():
    seen = []

    def person(question):
        seen.append(str(question))
        return question.path.endswith("cat")

    dataset, _, _ = parts()
    ActiveLoop(dataset, prior(), Random(random_state=0), person, batch_size=5).run(rounds=2)
    assert len(seen) == 10
    assert seen[0].startswith("img_")
    assert seen[0].endswith("?")


@pytest.mark.parametrize("answer", ["maybe", 2, 0.7, [1], np.nan])
def test_nonsense_answers_are_refused_and_nothing_is_lost(answer, tmp_path):
    dataset, truth, _ = parts()
    asked = []

    def oracle(question):
        asked.append(question)
        return answer if len(asked) == 13 else Truth(truth)(question)

    def make():
        return ActiveLoop(dataset, prior(), Random(random_state=0), oracle, batch_size=10, folder=tmp_path)

    loop = make()
    with pytest.raises(RamifyError, match=r"the oracle answered .* to img_\d+: .*\? It must be"):
        loop.run(rounds=3)
    assert len(asked) == 13
    make().run(rounds=2)
    make().run(rounds=3)
    assert len(asked) == 31  # only the refused question was asked twice


def test_an_oracle_that_fails_is_named_and_asked_again_from_there(tmp_path):
    dataset, truth, _ = parts()
    asked = []

    def oracle(question):
        asked.append(question)
        if len(asked) == 13:
            raise ConnectionError("no route to host")
        return Truth(truth)(question)

    loop = ActiveLoop(dataset, prior(), Random(random_state=0), oracle, batch_size=10)
    with pytest.raises(RamifyError, match=r"the oracle failed at img_\d+: .*ConnectionError: no route to host"):
        loop.run(rounds=3)
    assert [row["answers"] for row in loop.curve_] == [0, 10]
    loop.run(rounds=3)
    assert len(asked) == 31
    plain = ActiveLoop(dataset, prior(), Random(random_state=0), Truth(truth), batch_size=10).run(rounds=3)
    assert plain.labels == loop.labels


def test_bad_settings_get_one_sentence(tmp_path):
    dataset, truth, _ = parts()
    for name in ("batch_size", "epochs", "restart_every"):
        with pytest.raises(RamifyError, match=f"{name} is a whole number"):
            ActiveLoop(dataset, prior(), Random(), Truth(truth), **{name: 0})
    with pytest.raises(RamifyError, match="no features"):
        ActiveLoop(Dataset(dataset.labels), prior(), Random(), Truth(truth))
    folder = tmp_path / "loop"
    loop_of(folder=folder).run(rounds=1)
    for other, word in (
        ({"batch_size": 11}, "batch size"),
        ({"strategy": Random(random_state=1)}, "strategy"),
        ({"learner": CoarsePrior(**COARSE | {"random_state": 1})}, "learner"),
        ({"warm": 11}, "data"),
    ):
        with pytest.raises(RamifyError, match=f"holds a loop with other {word}"):
            loop_of(**{"folder": folder} | other)
    (folder / "answers.jsonl").write_text('{"round": 1}\n')
    with pytest.raises(RamifyError, match="line 1: this is not an answer"):
        loop_of(folder=folder)


# -- killed and resumed ------------------------------------------------------------------------------------------------

LEARNERS = {
    "refine": Refine(**COARSE),
    "pseudo-label": PseudoLabel(**SMALL),
    "smooth": PseudoLabel(assignment="smooth", **SMALL),
}
STRATEGIES = {s.name: s for s in (Uncertainty(random_state=0), LookAhead(random_state=0), ExpectedGain(random_state=0))}


@pytest.mark.parametrize(
    ("learner", "strategy"), [("refine", "expected-gain"), ("pseudo-label", "look-ahead"), ("smooth", "uncertainty")]
)
def test_a_resumed_loop_ends_as_one_that_never_stopped(learner, strategy, tmp_path):
    from sklearn.base import clone

    def make(folder):
        return loop_of(STRATEGIES[strategy], clone(LEARNERS[learner]), folder=folder, restart_every=3)

    straight = make(tmp_path / "straight").run(rounds=5)
    for stop in range(6):
        make(tmp_path / "stopped").run(rounds=stop)
    resumed = make(tmp_path / "stopped")
    assert resumed.curve_ == straight.curve_
    assert resumed.journal.answers == straight.journal.answers
    assert resumed.labels == straight.labels
    assert len(list((tmp_path / "stopped").glob("learner-*"))) == 1


@pytest.mark.slow
def test_sigkill_at_any_moment_loses_nothing(tmp_path):
    """Ten runs, each killed twice at random moments, end with the same curve and the same answers."""
    script = Path(__file__).with_name("loop_process.py")
    done = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kills"] >= 10
    names = ("curve.json", "answers.jsonl")
    expected = [(tmp_path / "straight" / name).read_text() for name in names]
    assert json.loads(expected[0])[-1]["round"] == 6
    for number in range(10):
        assert [(tmp_path / f"killed-{number}" / name).read_text() for name in names] == expected


def test_a_learner_that_needs_a_whole_item_gets_one_first():
    """From nothing: random items are asked until one is complete, and only then does the strategy ask."""
    loop = loop_of(Uncertainty(random_state=0), PseudoLabel(**SMALL), warm=0, batch_size=2).run(rounds=6)
    assert loop.curve_[0]["p@1"] is None
    assert loop.curve_[-1]["p@1"] is not None
    assert loop.learner.is_fitted
    items = [item for item, _ in loop.journal.asked[1]]
    assert len(set(items)) == 1


@pytest.mark.parametrize("data", [(np.zeros((3, 2)), None), np.zeros((3, 2))])
def test_data_that_are_no_dataset_are_refused_in_one_sentence(data):
    with pytest.raises(RamifyError, match=r"data are a ramify.Dataset, not \w+: build it with Dataset"):
        ActiveLoop(data, prior(), Random(), lambda question: None)
