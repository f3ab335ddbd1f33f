"""What `docker compose up` does, without docker: the script of its server, with a real PostgreSQL."""

import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "deploy" / "serve.sh"


@pytest.fixture
def environment(tmp_path, postgres):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "taxonomy.yaml").write_text("animal: [cat, dog]")
    rows = "".join(f"{n},{'purrs' if n % 2 else 'barks'} {n},animal\n" for n in range(12))
    (tmp_path / "data" / "items.csv").write_text(f"id,text,labels\n{rows}")
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "ADDRESS": postgres.new(),
        "PROJECT": str(tmp_path / "project"),
        "DATA": str(tmp_path / "data"),
        "TOKEN": "a-long-token-for-tests",
        "PORT": "0",
    }


def status(port, token):
    headers = {"authorization": f"Bearer {token}"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/status", headers=headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()


def test_the_script_makes_the_project_once_and_serves_it_with_its_token(environment):
    for added in ("Added 12 items", "Added 0 items, 12 were there already"):
        with subprocess.Popen(
            ["sh", SCRIPT], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as server:
            said = ""
            for line in server.stdout:
                said += line
                found = re.search(r"http://[^:\s]+:(\d+)", line)
                if found:
                    break
            assert added in said
            assert found, said
            assert b'"items":12' in status(found[1], environment["TOKEN"]).replace(b" ", b"")
            with pytest.raises(urllib.error.HTTPError, match=r"401|403"):
                status(found[1], "another")
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=300)


def test_without_a_token_nothing_is_served(environment):
    del environment["TOKEN"]
    done = subprocess.run(["sh", SCRIPT], env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Give the server a TOKEN" in done.stderr


def test_the_services_fit_together():
    composed = yaml.safe_load((ROOT / "compose.yaml").read_text())
    server, database = composed["services"]["server"], composed["services"]["database"]
    assert (ROOT / server["build"]["dockerfile"]).is_file()
    given = set(re.findall(r"\$\{?(\w+)", SCRIPT.read_text())) - {"PORT"}
    assert given <= set(server["environment"])
    user, name = database["environment"]["POSTGRES_USER"], database["environment"]["POSTGRES_DB"]
    assert server["environment"]["ADDRESS"] == f"postgresql://{user}@database/{name}"
    mounted = {volume.split(":")[1] for volume in server["volumes"]}
    assert mounted == {server["environment"]["PROJECT"], server["environment"]["DATA"]}
    assert {volume.split(":")[0] for volume in server["volumes"] + database["volumes"]} - {"./data"} == set(
        composed["volumes"]
    )
