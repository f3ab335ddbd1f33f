"""In trees of any depth, with coarse labels known or not, a learner that went on is as good as one that begins anew."""

import numpy as np
import pytest

from ramify.checks.trees import drawn, tree, with_coarse
from ramify.data import Dataset
from ramify.labels import UNKNOWN
from ramify.learners import Refine
from ramify.learners.coarse_learner import count_roots
from ramify.loop import ActiveLoop, Truth
from ramify.project.live import background
from ramify.project.live.service import Service
from ramify.project.live.training import choose_learner, train
from ramify.project.store.store import Store
from ramify.strategies import ExpectedGain
from test_service import until

SMALL = {"hidden": (32,), "steps": 300}


def hits(learner, test):
    """The precision among the 1 and the 3 best of each item: items x 2."""
    best = np.argsort(-learner.predict_proba(test.features), axis=1, kind="stable")
    found = np.take_along_axis(test.labels.states(), best, axis=1)
    return np.stack([found[:, :k].mean(axis=1) for k in (1, 3)], axis=1)


def loop_of(taxonomy, share, seed, *, n_items=600, noise=1.0, batch_size=60):
    features, truth = drawn(taxonomy, n_items + 2000, seed, noise)
    known, held_out = np.arange(n_items), np.arange(n_items, n_items + 2000)
    dataset = with_coarse(features[known], truth.take(known), share, seed)
    learner, test = Refine(**SMALL, random_state=seed), Dataset(truth.take(held_out), features[held_out])
    oracle = Truth(truth.take(known))
    return ActiveLoop(dataset, learner, ExpectedGain(random_state=seed), oracle, batch_size=batch_size), test


def fresh(loop, seed):
    return Refine(**SMALL, random_state=seed).fit(loop.dataset.features, loop.labels)


def compared(taxonomy, share, rounds=(7, 8)):
    """What fresh fits and the three loops on whose labels they learned hit, item by item, after each of two rounds.

    One of these rounds may have just trained the nets.
    """
    found = {number: [] for number in rounds}
    for seed in range(3):
        loop, test = loop_of(taxonomy, share, seed)
        for number, hit in found.items():
            loop.run(rounds=number)
            hit.append((hits(fresh(loop, seed), test), hits(loop.learner, test)))
    return [[np.concatenate(part) for part in zip(*hit, strict=True)] for hit in found.values()]


@pytest.mark.slow
@pytest.mark.parametrize("exhaustive", [True, False])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_loop_ends_within_a_standard_error_of_a_fresh_fit(exhaustive, share):
    """Of the fresh fit's own precision, so far as so many items tell it."""
    for anew, ours in compared(tree((3, 2, 3), exhaustive=exhaustive), share):
        error = anew.std(axis=0, ddof=1) / np.sqrt(len(anew))
        assert (anew.mean(axis=0) - ours.mean(axis=0) <= error).all()


@pytest.mark.parametrize("exhaustive", [True, False])
def test_with_all_coarse_labels_a_loop_ends_exactly_as_a_fresh_fit(exhaustive):
    loop, test = loop_of(tree((3, 2, 3), exhaustive=exhaustive), 1.0, seed=0)
    loop.run(rounds=3)
    anew = fresh(loop, 0).predict_proba(test.features)
    assert np.array_equal(loop.learner.predict_proba(test.features), anew)


def test_a_flat_taxonomy_of_which_nothing_is_known_is_learned():
    """Where roots are leaves, every answer is coarse: a loop that never trained its nets again would learn nothing."""
    loop, test = loop_of(tree((10,), exhaustive=False), 0.0, seed=0, n_items=400, noise=0.5, batch_size=150)
    loop.run(rounds=6)
    ours, anew = hits(loop.learner, test).mean(axis=0), hits(fresh(loop, 0), test).mean(axis=0)
    possible = np.minimum((test.labels.states() == 1).sum(axis=1), 1).mean()  # some items have no concept at all
    assert ours[0] > 0.85 * possible
    assert abs(ours - anew).max() < 0.02


def test_new_answers_about_roots_do_not_outvote_what_the_nets_were_taught():
    """Each counts one of as many as the nets learned of that root from."""
    features, truth = drawn(tree((3,), exhaustive=False), 60)
    labels = with_coarse(features, truth, 0.0).labels
    labels.record(np.repeat(np.arange(40), 2), np.tile([0, 1], 40), truth.states()[:40, :2].ravel(), "annotated")
    learner = Refine(hidden=(8,), steps=20, random_state=0).fit(features, labels)
    labels.record([50, 50, 50], [0, 1, 2], truth.states(50)[0], "annotated")
    learner.partial_fit(features, labels, items=[50])
    assert learner.fine_.lesson_weights[learner.fine_.slot_of[50]].tolist() == [1 / 40, 1 / 40, 1.0]


@pytest.mark.slow
def test_a_live_project_trains_again_and_ends_near_a_new_model(tmp_path, monkeypatch):
    """Coarse labels are unknown: answers about them outgrow the nets, also while these are being trained."""
    monkeypatch.setattr(background, "LEAST_PAUSE", 0.01)
    monkeypatch.setattr(background, "RELIST_AFTER", 10)
    features, truth = drawn(tree((3, 2, 3), exhaustive=False), 300, seed=0, noise=0.5)
    everything = np.arange(len(truth.taxonomy))
    true = truth.states(concepts=everything)
    with Store.create(tmp_path / "project", truth.taxonomy) as store:
        choose_learner(store, "refine", SMALL)
        store.add([str(n) for n in range(300)], None, None, features, with_coarse(features, truth, 0.0).labels)
        train(store)
    with Service(tmp_path / "project") as service:
        number_of, first = service.store.number_of, service.state.model.version

        def answer(screens):
            for screen in (service.next("ann")[0] for _ in range(screens)):
                said = ["yes" if true[e.item, number_of[e.concept]] else "no" for e in screen.entries]
                entries = [(e.item, e.concept) for e in screen.entries]
                service.answer(screen.task, "ann", [(*e, word) for e, word in zip(entries, said, strict=True)])

        def trains():
            return service.store.training()["running"]

        answer(60)
        until(lambda: trains() or service.state.model.version > first, seconds=240)  # it may be over already
        answer(60)
        until(lambda: not trains() and not service.state.model.outgrown(service.state.labels), seconds=240)
        for _ in range(30):  # too few to train again, whenever it was trained: learned in closed form
            taught = service.state.model.learner.taught_
            if count_roots(service.state.labels) - taught < 0.4 * taught:
                answer(1)
        labels, newest = service.state.labels.take(None), service.state.model
        until(lambda: not len(newest.learner.changed_items(labels, service.store.answered_items())))
        assert newest.version > first
        assert 0 < count_roots(labels) - newest.learner.taught_ < 0.5 * newest.learner.taught_
        kept = newest.opinions(labels, np.arange(len(labels)))
    anew = Refine(**SMALL, random_state=0).fit(features, labels).opinions(features, labels)
    unknown = labels.states(concepts=everything) == UNKNOWN
    assert np.abs(kept - anew)[unknown].mean() < 0.03
    assert ((kept - true)[unknown] ** 2).mean() < 1.1 * ((anew - true)[unknown] ** 2).mean()
