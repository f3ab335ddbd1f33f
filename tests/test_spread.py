"""Predicting, embedding and looking at pools by engines: the same results as in this process, whoever dies."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from mortal import Letters, Mortal
from quick_learner import QuickLEML, QuickRefine
from ramify import parcels
from ramify.cli import app
from ramify.embed import embed
from ramify.embed.base import unloaded
from ramify.embed.words import WordEmbedder
from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.labels.guarded import GuardedLabels
from ramify.labels.part import PartLabels
from ramify.learners import base
from ramify.learners.cache import Cache
from ramify.project.transfer.predicting import Dense, Found, Likely, predict
from ramify.quality.decoding import MORE_PROBABLE_THAN_NOT
from ramify.strategies import STRATEGIES
from ramify.strategies import pool as pools
from ramify.strategies.pool import Pool
from ramify.taxonomy import Taxonomy

TAXONOMY = Taxonomy({"animal": ["cat", "dog", "bird"], "food": ["apple", "pear"]})
SPREAD = ("processes", "ray")
ENGINES = ["processes", pytest.param("ray", marks=pytest.mark.slow)]
SEVERAL = 64  # items in a block, so that there are several


@pytest.fixture(scope="module")
def _ray():
    yield
    import sys

    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()


pytestmark = pytest.mark.usefixtures("_ray")


@pytest.fixture(scope="module")
def features(tmp_path_factory):
    """In a file, as a project has them."""
    path = tmp_path_factory.mktemp("features") / "features.npy"
    random = np.random.default_rng(0)
    np.save(path, random.normal(size=(300, 10)).astype(np.float16))
    return np.load(path, mmap_mode="r")


@pytest.fixture(scope="module")
def labels(features):
    truth = features[:, :5] > 0.4
    coarse = np.stack([truth[:, :3].any(axis=1), truth[:, 3:].any(axis=1)], axis=1)
    labels = Labels(TAXONOMY, coarse)
    items, concepts = (part.ravel() for part in np.indices((40, 5)))
    labels.record(items, concepts, truth[:40].ravel(), "annotated")
    return labels


@pytest.fixture(scope="module")
def learner(features, labels):
    return QuickRefine(random_state=0).fit(features, labels)


@pytest.fixture
def _blocks(monkeypatch):
    monkeypatch.setattr(base, "ROWS", SEVERAL)
    monkeypatch.setattr(pools, "ROWS", SEVERAL)


# -- predicting --------------------------------------------------------------------------------------------------------


def predicted(learner, features, labels, **how):
    found, told = Found(), []
    blocks = list(
        predict(learner, features, labels, found=found, report=lambda *said: told.append(said), **how),
    )
    assert told == [("Predicting", min(first + SEVERAL, 300), 300) for first in range(0, 300, SEVERAL)]
    assert np.array_equal(np.concatenate([rows for rows, _, _ in blocks]), np.arange(300))
    return np.concatenate([p for _, p, _ in blocks]), found


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize("engine", ENGINES)
def test_predictions_are_the_same_on_all_engines(learner, features, labels, engine):
    expected, counted = predicted(learner, features, labels)
    whole = np.where(labels.states() >= 0, labels.states(), learner.opinions(features, labels)[:, :5])
    assert expected == pytest.approx(whole, abs=1e-6)
    for given in (features, np.array(features)):  # by a file's name, or rows with each task
        found = predicted(learner, given, labels, how=engine)
        assert np.array_equal(found[0], expected)
        assert found[1] == counted
    net = QuickLEML(random_state=0).fit(features, labels)
    nothing = Labels(TAXONOMY, np.full((300, 2), -1))  # new items of which nothing is known
    assert np.array_equal(predicted(net, features, nothing, how=engine)[0], predicted(net, features, nothing)[0])


@pytest.mark.usefixtures("_blocks")
def test_of_many_concepts_workers_send_the_likeliest(learner, features, labels):
    expected, counted = predicted(learner, features, labels)
    few, found = predicted(learner, features, labels, how="processes", top=2)
    assert found == counted
    sent = few >= 0
    assert np.array_equal(few[sent], expected[sent])
    assert sent[expected >= MORE_PROBABLE_THAN_NOT].all()
    kept = np.sort(np.where(sent, few, 0), axis=1)[:, -2:]
    assert np.array_equal(kept, np.sort(expected, axis=1)[:, -2:])
    assert Likely.of(Dense(expected, np.zeros(expected.shape, np.bool_)), 2).rows.size == 600


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize("engine", ENGINES)
def test_a_killed_worker_changes_no_prediction(features, labels, tmp_path, engine):
    expected, _ = predicted(QuickRefine(random_state=0).fit(features, labels), features, labels)
    mortal = Mortal(random_state=0).fit(features, labels)
    mortal.grave = str(tmp_path)
    assert np.array_equal(predicted(mortal, features, labels, how=engine)[0], expected)
    assert (tmp_path / "first").exists()


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize("engine", ["serial", *ENGINES])
def test_a_block_that_fails_is_named(learner, features, labels, engine):
    mortal = Mortal(random_state=0).fit(features, labels)
    mortal.fails_at = float(features[labels.questions()[0][-90], 0])
    first = int(np.flatnonzero(features[:, 0] == mortal.fails_at)[0]) // SEVERAL * SEVERAL
    last = min(first + SEVERAL, 300) - 1
    with pytest.raises(RamifyError, match=f"^items {first} to {last}: KeyError: 'not these'") as caught:
        list(predict(mortal, features, labels, how=engine))
    assert 'raise KeyError("not these")' in caught.value.__notes__[0]
    if engine != "processes":  # which a query goes through as well as predictions: only another start of workers
        uncertainty = STRATEGIES["uncertainty"](random_state=0)
        with pytest.raises(KeyError if engine == "serial" else RamifyError, match="not these"):
            uncertainty.query(mortal, features, labels, 5, engine=engine)
    blocks = predict(learner, features, labels, how=engine)
    next(blocks)
    blocks.close()  # who stops to read stops the workers


def test_a_model_is_sent_once_and_a_file_by_its_name(learner, features):
    content = parcels.packed((learner, features))
    assert len(parcels.packed(learner)) < len(content) < len(parcels.packed(learner)) + 1000
    assert np.array_equal(parcels.unpacked(content)[1], features)
    assert isinstance(parcels.unpacked(content)[1], np.memmap)
    times = []
    for _ in range(3):
        parcels.kept("a test", lambda: times.append(1) or content)
    assert len(times) == 1


def test_a_file_that_a_worker_does_not_see_is_told(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((2, 2)))
    content = parcels.packed(np.load(tmp_path / "x.npy", mmap_mode="r"))
    (tmp_path / "x.npy").unlink()
    with pytest.raises(RamifyError, match=r"a worker cannot take up its work .*x.npy.*the same Ramify, modules and"):
        parcels.unpacked(content)


# -- pools -------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", STRATEGIES)
def test_queries_are_the_same_on_all_engines(learner, features, labels, name, engine):
    strategy = STRATEGIES[name](random_state=3)
    out = labels.questions()[0][:9], labels.questions()[1][:9]
    expected = strategy.query(learner, features, labels, 50, exclude=out)
    found = strategy.query(learner, features, labels, 50, exclude=out, engine=engine)
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one, other)
    net = QuickLEML(random_state=0).fit(features, labels)
    expected, found = (strategy.query(net, features, labels, 300, engine=each) for each in ("serial", engine))
    assert np.array_equal(found.items, expected.items)
    assert np.array_equal(found.scores, expected.scores)


@pytest.mark.usefixtures("_blocks")
def test_a_pool_of_some_items_with_a_cache_and_guarded_labels(learner, features, labels, tmp_path):
    from threading import RLock

    cache = Cache.write(tmp_path, learner.to_cache(features, labels), len(labels))
    some = np.flatnonzero(np.arange(300) % 3 > 0)
    guarded, told = GuardedLabels(labels, RLock()), []
    lists = {}
    for engine in ("serial", "processes"):
        pool = Pool(features, guarded, np.empty(0, np.intp), some, cache, engine=engine)
        pool.report = lambda *said: told.append(said)
        lists[engine] = STRATEGIES["expected-gain"](random_state=0).shortlist(learner, pool, 40).take(40)
        assert told[-1] == ("Looking at items", 200, 200)
    assert np.isin(lists["serial"].items, some).all()
    for one, other in zip(lists["serial"], lists["processes"], strict=True):
        assert np.array_equal(one, other)


def test_a_part_of_labels_speaks_of_its_items_only(labels):
    numbers = np.array([3, 77, 120])
    part = PartLabels(TAXONOMY).show(numbers, labels.take(numbers).cells)
    for method in ("states", "sources"):
        assert np.array_equal(getattr(part, method)(numbers[1:]), getattr(labels, method)(numbers[1:]))
    for method in ("questions", "unknown"):
        for one, other in zip(getattr(part, method)(numbers), getattr(labels, method)(numbers), strict=True):
            assert np.array_equal(one, other)
    assert part.take([77]) == labels.take([77])
    assert np.array_equal(part.states(), labels.states(numbers))
    with pytest.raises(IndexError, match="of 3 items only"):
        part.states(np.array([4]))


# -- embedding ---------------------------------------------------------------------------------------------------------


TEXTS = [f"text {number}" * (number % 4 + 1) for number in range(20)] + ["empty", "text 1", "empty"]


@pytest.mark.parametrize("engine", ENGINES)
def test_embeddings_are_the_same_on_all_engines_and_a_killed_worker_changes_nothing(tmp_path, engine):
    for name in ("serial", "spread", "grave"):
        (tmp_path / name).mkdir()
    expected, wrong = embed(Letters(), TEXTS, tmp_path / "serial")
    told = []
    rows, reasons = embed(
        Letters(tmp_path / "grave"), TEXTS, tmp_path / "spread", lambda *far: told.append(far), engine
    )
    assert np.array_equal(rows, expected)
    assert reasons == wrong == {20: "empty", 22: "empty"}
    assert told[0] == (1, 23)
    assert told[-1] == (23, 23)
    assert (tmp_path / "grave" / "first").exists()
    assert {path.name for path in (tmp_path / "serial").iterdir()} == {p.name for p in (tmp_path / "spread").iterdir()}


@pytest.mark.parametrize("engine", ["serial", *(pytest.param(name, marks=pytest.mark.slow) for name in SPREAD)])
def test_a_batch_that_fails_is_named_and_what_was_finished_is_kept(tmp_path, engine):
    values = list("abcdefgh")
    with pytest.raises(RamifyError, match=r"^embedding 'd' to 'f': KeyError: 'not this'"):
        embed(Letters(fails_at="e"), values, tmp_path, how=engine)
    assert len(list(tmp_path.glob("*.npz"))) == 1
    assert embed(Letters(), values, tmp_path)[0].shape == (8, 2)


def test_a_loaded_model_does_not_travel():
    by = WordEmbedder()
    by.__dict__["_loaded"] = object()
    assert "_loaded" not in vars(unloaded(by))
    assert "_loaded" in vars(by)


# -- commands ----------------------------------------------------------------------------------------------------------


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.usefixtures("_blocks")
def test_commands_give_the_same_on_engines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("taxonomy.json").write_text(json.dumps({"animal": ["cat", "dog"], "food": ["apple", "pear"]}))
    words = {"cat": "purrs meows kitten", "dog": "barks wags puppy", "apple": "red crunchy", "pear": "green soft"}
    random = np.random.default_rng(0)
    with Path("items.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "labels"])
        for number in range(200):
            fine = list(words)[number % 4]
            parent = "animal" if number % 4 < 2 else "food"
            text = " ".join(random.choice(words[fine].split(), 3)) + f" {number}"
            writer.writerow([f"i{number}", text, fine if number < 40 else parent])
    monkeypatch.setattr("ramify.embed.text.TextEmbedder.batch", 50)
    monkeypatch.setattr("ramify.project.live.shortlists.SAMPLE", 64)
    monkeypatch.setattr("ramify.project.live.shortlists.ROWS", 64)
    features = {}
    for engine in ("serial", "processes"):
        run("init", engine, "--taxonomy", "taxonomy.json")
        assert "Added 200 items" in run("add", engine, "items.csv", "--engine", engine)
        (file,) = Path(engine).glob("features-*.npy")
        features[engine] = file.read_bytes()
        run("train", engine, "--set", "steps=20", "--set", "hidden=[8, 8]")
        run("predict", engine, "--out", f"{engine}.csv", "--engine", engine)
        run("predict", engine, "--out", f"{engine}-top.csv", "--top", 1, "--engine", engine)
        run("predict", engine, "items.csv", "--out", f"{engine}-new.csv", "--engine", engine)
        run("suggest", engine, "-n", 30, "--out", f"{engine}-ask.csv", "--engine", engine)
        run("embed", "items.csv", "--text", "text", "--out", f"{engine}.npy", "--engine", engine)
        run("embed", engine, "--again", "--engine", engine)
    assert features["serial"] == features["processes"]
    for name in (".csv", "-top.csv", "-new.csv", "-ask.csv", ".npy"):
        assert Path(f"serial{name}").read_bytes() == Path(f"processes{name}").read_bytes()
    before = Path("serial.csv").read_bytes()
    for command in ("predict", "suggest"):
        with pytest.raises(RamifyError, match="there is no engine 'cluster': choose 'serial'"):
            run(command, "serial", "--out", "serial.csv", "--engine", "cluster")
    assert Path("serial.csv").read_bytes() == before
