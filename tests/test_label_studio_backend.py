"""A project as Label Studio's machine learning backend: what it answers, takes in and refuses."""

import base64
import json

import pytest
from fastapi.testclient import TestClient

from ramify.errors import RamifyError
from ramify.label_config import config_of
from ramify.project.limits import LARGEST_UPLOAD
from ramify.project.live.changing import TaxonomyChange
from ramify.project.live.label_studio import LabelStudio
from ramify.project.live.service import Service
from ramify.project.live.teaching import teaching_order
from ramify.readers.annotations import Mark
from ramify.readers.label_studio_tasks import content_of
from ramify.web import create_app
from test_cli import ramify
from web_projects import pets_project, text_project

TOKEN = "a-token-that-nobody-guesses"
CONFIG = """<View><Text name="t" value="$text"/><Taxonomy name="kind" toName="t">
  <Choice value="animal"><Choice value="cat"/><Choice value="dog" alias="d"/></Choice>
  <Choice value="weather"><Choice value="rain"/><Choice value="snow"/></Choice></Taxonomy></View>"""
FLAT = """<View><Text name="t" value="$text"/><Choices name="kind" toName="t" choice="multiple">
  <Choice value="cat"/><Choice value="dog"/><Choice value="rain"/><Choice value="snow"/></Choices></View>"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return pets_project(tmp_path_factory.mktemp("studio") / "pets")


@pytest.fixture(scope="module")
def service(folder):
    with Service(folder, background=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def client(service):
    return TestClient(create_app(service, hosts=("testserver",), backend=LabelStudio(service)))


def task(number, name=None):
    return {"id": number, "data": {"id": name or f"pet-{number}", "text": "as it is there"}, "project": 1}


def happened(action, number, *paths, item=20, **more):
    """What Label Studio sends."""
    about = {"id": 1, "label_config": CONFIG}
    if action == "ANNOTATIONS_DELETED":
        return {"action": action, "annotations": [{"id": number}], "project": about}
    value = {"taxonomy": [list(path) for path in paths]}
    result = [{"from_name": "kind", "to_name": "t", "type": "taxonomy", "value": value}] if paths else []
    said = {"id": number, "result": result, "completed_by": 3, "project": 1, "unique_id": f"{number:08x}-1", **more}
    return {"action": action, "annotation": said, "task": task(item), "project": about}


def hear(client, *what, **more):
    return client.post("/webhook", json=happened(*what, **more)).json()


def standing(service, item):
    undone = {event.undoes for event in service.store.events()}
    taxonomy, number_of = service.store.taxonomy, service.store.number_of
    return {
        taxonomy.names[number_of[event.concept]]: event.answer
        for event in service.store.events(annotator="label-studio 3")
        if event.item == item and event.undoes is None and event.seq not in undone
    }


def test_it_is_there_and_connects(client):
    assert client.get("/health").json() == {"status": "UP"}
    setup = {
        "project": "1.2",
        "schema": CONFIG,
        "hostname": "http://localhost",
        "access_token": "x",
        "extra_params": None,
    }
    assert client.post("/setup", json=setup).json() == {"model_version": "ramify 1, 0 items answered"}
    assert client.post("/setup", json=setup | {"schema": FLAT}).status_code == 200


def test_tasks_are_predicted_and_those_that_would_teach_most_have_the_lowest_score(client, service):
    wanted = {"tasks": [task(13), task(12), task(0), task(99), {"id": 7}], "project": "1.2", "label_config": CONFIG}
    cat, dog, known, *strange = client.post("/predict", json={**wanted, "params": {}}).json()["results"]
    about = {"from_name": "kind", "to_name": "t", "type": "taxonomy"}
    assert cat[0]["result"] == [{**about, "value": {"taxonomy": [["animal", "cat"]]}}]
    assert dog[0]["result"] == [{**about, "value": {"taxonomy": [["animal", "d"]]}}]  # as tasks say it there
    assert dog[0]["model_version"] == "ramify 1, 0 items answered"
    assert known[0]["score"] == 1.0  # nothing is left to ask
    assert strange == [[], []]  # no items of the project
    order = teaching_order(service)
    assert len(order) == 28
    everything = client.post("/predict", json={"tasks": [task(n) for n in range(40)], "label_config": FLAT}).json()
    scores = {n: listed[0]["score"] for n, listed in enumerate(everything["results"])}
    assert sorted(order, key=scores.__getitem__) == list(order)
    assert everything["results"][13][0]["result"][0]["value"] == {"choices": ["cat"]}


def test_an_annotation_is_kept_once_replaced_and_taken_back(client, service):
    first = {"updated_at": "2026-11-18T19:38:12.020348Z", "lead_time": 3.5}
    assert hear(client, "ANNOTATION_CREATED", 5, ["animal", "d"], **first) == {"said": "4 answers saved, 0 taken back"}
    assert standing(service, 20) == {"animal": "yes", "dog": "yes", "cat": "no", "weather": "no"}
    assert service.state.labels.states(20, ["cat", "dog"]).tolist() == [[0, 1]]
    assert hear(client, "ANNOTATION_CREATED", 5, ["animal", "d"], **first) == {"said": "0 answers saved, 0 taken back"}
    later = {"updated_at": "2026-11-18T19:38:13Z"}
    assert hear(client, "ANNOTATION_UPDATED", 5, ["animal"], **later) == {"said": "2 answers saved, 4 taken back"}
    assert standing(service, 20) == {"animal": "yes", "weather": "no"}
    assert service.state.labels.states(20, ["cat", "dog"]).tolist() == [[-1, -1]]
    assert hear(client, "ANNOTATIONS_DELETED", 5) == {"said": "2 answers taken back"}
    assert hear(client, "ANNOTATIONS_DELETED", 5) == {"said": "0 answers taken back"}
    assert hear(client, "ANNOTATION_UPDATED", 5, ["animal"], **later) == {"said": "0 answers saved, 0 taken back"}
    assert standing(service, 20) == {}
    assert (
        hear(client, "ANNOTATION_CREATED", 6, ["weather"], was_cancelled=True)["said"]
        == "0 answers saved, 0 taken back"
    )
    assert hear(client, "TASKS_CREATED", 6) == {"said": "TASKS_CREATED changes nothing here"}
    many = happened("ANNOTATIONS_CREATED", 7, ["animal", "cat"], item=21)
    many |= {"annotation": [many["annotation"]], "task": [many["task"]]}
    assert client.post("/webhook", json=many).json() == {"said": "4 answers saved, 0 taken back"}


def test_of_what_the_project_wrote_only_a_change_is_news(client, service):
    """Its answers were given here: whether the annotation is deleted there says nothing of them."""
    cat = int(service.store.id_of[service.store.taxonomy.index("cat")])
    nothing = {"said": "0 answers saved, 0 taken back"}
    service.store.record("page 1", "label-studio 3", [(22, cat, "yes")])
    for key, number in (("page 1", 8), ("", 9)):
        mark = Mark.of(content_of("pet-22", False, [("animal", "cat")]), key).number
        assert hear(client, "ANNOTATION_CREATED", number, ["animal", "cat"], item=22, import_id=mark) == nothing
        cancelled = {"import_id": mark, "was_cancelled": True}
        assert hear(client, "ANNOTATION_UPDATED", number, ["animal", "cat"], item=22, **cancelled) == nothing
        assert hear(client, "ANNOTATIONS_DELETED", number) == {"said": "0 answers taken back"}
    assert standing(service, 22) == {"cat": "yes"}
    changed = hear(client, "ANNOTATION_UPDATED", 9, ["animal", "d"], item=22, import_id=mark)
    assert changed == {"said": "4 answers saved, 0 taken back"}


def test_what_was_answered_teaches_the_model(tmp_path):
    with Service(pets_project(tmp_path / "pets", answered=4)) as service:
        backend = LabelStudio(service, partial=True)
        said = happened("ANNOTATION_CREATED", 5, ["animal", "cat"])
        before = service.state.labels.states().tolist()
        assert backend.hear("ANNOTATION_CREATED", said) == "2 answers saved, 0 taken back"  # and nothing is denied
        assert service.state.labels.states().tolist() != before
        assert backend.hear("START_TRAINING", {}) == "a training has begun"
        assert backend.hear("START_TRAINING", {}) == "a model is being trained already"


def test_a_concept_that_is_split_while_an_annotation_is_read(tmp_path):
    with Service(text_project(tmp_path / "texts", 3), background=False) as service:
        backend, taxonomy = LabelStudio(service), service.store.taxonomy
        ids, number_of_item = service.store.id_of, backend._number

        def meanwhile(task):
            if service.store.taxonomy == taxonomy:
                cat = int(ids[taxonomy.index("cat")])
                service.change_taxonomy(TaxonomyChange(kind="split", concepts=[cat], names=["tabby", "manx"]))
            return number_of_item(task)

        backend._number = meanwhile
        said = happened("ANNOTATION_CREATED", 5, ["animal", "dog"], item=0)
        said["task"]["data"]["id"] = "text-0"
        said["project"]["label_config"] = config_of(taxonomy.to_dict(), "text")
        said["annotation"]["result"][0]["from_name"] = "concepts"
        backend.hear("ANNOTATION_CREATED", said)
        said_of = {int(ids[taxonomy.index(name)]): name for name in taxonomy.names}
        yes = {said_of[event.concept] for event in service.store.events() if event.answer == "yes"}
        assert yes == {"animal", "dog"}


def test_before_there_is_a_model_what_is_known_is_said(tmp_path):
    with Service(text_project(tmp_path / "texts", 3), background=False) as service:
        config = """<View><Text name="t" value="$text"/><Taxonomy name="k" toName="t"><Choice value="animal">
          <Choice value="cat"/><Choice value="dog"/><Choice value="bird"/></Choice>
          <Choice value="weather"><Choice value="rain"/><Choice value="snow"/></Choice></Taxonomy></View>"""
        backend = LabelStudio(service)
        ((found,),) = backend.predict([{"id": 1, "data": {"id": "text-0"}}], config)
        assert found["result"][0]["value"] == {"taxonomy": [["animal"]]}
        assert found["model_version"] == "ramify 0, 0 items answered"


SENTENCES = {
    ("/setup", "<View>"): "the labelling config: line 1: this is not valid XML: the labelling config may be cut off",
    ("/setup", CONFIG.replace("cat", "horse")): (
        "the labelling config has 'animal > horse', which this project's taxonomy has not: use the config that `ramify "
        "export --format label-studio` writes"
    ),
    ("/setup", FLAT.replace('<Choice value="cat"/><Choice value="dog"/>', "")): (
        "the labelling config lacks 'animal > cat' and 1 more, which this project asks about: use the config that "
        "`ramify export --format label-studio` writes"
    ),
}


@pytest.mark.parametrize(("where", "config"), SENTENCES)
def test_a_config_that_does_not_fit_is_one_sentence(where, config, client, caplog):
    refused = client.post(where, json={"schema": config})
    assert refused.status_code == 400
    assert refused.json() == {"error": SENTENCES[where, config]}
    assert caplog.messages == [f"a project of Label Studio cannot connect: {SENTENCES[where, config]}"]
    assert client.post("/predict", json={"tasks": [], "label_config": config}).json() == {
        "error": SENTENCES[where, config]
    }


def test_events_that_cannot_be_taken_in(client, service):
    events = service.store.last_event()
    lacking = "ANNOTATION_CREATED lacks the annotation or its task: let the webhook send its payload"
    strange = happened("ANNOTATION_CREATED", 8, ["animal"]) | {
        "task": {"id": 77, "data": {"text": "of another project"}}
    }
    horse = happened("ANNOTATION_CREATED", 8, ["horse"])
    wrong = {
        lacking: {"action": "ANNOTATION_CREATED"},
        "a webhook says what happened, in 'action'": {},
        "ANNOTATION_UPDATED lacks the project's label_config: let the webhook send its payload": (
            happened("ANNOTATION_UPDATED", 8) | {"project": 1}
        ),
        "the task '77' is no item of this project, so its annotation is not taken in: export the tasks as JSON and add "
        "them (ramify add), annotations included": strange,
        "annotation 8: nothing tells who made it: completed_by is missing": happened(
            "ANNOTATION_CREATED", 8, ["animal"], completed_by=None
        ),
        "annotation 8: its result must be a list of objects": happened("ANNOTATION_CREATED", 8, result="cat"),
        "annotation 8: the choice 'horse' is not in the labelling config: use the config that it was made with": horse,
        "a deletion names the ids of annotations and of their project: let the webhook send them": {
            "action": "ANNOTATIONS_DELETED"
        },
    }
    for sentence, said in wrong.items():
        refused = client.post("/webhook", json=said)
        assert (refused.status_code, refused.json()) == (400, {"error": sentence})
    for path, said in (("/predict", {"tasks": 5, "label_config": CONFIG}), ("/setup", {}), ("/webhook", [])):
        assert client.post(path, json=said).status_code == 422
    assert client.post("/webhook", content=b"[", headers={"content-type": "application/json"}).status_code == 422
    assert service.store.last_event() == events


def test_who_may_ask(service):
    client = TestClient(create_app(service, token=TOKEN, hosts=None, backend=LabelStudio(service)))
    basic = base64.b64encode(f"ramify:{TOKEN}".encode()).decode()
    setup = {"json": {"schema": CONFIG}}
    assert client.get("/health").status_code == 200
    assert client.post("/setup", **setup, headers={"authorization": f"Basic {basic}"}).status_code == 200
    assert client.post("/setup", **setup, headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    wrong = base64.b64encode(b"ramify:another-token-of-somebody").decode()
    for path in ("/setup", "/predict", "/webhook"):
        for headers in (
            {},
            {"authorization": f"Basic {wrong}"},
            {"authorization": "Basic ü!"},
            {"authorization": "Basic"},
        ):
            given = {name: value.encode() for name, value in headers.items()}
            assert client.post(path, **setup, headers=given).status_code == 401
        other = {"authorization": f"Basic {basic}", "origin": "https://elsewhere.example"}
        assert client.post(path, **setup, headers=other).status_code == 403
        form = {"authorization": f"Basic {basic}", "content-type": "text/plain"}
        assert client.post(path, content=b"{}", headers=form).status_code == 415
        large = {"authorization": f"Basic {basic}", "content-length": str(LARGEST_UPLOAD + 1)}
        refused = client.post(path, content=b"{}", headers={**large, "content-type": "application/json"})
        assert refused.status_code == 413
        assert refused.json()["error"] == "the request is larger than 32 MiB: let Label Studio send fewer tasks at once"


def test_who_asks_for_nothing_of_it_gets_nothing(service):
    client = TestClient(create_app(service, hosts=("testserver",)))
    for path in ("/setup", "/predict", "/webhook"):
        assert client.post(path, json={}).status_code == 404
    assert client.get("/health").status_code == 404


def test_the_commands(folder, tmp_path):
    done = ramify("predict", str(folder), "--format", "label-studio", "--out", str(tmp_path / "tasks.json"))
    assert "Wrote 40 items to" in done.stdout
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    scores = [task["predictions"][0]["score"] for task in tasks]
    assert scores == sorted(scores)
    assert scores[0] == 0.0
    assert scores[-1] == 1.0
    with Service(folder, background=False) as service:
        order = teaching_order(service)
    assert [task["data"]["id"] for task in tasks[: len(order)]] == [f"pet-{number}" for number in order]
    refused = ramify("serve", str(folder), "--partial")
    assert refused.stderr == "ramify: --partial is for what comes from Label Studio: give --label-studio too\n"


def test_a_list_of_noted_questions_is_made_anew(folder):
    with Service(folder, background=False) as service:
        assert service.next("ann")  # which notes questions for the next server
    with Service(folder) as service:
        assert len(teaching_order(service)) > 20
    with pytest.raises(RamifyError, match=r"^ANNOTATION_CREATED lacks"):
        LabelStudio(service).hear("ANNOTATION_CREATED", {})
