"""The addresses of a machine learning backend, as Label Studio calls them."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from ramify.errors import RamifyError
from ramify.project.live.label_studio import LabelStudio

log = logging.getLogger("ramify.label_studio")


class Connecting(BaseModel):
    """A project of Label Studio that connects; the rest of what it sends, a token of its own among it, is not kept."""

    config: str = Field(alias="schema", description="The labelling config.")


class Asking(BaseModel):
    """Tasks to be predicted."""

    tasks: list[dict[str, Any]]
    label_config: str


class Connected(BaseModel):
    """What predictions are called now."""

    model_version: str


class Predicted(BaseModel):
    """A list of predictions for each task, in their order; an empty one where there is none."""

    results: list[list[dict[str, Any]]]


class Heard(BaseModel):
    """What something that happened in Label Studio changed here."""

    said: str


class Health(BaseModel):
    """Whether the backend can be asked."""

    status: str


def add_label_studio(app: FastAPI, backend: LabelStudio) -> None:
    """Let Label Studio ask an application and tell it what happens."""

    @app.get("/health", response_model=Health, summary="Label Studio: is anybody there")
    def health() -> Response:
        return JSONResponse({"status": "UP"})

    @app.post("/setup", response_model=Connected, summary="Label Studio: connect")
    def setup(said: Connecting) -> Response:
        """The labelling config must fit the project's taxonomy."""
        with _logged("a project of Label Studio cannot connect"):
            return JSONResponse({"model_version": backend.setup(said.config)})

    @app.post("/predict", response_model=Predicted, summary="Label Studio: predict tasks")
    def predict(said: Asking) -> Response:
        """The lower a score, the more an answer would teach."""
        with _logged("tasks of Label Studio cannot be predicted"):
            return JSONResponse({"results": backend.predict(said.tasks, said.label_config)})

    @app.post("/webhook", response_model=Heard, summary="Label Studio: what happened")
    def webhook(said: dict[str, Any]) -> Response:
        """Annotations become answers: once, however often they are sent; changed and deleted ones are taken back."""
        action = said.get("action")
        if not isinstance(action, str):
            raise RamifyError("a webhook says what happened, in 'action'")
        with _logged(f"{action} of Label Studio changes nothing"):
            return JSONResponse({"said": backend.hear(action, said)})


@contextmanager
def _logged(what: str) -> Iterator[None]:
    """Log what is refused: Label Studio does not show why."""
    try:
        yield
    except RamifyError as error:
        log.warning("%s: %s", what, error)
        raise
