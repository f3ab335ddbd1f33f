"""The real Label Studio, connected to ``ramify serve --label-studio``: it asks, people answer there, the model learns.

It is a large application: run this with LABEL_STUDIO=/path/to/bin/label-studio, of an environment of its own
(``pip install label-studio``); what was measured is printed (``-s``).
"""

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections import Counter

import pytest

from ramify import Project
from ramify.project.store.store import Store
from test_cli import ramify
from test_service import until
from web_projects import Server, pets_project

COMMAND = os.environ.get("LABEL_STUDIO")
RAMIFY, USER = "a-token-that-nobody-guesses", "0123456789abcdef0123456789abcdef01234567"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not COMMAND, reason="LABEL_STUDIO does not name the command of an installed Label Studio"),
]
START = 600.0  # seconds: its first start makes the database


class Studio:
    """A Label Studio of our own, on this machine only."""

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        settings = {
            "LABEL_STUDIO_USERNAME": "ada@example.org",
            "LABEL_STUDIO_PASSWORD": "a-word-that-is-secret",
            "LABEL_STUDIO_USER_TOKEN": USER,
            "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
            "ML_BLOCK_LOCAL_IP": "false",  # as docs/formats/label-studio.md says: else it calls nobody on this machine
            "SSRF_PROTECTION_ENABLED": "false",
            "COLLECT_ANALYTICS": "false",
            "LATEST_VERSION_CHECK": "false",
            "SENTRY_DSN": "",
            "FRONTEND_SENTRY_DSN": "",
        }
        where = ["--data-dir", str(folder), "--internal-host", "127.0.0.1", "-p", str(self.port)]
        surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | settings
        with (folder.parent / "label-studio.log").open("w") as log:
            self.process = subprocess.Popen(
                [COMMAND, "start", "--no-browser", *where], env=surroundings, stdout=log, stderr=subprocess.STDOUT
            )

    def is_up(self):
        if self.process.poll() is not None:
            raise RuntimeError("Label Studio ended: see label-studio.log")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def call(self, method, path, body=None):
        headers = {"Authorization": f"Token {USER}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/api{path}", content, headers, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            said = answer.read()
        return json.loads(said) if said else None


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("real") / "data"
    folder.mkdir()
    opened = Studio(folder)
    began = time.monotonic()
    try:
        until(opened.is_up, START)
        print(f"\nLabel Studio was up after {time.monotonic() - began:.0f} s")
        yield opened
    finally:
        opened.process.terminate()
        opened.process.wait()


def result(*paths):
    value = {"taxonomy": [list(path) for path in paths]}
    return [{"from_name": "concepts", "to_name": "text", "type": "taxonomy", "value": value}]


def answers(folder):
    with Store(folder) as store:
        undone = {event.undoes for event in store.events()}
        ids, taxonomy, number_of = store.all_ids(), store.taxonomy, store.number_of
        return {
            (str(ids[event.item]), taxonomy.path(number_of[event.concept]), event.answer)
            for event in store.events(annotator="label-studio 1")
            if event.undoes is None and event.seq not in undone
        }


def test_a_free_label_studio_learns_from_its_people(studio, tmp_path):
    folder, call = pets_project(tmp_path / "pets", count=200, answered=4), studio.call
    assert (
        "Wrote 200 items"
        in ramify("predict", str(folder), "--format", "label-studio", "--out", f"{tmp_path}/tasks.json").stdout
    )
    written = json.loads((tmp_path / "tasks.json").read_text())
    config = (tmp_path / "tasks.xml").read_text()
    project = call("POST", "/projects/", {"title": "Pets", "label_config": config})["id"]
    brought = call("POST", f"/projects/{project}/import?return_task_ids=true", written)
    assert (brought["task_count"], brought["prediction_count"]) == (200, 200)
    task_of = {task["data"]["id"]: number for task, number in zip(written, brought["task_ids"], strict=True)}
    server = Server(folder, label_studio=True, token=RAMIFY)
    server.start()
    try:
        address = f"http://ramify:{RAMIFY}@127.0.0.1:{server.port}/"
        backend = call("POST", "/ml/", {"url": address, "project": project, "title": "Ramify"})
        assert (backend["readable_state"], backend["error_message"]) == ("Connected", None)
        assert backend["model_version"] == "ramify 1, 0 items answered"

        # Annotations arrive by webhook: created, changed, deleted.
        first = call(
            "POST", f"/tasks/{task_of['pet-20']}/annotations/", {"result": result(["animal", "cat"]), "lead_time": 2}
        )
        assert answers(folder) == {
            ("pet-20", "animal", "yes"), ("pet-20", "animal > cat", "yes"), ("pet-20", "animal > dog", "no"),
            ("pet-20", "weather", "no"),
        }  # fmt: skip
        call("PATCH", f"/annotations/{first['id']}/", {"result": result(["animal", "dog"])})
        assert ("pet-20", "animal > dog", "yes") in answers(folder)
        assert ("pet-20", "animal > cat", "yes") not in answers(folder)
        call("DELETE", f"/annotations/{first['id']}/")
        assert answers(folder) == set()

        # The tasks whose answers teach most are asked first, and the model learns from each.
        everything = {"selectedItems": {"all": True, "excluded": []}}
        retrieve = f"/dm/actions?id=retrieve_tasks_predictions&project={project}"
        began = time.monotonic()
        assert call("POST", retrieve, everything)["processed_items"] == 200
        seconds = time.monotonic() - began
        version = "ramify 1, 0 items answered"
        call("PATCH", f"/projects/{project}", {"sampling": "Uncertainty sampling", "model_version": version})
        took = []
        for _ in range(20):
            asked = call("GET", f"/projects/{project}/next")
            number = int(asked["data"]["id"].removeprefix("pet-"))
            began = time.monotonic()
            chosen = result(["animal", "cat" if number % 2 else "dog"])
            call("POST", f"/tasks/{asked['id']}/annotations/", {"result": chosen, "lead_time": 2.0})
            took.append(time.monotonic() - began)
            if not len(took) - 1:
                lowest = min(
                    call("GET", f"/predictions?project={project}"), key=lambda found: (found["score"], -found["id"])
                )
                assert lowest["score"] == 0.0
                assert asked["id"] == lowest["task"]
        assert len(answers(folder)) == 80
        began = time.monotonic()
        call("POST", retrieve, everything)
        again = time.monotonic() - began
        now = "ramify 1, 20 items answered"
        found = [one for one in call("GET", f"/predictions?project={project}") if one["model_version"] == now]
        assert len(found) == 200
        right = Counter()
        number_of = {task: int(name.removeprefix("pet-")) for name, task in task_of.items()}
        for one in found:
            kind = "cat" if number_of[one["task"]] % 2 else "dog"
            right[one["result"][0]["value"]["taxonomy"] == [["animal", kind]]] += 1
        assert right[True] > 190
        print(
            f"200 predictions retrieved in {seconds:.1f} s, the model loaded for them, and again in {again:.1f} s; "
            f"an annotation with its webhook in {sorted(took)[10]:.2f} s (median of 20); {right[True]} of 200 right"
        )

        # A training that is started there, and the new version after it.
        call("POST", f"/ml/{backend['id']}/train", {})
        with Store(folder) as store:
            until(lambda: store.model()[0] == 2, 300)
    finally:
        server.kill()

    # Exported and taken into a project that never heard of it, nothing is lost; in this one, nothing counts twice.
    exported = call("GET", f"/projects/{project}/export?exportType=JSON&download_all_tasks=true")
    (tmp_path / "export.json").write_text(json.dumps(exported))
    (tmp_path / "export.xml").write_text(config)
    assert Project(folder).add(tmp_path / "export.json").answers == 0
    other = Project.create(tmp_path / "other", tmp_path / "export.xml")
    assert other.add(tmp_path / "export.json", embed="text").added == 200
    assert answers(tmp_path / "other") == answers(folder)


def test_what_a_project_exports_is_taken_in(studio, tmp_path):
    """Annotations keep their people where Label Studio knows their addresses; unicode, three levels."""
    concepts = {"Tiere": {"Hunde": {"Dackel ü": None, "猫": {"aliases": ["Katze"]}}}, "Essen": ["Käse"]}
    made = Project.create(tmp_path / "made", concepts)
    made.add({"id": ["a", "ü", "c"], "text": ["eins", "zwei", "drei"]}, embed="text")
    said = [{"id": "a", "concept": "Dackel ü", "answer": "yes"}, {"id": "ü", "concept": "Käse", "answer": "yes"}]
    made.answer(said, annotator="ada@example.org")
    made.answer([{"id": "a", "concept": "猫", "answer": "yes"}], annotator="Bob")
    assert (
        "1 people have no e-mail address"
        in ramify("export", str(made.folder), "--format", "label-studio", "--out", f"{tmp_path}/t.json").stdout
    )
    tasks, config = json.loads((tmp_path / "t.json").read_text()), (tmp_path / "t.xml").read_text()
    project = studio.call("POST", "/projects/", {"title": "Tiere", "label_config": config})["id"]
    assert studio.call("POST", f"/projects/{project}/import", tasks)["annotation_count"] == 3
    exported = studio.call("GET", f"/projects/{project}/export?exportType=JSON")
    back = {
        task["data"]["id"]: [one["result"][0]["value"]["taxonomy"] for one in task["annotations"]] for task in exported
    }
    assert back == {"a": [[["Tiere", "Hunde", "Dackel ü"]], [["Tiere", "Hunde", "Katze"]]], "ü": [[["Essen", "Käse"]]]}
    sent = {said["id"] for task in tasks for said in task.get("annotations", ())}
    assert sent == {said["import_id"] for task in exported for said in task["annotations"]}
    assert not any(said["ground_truth"] for task in exported for said in task["annotations"])

    # Nothing of it is new to the project that wrote it; a project that never heard of it takes each in once.
    def taken(folder, tasks, name, embed=None):
        (tmp_path / f"{name}.json").write_text(json.dumps(tasks))
        (tmp_path / f"{name}.xml").write_text(config)
        return Project(folder).add(tmp_path / f"{name}.json", embed=embed).answers

    assert [taken(made.folder, came, "again") for came in (tasks, exported)] == [0, 0]
    other = Project.create(tmp_path / "other", tmp_path / "t.xml").folder
    assert [taken(other, exported, "other", embed="text") for _ in range(2)] == [13, 0]
    one = next(said for task in exported for said in task["annotations"] if task["data"]["id"] == "ü")
    studio.call("PATCH", f"/annotations/{one['id']}/", {"result": result(["Tiere", "Hunde", "Katze"])})
    changed = studio.call("GET", f"/projects/{project}/export?exportType=JSON")
    assert [taken(folder, changed, "changed") for folder in (made.folder, other)] == [5, 5]

    # Predictions of a concept that is said by its alias are taken in too.
    made.train()
    (tmp_path / "p").mkdir()
    ramify("predict", str(made.folder), "--format", "label-studio", "--out", f"{tmp_path}/p/p.json")
    predicted = json.loads((tmp_path / "p" / "p.json").read_text())
    predicted[0]["predictions"][0]["result"] = result(["Tiere", "Hunde", "Katze"])
    assert studio.call("POST", f"/projects/{project}/import", predicted)["prediction_count"] == 3
