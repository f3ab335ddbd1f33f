"""Small real projects for the tests of the web page, and a server of one that can be killed."""

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import uvicorn

from ramify import Project
from ramify.demo import scenes
from ramify.labels import Labels
from ramify.project.live.service import Service
from ramify.project.store.store import Store
from ramify.taxonomy import Taxonomy
from ramify.web import create_app
from ramify.web.app import _listen

TEXTS = (
    "The cat sat on the mat and purred.",
    "The dog barked at the postman all day.",
    "A small bird sang in the old oak.",
)


HOSTILE = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"


def text_project(folder: Path, count: int = 30) -> Path:
    """Texts about animals, with coarse labels only and no features; one of them, and a description, are hostile."""
    below = {"cat": {"description": "<i>purrs</i>"}, "dog": None, "bird": None}
    animal = {"description": "Something alive.", "exhaustive": True, "children": below}
    taxonomy = Taxonomy({"animal": animal, "weather": ["rain", "snow"]})
    ids = [f"text-{n}" for n in range(count)]
    texts = [f"{TEXTS[n % 3]} ({n})" for n in range(count - 1)] + [HOSTILE]
    with Store.create(folder, taxonomy) as store:
        store.add(ids, texts, None, None, Labels(taxonomy, [[1, 0]] * count))
    return folder


def wide_project(folder: Path, children: int = 40) -> Path:
    """A concept with more children than there are keys."""
    taxonomy = Taxonomy({"colour": [f"colour number {n}" for n in range(children)]})
    with Store.create(folder, taxonomy) as store:
        store.add(["a", "b"], ["first", "second"], None, None, Labels(taxonomy, [[1], [1]]))
    return folder


def scene_project(folder: Path, count: int = 60, warm: int = 12, *, crowded: bool = False) -> Path:
    """Drawn pictures with features, coarse labels, and the fine ones of a few; or ten children of one."""
    images = folder.parent / f"{folder.name}-images"
    images.mkdir()
    drawn = scenes.read(count)
    for number in range(count):
        scenes.draw(0, number)[0].save(images / f"{number}.png")
    taxonomy = drawn.labels.taxonomy
    states = drawn.labels.states(None, np.arange(len(taxonomy)))
    states[warm:, taxonomy.leaves] = -1
    if crowded:
        states = np.hstack([states[:, taxonomy.indices(scenes.FINE[:10])], np.ones((count, 1), np.int8)])
        taxonomy = Taxonomy({"thing": [*scenes.FINE[:9], "something with a name of its own " * 6 + "!"]})
    labels = Labels.from_matrix(taxonomy, states, np.arange(len(taxonomy)))
    with Store.create(folder, taxonomy) as store:
        store.set_setting("images", str(images.resolve()))
        store.add(drawn.ids, None, [f"{number}.png" for number in range(count)], drawn.features, labels)
    return folder


PETS = (
    ("the dog barks", "a dog barked at me", "my dog sleeps here", "the dog, a puppy, plays"),
    ("the cat purrs", "a cat sleeps on the mat", "my cat purred today", "the cat, a kitten, plays"),
)


def pets_project(folder: Path, count: int = 40, answered: int = 12) -> Path:
    """Texts about cats and dogs by turns, embedded, the first ones answered by Ann, with a small model."""
    pets = Project.create(folder, {"animal": ["cat", "dog"], "weather": ["rain", "snow"]})
    texts = [f"{PETS[n % 2][n // 2 % 4]} {'abcdefgh'[n % 8]}" for n in range(count)]
    pets.add({"id": [f"pet-{n}" for n in range(count)], "text": texts, "labels": ["animal"] * count}, embed="text")
    said = [
        {"id": f"pet-{n}", "concept": name, "answer": "yes" if (n % 2 == 1) == (name == "cat") else "no"}
        for n in range(answered)
        for name in ("cat", "dog")
    ]
    pets.answer(said, annotator="Ann")
    pets.train(steps=50, hidden=(16, 16))
    return folder


class LocalServer:
    """A server in a thread of the tests: quick to start."""

    def __init__(self, folder: Path, **options: object) -> None:
        self.folder = folder
        self.service = Service(folder, **options)
        listening = _listen("127.0.0.1", 0)
        self.link = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        config = uvicorn.Config(create_app(self.service, name=folder.name), log_level="warning")
        self.uvicorn = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.uvicorn.run, kwargs={"sockets": [listening]})
        self.thread.start()

    def stop(self) -> None:
        """Waits until it has ended."""
        self.uvicorn.should_exit = True
        self.thread.join()
        self.service.close()


class Server:
    """``serve`` in a process of its own, on the same port each time it is started."""

    def __init__(self, folder: Path, **options: object) -> None:
        self.folder, self.options = folder, {"port": 0, **options}

    def start(self) -> str:
        """Returns the link that it prints."""
        code = f"from ramify.web import serve; serve({str(self.folder)!r}, **{self.options!r})"
        self.process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        lines = iter(self.process.stdout.readline, "")
        self.link = next(line.strip() for line in lines if line.strip().startswith("http"))
        self.port = int(self.link.split(":")[2].split("/")[0])
        self.options["port"] = self.port
        return self.link

    def kill(self) -> None:
        """SIGKILL: no chance to tidy up."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
