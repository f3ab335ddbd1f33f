"""The HTTP API: what it does, what it refuses, and that nothing makes it stumble."""

import json
import re
import threading
import urllib.request
from pathlib import Path
from typing import ClassVar

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from PIL import Image
from schemathesis import GenerationMode
from schemathesis.checks import response_schema_conformance, status_code_conformance

from ramify import RamifyError
from ramify.project.live.service import Service
from ramify.project.store.troubles import UnavailableError
from ramify.web import create_app
from ramify.web.app import _link, _listen
from ramify.web.security import MOST_BYTES
from web_projects import Server, scene_project, text_project

TOKEN = "a-token-that-nobody-guesses"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with Service(text_project(tmp_path_factory.mktemp("web") / "texts")) as opened:
        yield opened


@pytest.fixture(scope="module")
def app(service):
    return create_app(service, hosts=("testserver", "localhost"), name="texts")


@pytest.fixture
def client(app):
    return TestClient(app)


@pytest.fixture(scope="module")
def guarded(service):
    return create_app(service, token=TOKEN, hosts=None)


def ask(client, annotator, **wanted):
    return client.post("/api/next", json={"annotator": annotator, **wanted}).json()


def answers_to(task, answer="no"):
    return [{"item": entry["item"], "concept": entry["concept"], "answer": answer} for entry in task["entries"]]


def say(client, key, annotator, answers, **more):
    return client.post("/api/answers", json={"key": key, "annotator": annotator, "answers": answers, **more})


class TestAsking:
    def test_a_question_is_answered_and_undone(self, client):
        (task,) = ask(client, "Ada")
        assert task["mode"] == "group"
        assert task["path"] == ["animal"]
        answers = answers_to(task)
        answers[0]["answer"] = "yes"
        assert say(client, "ada-key-1", "Ada", answers).json()["saved"] == len(answers)
        assert ask(client, "Ada")[0]["item"] != task["item"]
        history = client.get("/api/history", params={"annotator": "Ada"}).json()
        assert sorted(one["answer"] for one in history) == ["no", "no", "yes"]
        undone = client.post("/api/undo", json={"key": "ada-key-2", "annotator": "Ada"}).json()
        assert {(one["item"], one["concept"]) for one in undone["undone"]} == {
            (a["item"], a["concept"]) for a in answers
        }
        assert undone["task"]["item"] == task["item"]

    def test_the_same_key_counts_once(self, client, service):
        (task,) = ask(client, "Bea")
        before = len(service.store.events(annotator="Bea"))
        first, again = (say(client, "bea-key-1", "Bea", answers_to(task, "skip")).json() for _ in range(2))
        assert first["events"] == again["events"]
        assert len(service.store.events(annotator="Bea")) == before + len(task["entries"])
        other = say(client, "bea-key-1", "Bea", answers_to(task, "yes"))
        assert other.status_code == 400
        assert "bea-key-1" in other.json()["error"]

    def test_two_annotators_never_get_the_same_question(self, client):
        tasks = [*ask(client, "Cleo", count=5), *ask(client, "Dan", count=5)]
        entries = [(entry["item"], entry["concept"]) for task in tasks for entry in task["entries"]]
        assert len(entries) == len(set(entries)) > 20

    @pytest.mark.parametrize(("mode", "entries"), [("single", 1), ("grid", 12)])
    def test_other_modes(self, client, mode, entries):
        (task,) = ask(client, f"Eve {mode}", mode=mode)
        assert task["mode"] == mode
        assert 1 <= len(task["entries"]) <= entries  # others may hold some of the twelve
        assert len(task["items"]) == (len(task["entries"]) if mode == "grid" else 0)


class TestLooking:
    def test_status_taxonomy_and_project(self, client):
        status = client.get("/api/status", params={"annotator": "Ada"}).json()
        assert status["items"] == 30
        assert [one["path"] for one in client.get("/api/taxonomy").json()][:2] == ["animal", "animal > cat"]
        assert client.get("/api/project").json()["name"] == "texts"

    def test_browse_predictions_and_why(self, client):
        cat = next(one["concept"] for one in client.get("/api/taxonomy").json() if one["name"] == "cat")
        found = client.get("/api/browse", params={"concept": cat, "query": "purred", "limit": 3}).json()
        assert found["total"] == 10
        assert len(found["items"]) == 3
        item = found["items"][0]["item"]["item"]
        assert client.get(f"/api/predictions/{item}").json()["item"]["item"] == item
        rain = next(one["concept"] for one in client.get("/api/taxonomy").json() if one["name"] == "rain")
        why = client.get("/api/why", params={"item": item, "concept": rain}).json()
        assert why["state"] == "no"
        weather = next(one["concept"] for one in client.get("/api/taxonomy").json() if one["name"] == "weather")
        deduced = {"kind": "deduction", "rule": "parent-irrelevant", "concept": weather, "path": "weather"}
        assert why["reasons"] == [deduced]

    def test_what_people_should_look_at_again(self, client):
        by_name = {one["name"]: one["concept"] for one in client.get("/api/taxonomy").json()}
        for name, answer in (("Fay", "yes"), ("Gus", "no")):
            say(client, f"{name}-disagrees", name, [{"item": 29, "concept": by_name["dog"], "answer": answer}])
        say(client, "Fay-coarse", "Fay", [{"item": 28, "concept": by_name["animal"], "answer": "no"}])
        review = client.get("/api/review").json()
        assert [(one["item"]["item"], one["path"]) for one in review["disagreements"]] == [(29, "animal > dog")]
        assert [(one["item"]["item"], one["path"]) for one in review["coarse_wrong"]] == [(28, "animal")]
        say(client, "Fay-settles", "Fay", [{"item": 29, "concept": by_name["dog"], "answer": "yes"}], settles=True)
        assert client.get("/api/review").json()["disagreements"] == []

    def test_training_needs_features(self, client):
        assert client.post("/api/train", json={}).json()["started"] is False

    def test_the_page_and_the_docs_need_nothing_from_elsewhere(self, client):
        for path in ("/", "/docs", *(f"/static/{file.name}" for file in STATIC.iterdir())):
            response = client.get(path)
            assert response.status_code == 200
            elsewhere = [word for word in response.text.split() if "://" in word and "www.w3.org" not in word]
            assert [word for word in elsewhere if "location.origin" not in word] == []


STATIC = Path(__file__).resolve().parents[1] / "src/ramify/web/static"


class TestHostileRequests:
    """Each is refused with a 4xx and a sentence, never a traceback."""

    SAYS: ClassVar = {
        "key": "hostile-key",
        "annotator": "Mallory",
        "answers": [{"item": 0, "concept": 1, "answer": "yes"}],
    }

    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({"Origin": "https://evil.example"}, 403),
            ({"Origin": "null"}, 403),
            ({"Origin": "http://testserver.evil.example"}, 403),
            ({"Origin": "http://testserver:81"}, 403),
            ({"Sec-Fetch-Site": "cross-site"}, 403),
            ({"Sec-Fetch-Site": "same-site"}, 403),
            ({"Host": "evil.example"}, 400),
            ({"Host": "localhost.evil.example:8000"}, 400),
            ({"Host": "localhost@evil.example"}, 400),
            ({"Host": ""}, 400),
            ({"Content-Type": "text/plain"}, 415),
            ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
            ({"X-Ramify-Project": "another"}, 409),
        ],
    )
    def test_writes_from_elsewhere(self, client, service, headers, status):
        for path in ("/api/answers", "/api/undo", "/api/next", "/api/train"):
            response = client.post(path, json=self.SAYS, headers=headers)
            assert response.status_code == status
            assert set(response.json()) == {"error"}
        assert service.store.events(annotator="Mallory") == []

    def test_another_page_cannot_read(self, client):
        response = client.get("/api/status", headers={"Sec-Fetch-Site": "cross-site"})
        assert response.status_code == 403
        assert "access-control-allow-origin" not in client.options("/api/status").headers

    def test_what_comes_from_the_page_itself_is_taken(self, client):
        headers = {"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"}
        assert client.post("/api/next", json={"annotator": "Ida"}, headers=headers).status_code == 200

    def test_oversized(self, client):
        large = b'{"annotator": "' + b"a" * MOST_BYTES + b'"}'
        as_json = {"Content-Type": "application/json"}
        assert client.post("/api/next", content=large, headers=as_json).status_code == 413

        def in_parts():  # without a Content-Length that would tell
            for _ in range(40):
                yield b" " * (MOST_BYTES // 32)

        assert client.post("/api/next", content=in_parts(), headers=as_json).status_code == 413
        assert client.post("/api/next", json={"annotator": "a" * 101}).status_code == 422
        assert client.post("/api/next", json={"annotator": "a" * 100}).status_code == 200
        assert client.get("/api/browse", params={"query": "a" * 201}).status_code == 422
        many = [{"item": 0, "concept": 1, "answer": "no"}] * 2001
        assert say(client, "too-many-1", "Mallory", many).status_code == 422

    @pytest.mark.parametrize(
        "path",
        [
            "/static/../app.py",
            "/static/%2e%2e/app.py",
            "/static/..%2fapp.py",
            "/static/%2e%2e%2f%2e%2e%2ferrors.py",
            "/static//etc/passwd",
            "/static/..\\app.py",
            "/pictures/..%2f..%2fetc%2fpasswd",
            "/pictures/-1",
            "/pictures/99999999999999999999999",
            "/pictures/0",
            "/api/predictions/1e3",
            "/nothing",
        ],
    )
    def test_traversal(self, client, path):
        response = client.get(path)
        assert 400 <= response.status_code < 500
        assert set(response.json()) == {"error"}
        assert "import" not in response.text

    @pytest.mark.parametrize(
        "name", ["Ada\r\nSet-Cookie: a=b", "\x00", "\x1b[31m", " ", "\ud800", "a\nb", "\u202eevil"], ids=ascii
    )
    def test_names_that_are_no_names(self, client, name):
        content = b'{"annotator": %s}' % json.dumps(name).encode()
        response = client.post("/api/next", content=content, headers={"Content-Type": "application/json"})
        assert response.status_code in (400, 422)
        assert set(response.json()) == {"error"}

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"{",
            b"[]",
            b"null",
            b'{"annotator": NaN}',
            b"\xff\xfe",
            b'{"a":' * 50_000,
            b"[" * 100_000,
            b'{"annotator": 1e999}',
        ],
        ids=lambda content: ascii(content[:12]),
    )
    def test_bodies_that_are_no_requests(self, client, content):
        response = client.post("/api/next", content=content, headers={"Content-Type": "application/json"})
        assert response.status_code in (400, 422)
        assert set(response.json()) == {"error"}

    def test_header_injection_through_a_query(self, client):
        response = client.get("/?token=x%0d%0aSet-Cookie:%20a=b")
        assert "set-cookie" not in response.headers

    def test_every_response_is_armoured(self, client):
        for response in (
            client.get("/"),
            client.get("/api/status"),
            client.get("/nothing"),
            client.get("/static/main.js"),
        ):
            policy = response.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert response.headers["x-content-type-options"] == "nosniff"
            assert response.headers["x-frame-options"] == "DENY"
            assert response.headers["referrer-policy"] == "no-referrer"

    def test_no_inline_script_or_style(self):
        for page in STATIC.glob("*.html"):
            text = page.read_text()
            assert "style=" not in text
            assert "<style" not in text
            assert " on" not in text.lower().replace(" one ", "").replace(" only", "").replace(" online", "")
        for script in STATIC.glob("*.js"):
            text = script.read_text()
            assert not any(
                word in text for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "document.write")
            )


class TestToken:
    def test_without_it_there_is_no_data(self, guarded):
        client = TestClient(guarded)
        for path in ("/api/status", "/api/taxonomy", "/pictures/0", "/openapi.json"):
            assert client.get(path).status_code == 401
        for wrong in (f"Bearer {TOKEN}x", "Bearer", f"Basic {TOKEN}", "Bearer \xe9".encode("latin-1")):
            assert client.get("/api/status", headers={"Authorization": wrong}).status_code == 401
        assert client.post("/api/next", json={"annotator": "Ada"}).status_code == 401
        assert "set-cookie" not in client.get("/?token=wrong").headers

    def test_the_link_brings_a_cookie(self, guarded):
        client = TestClient(guarded)
        cookie = client.get(f"/?token={TOKEN}").headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert client.get("/api/status").status_code == 200

    def test_scripts_send_it_in_a_header(self, guarded):
        response = TestClient(guarded).get("/api/status", headers={"Authorization": f"Bearer {TOKEN}"})
        assert response.status_code == 200

    def test_any_host_needs_one(self, service):
        with pytest.raises(RamifyError, match="needs a token"):
            TestClient(create_app(service, hosts=None)).get("/")

    def test_a_short_one_is_refused(self, service):
        with pytest.raises(RamifyError, match="16 to 128"):
            TestClient(create_app(service, token="short")).get("/")


class TestTrouble:
    def test_a_failure_inside_is_one_sentence(self, client, service, monkeypatch, caplog):
        def broken():
            raise ZeroDivisionError("secret")

        monkeypatch.setattr(service, "taxonomy", broken)
        response = client.get("/api/taxonomy")
        assert response.status_code == 500
        assert response.json() == {"error": "something went wrong inside Ramify: its log says what"}
        assert "secret" in caplog.text

    def test_a_busy_database_may_be_tried_again(self, client, service, monkeypatch):
        def busy(*_, **__):
            raise UnavailableError("the database is locked: try again")

        monkeypatch.setattr(service, "answer", busy)
        assert say(client, "busy-key-1", "Ada", [{"item": 0, "concept": 1, "answer": "no"}]).status_code == 503


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = scene_project(tmp_path_factory.mktemp("web") / "scenes", 16, 8)
    images = folder.with_name("scenes-images")
    (images / "1.png").unlink()
    (images / "1.png").symlink_to("/etc/passwd")
    (images / "2.png").rename(images / "2.txt")
    with Image.open(images / "4.png") as drawn:
        drawn.save(images / "4.tif")
    (images / "4.png").unlink()
    (images / "4.png").symlink_to(images / "4.tif")
    elsewhere = images.with_name("elsewhere.png")
    (images / "3.png").rename(elsewhere)
    (images / "3.png").symlink_to(elsewhere)
    with Service(folder, background=False) as service:
        yield TestClient(create_app(service, hosts=["testserver"]))


class TestPictures:
    def test_are_served_as_pictures_that_run_nothing(self, pictures):
        response = pictures.get("/pictures/0")
        assert response.headers["content-type"] == "image/png"
        assert "sandbox" in response.headers["content-security-policy"]
        assert response.content.startswith(b"\x89PNG")

    def test_are_shown_in_a_form_that_browsers_know(self, pictures):
        response = pictures.get("/pictures/4")
        assert response.headers["content-type"] == "image/png"
        assert response.content.startswith(b"\x89PNG")

    def test_are_found_where_a_link_leads_that_the_user_made(self, pictures):
        assert pictures.get("/pictures/3").content.startswith(b"\x89PNG")

    @pytest.mark.parametrize("item", [1, 2, 16])
    def test_leave_the_folder_never(self, pictures, item):
        response = pictures.get(f"/pictures/{item}")
        assert response.status_code == 400
        assert "passwd" not in response.json()["error"]


class TestServing:
    @pytest.mark.parametrize("host", ["127.0.0.2", "localhost"])
    def test_the_address_that_is_printed_is_answered_and_a_server_stops_cleanly(self, tmp_path, host):
        """127.0.0.2 was printed once, and then refused."""
        server = Server(text_project(tmp_path / "texts", 3), host=host)
        assert server.start() == f"http://{host}:{server.port}/"
        with urllib.request.urlopen(f"http://{host}:{server.port}/api/status", timeout=60) as response:
            assert json.load(response)["items"] == 3
        server.process.send_signal(2)
        rest = server.process.communicate(timeout=300)[0]
        assert server.process.returncode == 0
        assert rest.strip().endswith("Stopped.")

    def test_another_host_gets_a_token(self, tmp_path):
        server = Server(text_project(tmp_path / "texts"), host="0.0.0.0")
        link = server.start()
        try:
            assert len(link.split("?token=")[1]) >= 32
        finally:
            server.kill()

    def test_a_taken_port_is_one_sentence(self):
        with _listen("127.0.0.1", 0) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(RamifyError, match=f"cannot listen on port {port} of 127.0.0.1 .*: choose another"):
                _listen("127.0.0.1", port)
        with pytest.raises(RamifyError, match="no address of this machine"):
            _listen("no such host", 0)

    def test_links(self):
        assert _link("::1", 8000, None) == "http://[::1]:8000/"
        assert _link("10.0.0.7", 80, TOKEN) == f"http://10.0.0.7:80/?token={TOKEN}"


def test_answers_from_many_threads(app, service):
    def answer(name):
        client = TestClient(app)
        for number in range(5):
            for task in ask(client, name):
                assert say(client, f"{name}-many-{number}", name, answers_to(task)).status_code == 200

    before = len(service.store.events())
    threads = [threading.Thread(target=answer, args=(f"Thread-{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = service.store.events()[before:]
    assert len({(event.item, event.concept) for event in written}) == len(written) > 0


def test_every_response_fits_its_description(app):
    """With requests that fit theirs and requests that do not: never a 500, and never more or less than described."""
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) == 25
    for operation in operations:

        @given(
            case=operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
            | operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)
        )
        @settings(
            max_examples=30, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None
        )
        def hold(case):
            response = case.call()
            assert response.status_code < 500, response.text
            case.validate_response(response, checks=[response_schema_conformance, status_code_conformance])

        hold()


def test_a_real_life_fits_its_description(tmp_path):
    """Not only what random requests reach: questions, answers, reasons, reviews of a project that was answered."""
    with Service(text_project(tmp_path / "texts"), background=False) as service:
        live_a_real_life(create_app(service, hosts=("testserver", "localhost")))


def live_a_real_life(app):
    client = TestClient(app)
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    by_name = {one["name"]: one["concept"] for one in client.get("/api/taxonomy").json()}

    def call(method, path, **sent):
        operation = schema[path][method]
        case = operation.Case(**sent)
        response = case.call()
        case.validate_response(response, checks=[response_schema_conformance, status_code_conformance])
        assert response.status_code == 200, response.text
        return json.loads(response.content)

    for mode in ("group", "single", "grid"):
        (task,) = call("POST", "/api/next", body={"annotator": f"Real {mode}", "mode": mode})
        sent = {"key": f"real-life-{mode}", "annotator": f"Real {mode}", "answers": answers_to(task, "yes")}
        assert call("POST", "/api/answers", body=sent)["saved"] == len(task["entries"])
        entry = task["entries"][0]
        why = call("GET", "/api/why", query={"item": entry["item"], "concept": entry["concept"]})
        assert why["reasons"][0]["kind"] == "answer"
        call("GET", "/api/history", query={"annotator": f"Real {mode}"})
        undone = call("POST", "/api/undo", body={"key": f"real-undo-{mode}", "annotator": f"Real {mode}"})
        assert {one["answer"] for one in undone["undone"]} == {"yes"}
    torn = {"item": 3, "concept": by_name["rain"], "answer": "yes"}  # which is no weather
    call("POST", "/api/answers", body={"key": "contradiction", "annotator": "Ada", "answers": [torn]})
    why = call("GET", "/api/why", query={"item": 3, "concept": by_name["rain"]})
    assert [reason["kind"] for reason in why["reasons"]] == ["answer", "contradiction"]
    call("GET", "/api/review")
    assert call("GET", "/api/status")["items"] == 30
    assert call("GET", "/api/browse", query={"concept": by_name["cat"], "state": "unknown"})["total"] > 0
    call("POST", "/api/undo", body={"key": "no-contradiction", "annotator": "Ada"})

    assert call("GET", "/api/taxonomy/last") == {"change": None, "said": None}
    before, change = call("GET", "/api/taxonomy"), {"kind": "remove", "concepts": [by_name["cat"]]}
    foreseen = call("POST", "/api/taxonomy", body={**change, "dry_run": True})
    assert call("GET", "/api/taxonomy") == before
    assert call("POST", "/api/taxonomy", body=change) == {**foreseen, "done": True}
    late = {
        "key": "too-late-now",
        "annotator": "Ada",
        "answers": [{"item": 1, "concept": by_name["cat"], "answer": "no"}],
    }
    refused = client.post("/api/answers", json=late)
    assert (refused.status_code, refused.json()["error"]) == (
        400,
        "'animal > cat' is no concept any more: somebody has changed the taxonomy; nothing was saved: take the next "
        "question",
    )
    assert client.post("/api/taxonomy", json=change).json()["error"] == refused.json()["error"]
    last = call("GET", "/api/taxonomy/last")
    assert last["said"] == "'animal > cat' is removed"
    call("POST", "/api/taxonomy/undo", body={"change": last["change"]})
    assert call("GET", "/api/taxonomy") == before


@pytest.mark.parametrize("entry", [{"item": "1"}, {"item": 1.0}, {"item": True}, {"concept": "1"}])
def test_a_number_is_a_number(client, entry):
    good = {"item": 1, "concept": 1, "answer": "no"}
    assert say(client, "number-or-not", "Ada", [{**good, **entry}]).status_code == 422


@pytest.mark.parametrize(("name", "status"), [("Ada L.", 200), ("עדה", 200), (" Ada ", 200), (" ", 422), ("a\nb", 422)])
def test_the_description_allows_the_names_that_the_service_allows(app, client, name, status):
    pattern = app.openapi()["components"]["schemas"]["Wanted"]["properties"]["annotator"]["pattern"]
    assert client.post("/api/next", json={"annotator": name}).status_code == status
    assert bool(re.search(pattern, name)) == (status == 200)
