"""Other features for the items of a project: nothing that anybody said is lost, and old models are not used."""

import numpy as np
import pytest

import ramify
from ramify.embed.text import TextEmbedder
from ramify.errors import RamifyError
from ramify.project.live.service import Service
from ramify.project.live.training import train
from ramify.project.store.store import Store
from ramify.project.transfer.again import embed_again
from ramify.project.transfer.features import used_embedder
from ramify.project.transfer.importing import add, init
from ramify.project.transfer.learned import current_learner
from test_importing import WORDS, pictures, table
from test_service import until

QUICK = {"parameters": {"steps": 5, "hidden": [4, 4]}}


@pytest.fixture
def store(tmp_path):
    with init(tmp_path / "project", {"animal": ["cat", "dog"], "food": ["apple", "banana"]}) as store:
        yield store


def texts(count):
    return [f"{WORDS[n % 6]} {n}" for n in range(count)]


def test_three_rows_first_and_four_hundred_later(store, tmp_path):
    add(store, table(tmp_path / "few.csv", 3))
    assert store.features().shape == (3, 2)
    done = add(store, table(tmp_path / "many.csv", 403))
    assert (done.added, done.present, done.notes) == (400, 3, ())
    alone = TextEmbedder()
    alone.fit(texts(403))
    assert np.allclose(store.features(), alone.rows(texts(403))[0], atol=1e-5)
    assert np.array_equal(used_embedder(store, "text").rows(texts(5))[0], alone.rows(texts(5))[0])


def test_what_a_model_depends_on_is_not_fitted_again_but_it_is_said(store, tmp_path):
    add(store, table(tmp_path / "few.csv", 6))
    train(store, **QUICK)
    before = store.features()[:6].copy()
    assert add(store, table(tmp_path / "more.csv", 20)).notes == ()
    done = add(store, table(tmp_path / "many.csv", 30))
    assert np.array_equal(store.features()[:6], before)
    assert done.notes == (
        "the words were learned from the first 6 items only: to learn them from all 30, run "
        f"`ramify embed {store.folder} --again`, then `ramify train {store.folder}`",
    )
    assert embed_again(store) == "text"
    assert store.features().shape[1] > before.shape[1]
    assert add(store, table(tmp_path / "last.csv", 31)).notes == ()


def test_answers_stay_and_models_of_other_features_are_not_used(store, tmp_path):
    add(store, table(tmp_path / "items.csv", 12))
    cat = int(store.id_of[store.taxonomy.index("cat")])
    store.record("k", "ann", [(0, cat, "yes")])
    first = train(store, **QUICK)
    labels = store.labels()
    assert embed_again(store, "words") == "words"
    assert store.features().shape == (12, 256)
    assert store.labels() == labels
    assert len(store.events()) == 1
    assert store.model() is None
    with pytest.raises(RamifyError, match="has no model yet: run"):
        current_learner(store, labels)
    assert train(store, **QUICK) == first + 1, "numbers of models are never used twice"
    assert store.model()[0] == first + 1
    assert len(add(store, table(tmp_path / "more.csv", 14)).left_out) == 0
    assert store.features().shape == (14, 256)
    assert list((store.folder / "embedder").iterdir()) == [], "nothing is left of the first"


def test_features_of_a_file_take_the_place_of_embedded_ones_and_back(store, tmp_path):
    add(store, table(tmp_path / "items.csv", 12))
    np.save(tmp_path / "f.npy", np.arange(24.0).reshape(12, 2))
    assert embed_again(store, features=tmp_path / "f.npy") == "features"
    assert store.features()[3].tolist() == [6, 7]
    with pytest.raises(RamifyError, match="come from files: say by what its items are to be embedded"):
        embed_again(store)
    assert embed_again(store, "text") == "text"
    with pytest.raises(RamifyError, match="holds 3 x 2 numbers for the 12 items"):
        embed_again(store, features=np.ones((3, 2)))


def test_what_cannot_be_embedded_changes_nothing(store, tmp_path):
    add(store, pictures(tmp_path / "images"), images=tmp_path / "images")
    before = store.features()
    with pytest.raises(RamifyError, match="the item 'p0' has no text, which text needs: nothing was changed"):
        embed_again(store, "text")
    (tmp_path / "images" / "3.png").write_text("no picture")
    with pytest.raises(RamifyError) as refused:
        embed_again(store)
    assert str(refused.value).startswith("1 of 5 items cannot be read, so nothing was changed;")
    assert "the item 'p3': this is not a whole picture" in str(refused.value)
    assert np.array_equal(store.features(), before)
    with pytest.raises(RamifyError, match="has no items yet: add some first"):
        embed_again(init(tmp_path / "empty", {"animal": ["cat"]}))


def test_items_added_meanwhile_are_embedded_too(store, tmp_path, monkeypatch):
    add(store, table(tmp_path / "items.csv", 12))
    honest = TextEmbedder.fit

    def overtaken(self, values):
        monkeypatch.undo()
        with Store(store.folder) as other:
            other.new_model(lambda folder: {})  # or adding would embed all again by itself
            add(other, table(tmp_path / "more.csv", 15))
        honest(self, values)

    monkeypatch.setattr(TextEmbedder, "fit", overtaken)
    assert embed_again(store) == "text"
    assert store.features().shape == (15, 8)


def test_nobody_trains_meanwhile(store, tmp_path):
    add(store, table(tmp_path / "items.csv", 12))
    with store.trainings.begin(), pytest.raises(RamifyError, match="is training a model already"):
        embed_again(store)
    assert embed_again(store) == "text"


def test_a_server_takes_up_other_features_and_trains_by_itself(store, tmp_path):
    add(store, table(tmp_path / "items.csv", 12))
    version = train(store, **QUICK)
    with Service(store.folder) as service:
        assert service.state.model.version == version
        with Store(store.folder) as other:
            embed_again(other, "words")
        until(lambda: service.state.model.version == version + 1)
        assert service.state.features.shape == (12, 256)
        assert service.next("ann")
        assert service.background.problems() == []


def test_in_a_notebook(store, tmp_path):
    add(store, table(tmp_path / "items.csv", 12))
    project = ramify.Project(store.folder)
    assert project.embed_again("words") == "words"
    assert project.embed_again(features=np.ones((12, 3))) == "features"
