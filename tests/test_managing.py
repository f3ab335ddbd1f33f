"""What whoever serves a project may do over HTTP: files in and out, settings, people; and which words matter."""

import csv
import io
import re
import shutil

import numpy as np
import pytest
from fastapi.testclient import TestClient

from ramify import Project
from ramify.embed.text import TextEmbedder
from ramify.errors import RamifyError
from ramify.learners import load
from ramify.project.limits import LARGEST_UPLOAD
from ramify.project.live.exchange import BUSY
from ramify.project.live.occlusion import FROM_FILES, NO_MODEL, NO_TEXT, TOO_LONG
from ramify.project.live.service import Service
from ramify.project.store.store import Store
from ramify.project.transfer.exporting import export_events, export_labels
from ramify.web import create_app
from ramify.web.security import FILE
from web_projects import pets_project, text_project

HOSTS = ("testserver",)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Texts about pets, some answered, with a small model."""
    return pets_project(tmp_path_factory.mktemp("managing") / "pets")


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "pets")


@pytest.fixture
def service(folder):
    with Service(folder, background=False) as opened:
        yield opened


@pytest.fixture
def client(service):
    return TestClient(create_app(service, hosts=HOSTS))


def upload(client, what, name, content):
    sent = content if isinstance(content, bytes) else content.encode()
    return client.post("/api/import", params={"what": what, "name": name}, content=sent, headers={"content-type": FILE})


# -- exports -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_what_is_downloaded_is_what_the_commands_write(client, folder, tmp_path, kind):
    with Store(folder) as store:
        export_labels(store, tmp_path / f"labels.{kind}")
        export_labels(store, tmp_path / f"known.{kind}", known_only=True)
        export_events(store, tmp_path / f"answers.{kind}")
    for what in ("labels", "known", "answers"):
        response = client.get("/api/export", params={"what": what, "format": kind})
        assert response.headers["content-disposition"] == f'attachment; filename="pets-{what}.{kind}"'
        assert response.content == (tmp_path / f"{what}.{kind}").read_bytes()


def test_predictions_are_downloaded_and_nothing_stays_behind(client, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = set(tmp_path.iterdir())
    response = client.get("/api/export", params={"what": "predictions"})
    rows = list(csv.DictReader(io.StringIO(response.text)))
    expected = Project(folder).predict()
    assert [row["id"] for row in rows] == expected["id"].tolist()
    assert [float(row["animal > cat"]) for row in rows] == expected["animal > cat"].tolist()
    assert set(tmp_path.iterdir()) == before


def test_predictions_need_a_model(tmp_path):
    with Service(text_project(tmp_path / "texts"), background=False) as opened:
        client = TestClient(create_app(opened, hosts=HOSTS))
        refused = client.get("/api/export", params={"what": "predictions"})
        sentence = f"{tmp_path / 'texts'} has no model yet: run `ramify train {tmp_path / 'texts'}` first"
        assert (refused.status_code, refused.json()) == (400, {"error": sentence})


def test_texts_that_are_formulas_are_made_safe_on_demand(client):
    upload(client, "items", "more.csv", "id,text,labels\n=1+1,a cat,animal\n")
    plain = client.get("/api/export", params={"what": "labels"}).text
    safe = client.get("/api/export", params={"what": "labels", "safe": "true"}).text
    assert "\n=1+1," in plain
    assert "\n'=1+1," in safe
    refused = client.get("/api/export", params={"what": "labels", "format": "jsonl", "safe": "true"})
    assert refused.status_code == 400


# -- imports -----------------------------------------------------------------------------------------------------------


def test_items_are_there_at_once(client, service):
    said = upload(client, "items", "more.csv", "id,text,labels\nnew,the cat purrs,animal\npet-0,,\n").json()["said"]
    assert said[-1] == "Added 1 items, 1 were there already: the project has 41, with features by text."
    assert client.get("/api/status").json()["items"] == 41
    assert client.get("/api/browse", params={"query": "new"}).json()["total"] == 1
    service._process.wait()


def test_answers_are_known_at_once_and_counted_once(client):
    table = "id,concept,answer,annotator\npet-30,cat,yes,Cy\npet-31,cat,no,Cy\n"
    assert upload(client, "answers", "a.csv", table).json() == {"said": ["Saved 2 answers."]}
    assert upload(client, "answers", "a.csv", table).json() == {
        "said": ["Saved 0 answers, 2 were there already."],
    }
    states = {entry["path"]: entry["state"] for entry in client.get("/api/predictions/30").json()["entries"]}
    assert states["animal > cat"] == "yes"


@pytest.mark.parametrize(
    ("what", "name", "table", "sentence"),
    [
        (
            "items",
            "more.csv",
            "id,text,labels\na,one,animal\nb,two,anmal\n",
            "more.csv, row 3, column 'labels': there is no concept 'anmal' in the taxonomy: did you mean 'animal'?",
        ),
        (
            "answers",
            "a.csv",
            "id,concept,answer\npet-30,cat,yes\npet-31,cat,perhaps\n",
            "a.csv, row 3, column 'answer': 'perhaps' is neither yes, no nor skip (nor empty)",
        ),
        (
            "items",
            "more.docx",
            "id\n",
            "more.docx: a table ends in .csv, .tsv, .xlsx, .jsonl or .parquet: save it as one of these",
        ),
        (
            "items",
            "more.csv",
            "id,picture,labels\na,../../etc/passwd,animal\n",
            "more.csv, row 2: the picture '../../etc/passwd' lies outside of the table's folder, where this project's "
            "pictures are: move it there, or name another folder with --images",
        ),
    ],
)
def test_a_mistake_in_a_table_is_one_sentence_and_nothing_is_taken_in(client, what, name, table, sentence):
    before = client.get("/api/status").json()
    refused = upload(client, what, name, table)
    assert (refused.status_code, refused.json()) == (400, {"error": sentence})
    after = client.get("/api/status").json()
    assert (after["items"], after["answers"]) == (before["items"], before["answers"])


def test_what_is_no_file_or_too_large_is_refused(client):
    too_large = upload(client, "items", "more.csv", b" " * (LARGEST_UPLOAD + 1))
    sentence = "the file is larger than 32 MiB: divide it, or use `ramify add` where the project lies"
    assert (too_large.status_code, too_large.json()) == (413, {"error": sentence})
    sentence = "the body must be the file itself: send it with Content-Type: application/octet-stream"
    for form in ({"json": {}}, {"data": {"a": "b"}}, {"files": {"a": b"b"}}):
        refused = client.post("/api/import", params={"what": "items", "name": "a.csv"}, **form)
        assert (refused.status_code, refused.json()) == (415, {"error": sentence})
    for name in ("../a.csv", "a/b.csv", "a\\b.csv", ".csv", ".."):
        assert upload(client, "items", name, "id\n").status_code == 422
    octets = client.post("/api/train", content=b"{}", headers={"content-type": FILE})
    assert octets.status_code == 415


def test_one_file_at_a_time(service):
    with service.exchange._alone(), pytest.raises(RamifyError, match=re.escape(BUSY)):
        service.export("labels", "csv")
    shutil.rmtree(service.export("labels", "csv").parent)


def test_a_token_protects_all_of_it(service):
    client = TestClient(create_app(service, token="t" * 20, hosts=HOSTS))
    for path in ("/api/export?what=labels", "/api/settings", "/api/people", "/api/words?item=0&concept=1"):
        assert client.get(path).status_code == 401
    assert upload(client, "items", "a.csv", "id\n").status_code == 401
    assert client.post("/api/settings", json={}).status_code == 401
    assert client.get("/api/people", headers={"authorization": "Bearer " + "t" * 20}).status_code == 200
    elsewhere = {"origin": "http://evil.example", "content-type": FILE, "authorization": "Bearer " + "t" * 20}
    refused = client.post("/api/import", params={"what": "items", "name": "a.csv"}, content=b"id", headers=elsewhere)
    assert refused.status_code == 403


# -- settings ----------------------------------------------------------------------------------------------------------


def changed(client, **new):
    now = client.get("/api/settings").json()
    kept = {name: value for name, value in now.items() if name not in ("strategies", "learners")}
    return client.post("/api/settings", json={**kept, **new})


def test_settings_hold_at_once_and_after_a_restart(client, service, folder):
    new = {
        "strategy": "random",
        "audit": 0.25,
        "gold": 0.05,
        "overlap": 2,
        "budget": 30,
        "train_every": 50,
        "learner": "noisy-or",
        "guidelines": "# Pets\n\nAll about pets.\n",
    }
    said = changed(client, **new).json()
    assert {name: said[name] for name in new} == new
    assert service.questions.strategy == "random"
    assert (service.leases.overlap, service.auditing.share) == (2, 0.25)
    assert client.get("/api/status").json()["budget"] == 30
    assert client.get("/api/project").json()["title"] == "Pets"
    with Service(folder, background=False) as again:
        assert {name: again.settings().model_dump()[name] for name in new} == new
        assert again.questions.strategy == "random"
    with Service(
        folder, background=False, strategy="uncertainty", budget=7
    ) as told:  # an option outranks it, this time
        assert (told.settings().strategy, told.settings().budget, told.settings().overlap) == ("uncertainty", 7, 2)
    assert changed(client, budget=None, guidelines=" ").json()["budget"] is None
    assert not (folder / "guidelines.md").exists()


def test_a_learner_keeps_its_parameters_until_another_is_chosen(client, service):
    kept = service.store.setting("parameters")
    assert kept
    changed(client, overlap=2)
    assert service.store.setting("parameters") == kept
    changed(client, learner="noisy-or")
    assert service.store.setting("parameters") == {}


def test_settings_that_cannot_be_are_refused_and_nothing_is_changed(client):
    before = client.get("/api/settings").json()
    refused = changed(client, learner="os:path", guidelines="# New")
    assert refused.status_code == 400
    assert refused.json()["error"].startswith("there is no learner 'os:path' to choose here: choose among fully-")
    assert changed(client, strategy="os:path").status_code == 400
    for wrong in ({"audit": 1.5}, {"overlap": 0}, {"budget": 0}, {"guidelines": "a" * 100_001}):
        assert changed(client, **wrong).status_code == 422
    assert client.get("/api/settings").json() == before


# -- people and history ------------------------------------------------------------------------------------------------


def test_people_with_speed_and_skips(client, service):
    cat, dog = (int(service.store.id_of[service.store.taxonomy.index(name)]) for name in ("cat", "dog"))
    for number, seconds in enumerate((2.0, 9.0, 4.0)):
        service.answer(
            f"screen-{number}", "Bo", [(20 + number, cat, "yes"), (20 + number, dog, "skip")], seconds=seconds
        )
    service.answer("untimed", "Bo", [(30, cat, "no")])
    service.undo("taken back", "Bo")
    people = {person["name"]: person for person in client.get("/api/people").json()}
    told = people["Bo"]
    assert (told["yes"], told["no"], told["skip"], told["undone"]) == (3, 0, 3, 1)
    assert (told["screens"], told["seconds"]) == (3, 4.0)
    assert people["Ann"]["seconds"] is None
    assert told["last"] > people["Ann"]["last"]


def test_history_has_pages_and_knows_what_was_taken_back_later(client, service):
    cat = int(service.store.id_of[service.store.taxonomy.index("cat")])
    for number in range(6):
        service.answer(f"past-{number}", "Hal", [(20 + number, cat, "yes")])
    for number in range(2):
        service.undo(f"undo-{number}", "Hal")
    pages, before = [], None
    while not pages or pages[-1]:
        asked = {"annotator": "Hal", "limit": 4} | ({} if before is None else {"before": before})
        pages.append(client.get("/api/history", params=asked).json())
        before = pages[-1][-1]["seq"] if pages[-1] else None
    assert [[(past["item"]["item"], past["undone"]) for past in page] for page in pages] == [
        [(25, True), (24, True), (23, False), (22, False)],
        [(21, False), (20, False)],
        [],
    ]


# -- words -------------------------------------------------------------------------------------------------------------


def test_words_that_speak_for_a_concept_against_an_independent_computation(client, service, folder):
    """The text without each word, embedded and predicted by hand, with nothing of the live project."""
    item = next(n for n in range(40) if service.store.items([n])[0].text.startswith("my cat purred"))
    text = service.store.items([item])[0].text
    store = service.store
    cat, dog = (int(store.id_of[store.taxonomy.index(name)]) for name in ("cat", "dog"))
    said = client.get("/api/words", params={"item": item, "concept": [cat, dog]}).json()
    assert said["note"] is None
    assert "".join(piece["text"] for piece in said["pieces"]) == text

    words = list(dict.fromkeys(re.findall(r"\w+", text.lower())))
    texts = [text, *(re.sub(rf"(?i)\b{word}\b", "", text) for word in words)]
    rows, _ = TextEmbedder.load(folder / "embedder").rows(texts)
    with Store(folder) as fresh:
        labels = fresh.labels()
        learner = load(fresh.model()[1] / "learner")
        p = learner.opinions(rows, labels.take([item] * len(texts)))
    for concept, name in zip(said["concepts"], ("cat", "dog"), strict=True):
        column = p[:, store.taxonomy.index(name)]
        assert concept["probability"] == pytest.approx(column[0], abs=2e-4)
        assert concept["without"] == pytest.approx(column[1:], abs=2e-4)
    drops = dict(zip(words, p[0, store.taxonomy.index("cat")] - p[1:, store.taxonomy.index("cat")], strict=True))
    assert max(drops, key=drops.get) == "cat"
    assert drops["cat"] > 0


def test_words_are_embedded_once_for_each_item(client, service, monkeypatch):
    cat = int(service.store.id_of[service.store.taxonomy.index("cat")])
    first = client.get("/api/words", params={"item": 3, "concept": cat}).json()
    monkeypatch.setattr(service.occlusion._embedder, "rows", None)
    assert client.get("/api/words", params={"item": 3, "concept": cat}).json() == first
    service.answer("one more", "Ann", [(25, cat, "yes")])  # the model learns, the texts are the same
    service.state.model.learn(service.state.features, service.state.labels, [25])
    again = client.get("/api/words", params={"item": 3, "concept": cat}).json()
    assert again["pieces"] == first["pieces"]
    assert again["concepts"] != first["concepts"]


def test_a_long_text_and_a_repeated_word(client, service):
    text = " ".join(f"word{n}" for n in range(250)) + " Cat cat. Word1"
    upload(client, "items", "long.csv", f"id,text,labels\nlong,{text},animal\n")
    service._process.wait()
    cat = int(service.store.id_of[service.store.taxonomy.index("cat")])
    said = client.get("/api/words", params={"item": 40, "concept": cat}).json()
    assert said["note"] == TOO_LONG
    assert len(said["concepts"][0]["without"]) == 200
    assert [piece["text"] for piece in said["pieces"] if piece["word"] == 1] == ["word1", "Word1"]
    assert next(piece["word"] for piece in said["pieces"] if piece["text"] == "Cat") is None


def test_where_nothing_can_be_told_it_says_why(client, service, tmp_path):
    texts = Project.create(tmp_path / "texts", {"animal": ["cat", "dog"]})
    texts.add({"id": ["a", "b"], "text": ["a cat", "a dog"], "labels": ["animal"] * 2}, embed="text")
    given = Project.create(tmp_path / "given", {"animal": ["cat", "dog"]})
    given.add({"id": ["a", "b"], "text": ["a cat", None], "labels": ["animal"] * 2}, features=np.eye(2))
    for project, item, note in ((texts, 0, NO_MODEL), (given, 0, FROM_FILES), (given, 1, NO_TEXT)):
        with Service(project.folder, background=False) as opened:
            concept = int(opened.store.id_of[0])
            assert opened.words(item, [concept]).model_dump() == {"pieces": [], "concepts": [], "note": note}
    missing = client.get("/api/words", params={"item": 4000, "concept": 1})
    assert missing.json() == {"error": "there is no item 4000: items are numbered 0 to 39"}
