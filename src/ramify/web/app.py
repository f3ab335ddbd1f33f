"""The HTTP API and the page: each endpoint is one call of the Service."""

import ipaddress
import mimetypes
import os
import secrets
import shutil
import signal
import socket
import sys
import webbrowser
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import uvicorn
from anyio.to_thread import current_default_thread_limiter
from fastapi import Body, Depends, FastAPI, Query, Request
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from ramify.errors import RamifyError
from ramify.project.limits import LONGEST_PAGE
from ramify.project.live import changing
from ramify.project.live import shapes as shape
from ramify.project.live.guidelines import read_guidelines
from ramify.project.store.troubles import UnavailableError
from ramify.version import __version__
from ramify.web.connections import Connection, allow_many
from ramify.web.security import FILE, LOCAL_HOSTS, Guard, check_token

if TYPE_CHECKING:
    from ramify.project.live.label_studio import LabelStudio
    from ramify.project.live.service import Service

__all__ = ["create_app", "serve"]

STATIC = Path(__file__).with_name("static")
LARGEST = 1024  # pixels of a picture that is shown in another form than it has
PICTURES = {
    ".avif": "image/avif",
    ".bmp": "image/bmp",
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webp": "image/webp",
}
REFUSED: dict[int | str, dict[str, Any]] = {
    400: {"model": shape.Refusal, "description": "Something the sender can mend."},
    422: {"model": shape.Refusal, "description": "A value of the wrong kind or size."},
}
THREADS = 4
AnnotatorQuery = Annotated[shape.Annotator, Query()]
SearchText = Annotated[str, Query(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
Share = Annotated[float, Query(ge=0, le=1)]

mimetypes.add_type("text/javascript", ".js")  # some systems' registries say otherwise, and modules then do not load


class Json(Response):
    """A shape, or a list of them, as JSON; they were checked when they were made."""

    media_type = "application/json"

    def render(self, content: shape.Shape | Sequence[shape.Shape]) -> bytes:
        """The bytes."""
        if isinstance(content, shape.Shape):
            return content.model_dump_json().encode()
        return b"[" + b",".join(part.model_dump_json().encode() for part in content) + b"]"


def create_app(
    service: "Service",
    *,
    token: str | None = None,
    hosts: Iterable[str] | None = LOCAL_HOSTS,
    name: str = "project",
    backend: "LabelStudio | None" = None,
) -> FastAPI:
    """The application that serves a project; ``hosts`` are the names it answers to (None: any, with a token).

    With a ``backend`` it is also what Label Studio calls a machine learning backend.
    """
    app = FastAPI(
        title="Ramify",
        version=__version__,
        description="Ask for questions, answer them, and see what is known. Concepts are named by stable ids.",
        docs_url=None,
        redoc_url=None,
        responses=REFUSED,
        lifespan=_few_threads,
    )
    identity = _identity(service)
    app.add_middleware(Guard, token=token, hosts=hosts, project=identity)
    _add_errors(app)
    _add_asking(app, service)
    _add_looking(app, service)
    _add_managing(app, service)
    _add_changing(app, service)
    if backend is not None:
        from ramify.web.label_studio import add_label_studio

        add_label_studio(app, backend)

    @app.get("/api/project", response_model=shape.Project, summary="What is served")
    def which() -> Response:
        about = read_guidelines(service.store.folder, name)
        return Json(shape.Project(project=identity, name=name, version=__version__, **about))

    @app.get("/pictures/{item}", response_class=FileResponse, summary="The picture of an item")
    def picture(item: Annotated[shape.ItemNumber, InPath()]) -> Response:
        path = service.picture(item)
        kind, keep = PICTURES.get(path.suffix.lower()), {"cache-control": "private, max-age=600"}
        if kind is not None:
            return FileResponse(path, media_type=kind, headers=keep)
        from ramify.embed.opening import as_png, read_pictures  # only for kinds that browsers do not know

        made, _ = read_pictures([str(path)], as_png, side=LARGEST)
        if not made:
            raise RamifyError(f"item {item} has a file of the kind {path.suffix!r}, which is no picture")
        return Response(made[0], media_type="image/png", headers=keep)

    @app.get("/", include_in_schema=False)
    def page() -> Response:
        return FileResponse(STATIC / "index.html")

    @app.get("/docs", include_in_schema=False)
    def docs() -> Response:
        return FileResponse(STATIC / "docs.html")

    app.mount("/static", StaticFiles(directory=STATIC))
    return app


@asynccontextmanager
async def _few_threads(app: FastAPI) -> AsyncIterator[None]:
    """Requests take milliseconds each: a few at a time are done sooner than many that wait for one another."""
    current_default_thread_limiter().total_tokens = THREADS
    yield


def _identity(service: "Service") -> str:
    """What tells this project from any other that may be served at the same address later."""
    identity = service.store.setting("identity")
    if identity is None:
        identity = secrets.token_hex(8)
        service.store.set_setting("identity", identity)
    return str(identity)


def _add_asking(app: FastAPI, service: "Service") -> None:
    @app.post("/api/next", response_model=list[shape.Screen], summary="Next questions")
    def next_questions(wanted: shape.Wanted) -> Response:
        """Questions leased to the annotator for ten minutes, those already held first."""
        return Json(service.next(wanted.annotator, mode=wanted.mode, count=wanted.count, tab=wanted.tab))

    @app.post("/api/answers", response_model=shape.Saved, summary="Answer")
    def answer(said: shape.Answers) -> Response:
        """Answers are on disk when this returns. The same key sent again changes nothing."""
        answers = [(entry.item, entry.concept, entry.answer) for entry in said.answers]
        about = said.model_dump(include={"settles", "seconds", "flag", "note"})
        return Json(service.answer(said.key, said.annotator, answers, **about))

    @app.post("/api/lift", response_model=shape.Lifted, summary="Lift a flag")
    def lift(wanted: shape.Lift) -> Response:
        """What was flagged is asked again. Once more, it changes nothing."""
        return Json(service.lift(wanted.key))

    @app.post("/api/undo", response_model=shape.Undone, summary="Undo")
    def undo(wanted: shape.Undo) -> Response:
        """Takes back the annotator's last request that is not undone yet, as often as there is one."""
        return Json(service.undo(wanted.key, wanted.annotator, tab=wanted.tab))

    @app.get("/api/history", response_model=list[shape.PastAnswer], summary="Last answers")
    def history(
        annotator: AnnotatorQuery,
        limit: Annotated[int, Query(ge=1, le=LONGEST_PAGE)] = 10,
        before: Annotated[int | None, Query(ge=0, lt=2**53)] = None,
    ) -> Response:
        """The newest first; ``before`` is the ``seq`` of an answer, and asks for those before it."""
        return Json(service.history(annotator, limit, before))

    @app.post("/api/train", response_model=shape.TrainingStart, summary="Train")
    def train(wanted: shape.Train) -> Response:
        """Starts a training in its own process, unless one is running."""
        return Json(service.train())


def _add_looking(app: FastAPI, service: "Service") -> None:
    @app.get("/api/status", response_model=shape.Status, summary="Progress")
    def status() -> Response:
        return Json(service.status())

    @app.get("/api/quality", response_model=shape.Quality | None, summary="How good the labels are")
    def quality() -> Response:
        """Precision, recall and F1 of all labels as they would be exported now, by questions drawn at random."""
        found = service.quality()
        return JSONResponse(None) if found is None else Json(found)

    @app.get("/api/taxonomy", response_model=list[shape.Concept], summary="All concepts, in reading order")
    def taxonomy() -> Response:
        return Json(service.taxonomy())

    @app.get("/api/predictions/{item}", response_model=shape.KnownItem, summary="What is known and believed of an item")
    def predictions(item: Annotated[shape.ItemNumber, InPath()]) -> Response:
        return Json(service.predictions(item))

    def filters(
        concept: Annotated[shape.ConceptId | None, Query()] = None,
        state: shape.WantedState | None = None,
        low: Share = 0.0,
        high: Share = 1.0,
        query: SearchText = "",
        sort: shape.Sort | None = None,
    ) -> dict[str, Any]:
        return {"concept": concept, "state": state, "low": low, "high": high, "query": query, "sort": sort or ""}

    @app.get("/api/browse", response_model=shape.Page, summary="Find items")
    def browse(
        wanted: Annotated[dict[str, Any], Depends(filters)],
        offset: Annotated[int, Query(ge=0, lt=2**53)] = 0,
        limit: Annotated[int, Query(ge=1, le=LONGEST_PAGE)] = 50,
    ) -> Response:
        return Json(service.browse(**wanted, offset=offset, limit=limit))

    @app.get("/api/found", response_model=shape.Found, summary="The numbers of such items")
    def found(wanted: Annotated[dict[str, Any], Depends(filters)]) -> Response:
        """As many as can be answered in one request."""
        return Json(service.found(**wanted))

    @app.get("/api/why", response_model=shape.Why, summary="Why an entry is known")
    def why(item: Annotated[shape.ItemNumber, Query()], concept: Annotated[shape.ConceptId, Query()]) -> Response:
        return Json(service.why(item, concept))

    @app.get("/api/words", response_model=shape.Words, summary="Which words speak for a concept")
    def words(
        item: Annotated[shape.ItemNumber, Query()],
        concept: Annotated[list[shape.ConceptId], Query(min_length=1, max_length=LONGEST_PAGE)],
    ) -> Response:
        """What the model would say of concepts without each word of an item's text."""
        return Json(service.words(item, concept))

    @app.get("/api/review", response_model=shape.Review, summary="What people should look at again")
    def review() -> Response:
        return Json(service.review())


def _add_managing(app: FastAPI, service: "Service") -> None:
    @app.get("/api/people", response_model=list[shape.Person], summary="Who answered")
    def people() -> Response:
        return Json(service.people())

    @app.get("/api/settings", response_model=shape.Settings, summary="What can be set")
    def settings() -> Response:
        return Json(service.settings())

    @app.post("/api/settings", response_model=shape.Settings, summary="Set it")
    def change_settings(new: shape.NewSettings) -> Response:
        """Holds at once, and is kept; a new learner learns from the next training on."""
        return Json(service.change_settings(new))

    @app.get("/api/export", response_class=FileResponse, summary="Download a table")
    def export(
        what: shape.Exported, kind: Annotated[shape.Format, Query(alias="format")] = "csv", safe: bool = False
    ) -> Response:
        """All labels, those that are known, every answer, or predictions; ``safe`` as ``--safe-csv``."""
        path = service.export(what, kind, safe=safe)
        return FileResponse(path, filename=path.name, background=BackgroundTask(shutil.rmtree, path.parent))

    @app.post("/api/import", response_model=shape.TakenIn, summary="Upload a table")
    def take_in(
        what: shape.Imported,
        name: Annotated[shape.FileName, Query()],
        content: Annotated[bytes, Body(media_type=FILE)],
    ) -> Response:
        """Items as for ``ramify add``, or answers as for ``ramify answer``: all of them or none."""
        return Json(service.take_in(what, name, content))


def _add_changing(app: FastAPI, service: "Service") -> None:
    @app.post("/api/taxonomy", response_model=changing.TaxonomyOutlook, summary="Change the taxonomy")
    def change_taxonomy(wanted: changing.TaxonomyChange) -> Response:
        """All or nothing; ``dry_run`` only tells what would become of labels."""
        return Json(service.change_taxonomy(wanted))

    @app.post("/api/taxonomy/undo", response_model=changing.TaxonomyOutlook, summary="Take back the last change")
    def undo_taxonomy(wanted: changing.TaxonomyUndo) -> Response:
        """As often as there is one that stands; all is then as if it had not been."""
        return Json(service.undo_taxonomy(wanted))

    @app.get("/api/taxonomy/last", response_model=changing.LastChange, summary="The last change that stands")
    def last_change() -> Response:
        return Json(service.last_change())


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(RamifyError)
    def mendable(request: Request, error: Exception) -> Response:
        # A busy or unreachable database is no mistake of the sender: the page keeps the answer and tries again.
        return JSONResponse({"error": str(error)}, 503 if isinstance(error, UnavailableError) else 400)

    @app.exception_handler(RequestValidationError)
    def unfit(request: Request, error: Exception) -> Response:
        # Not what was sent: it may be anything, even text that no encoding can carry.
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        place = ".".join(str(step) for step in first["loc"] if step != "body" and isinstance(step, str | int))
        safe = place.encode("ascii", "replace").decode()[:80]
        return JSONResponse({"error": f"{safe or 'the body'}: {first['msg']}"}, 422)

    @app.exception_handler(HTTPException)
    def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        sentence = {404: "there is nothing at this address: see /docs", 405: "this address takes another method"}
        text = sentence.get(error.status_code, str(error.detail))
        return JSONResponse({"error": text}, error.status_code, headers=error.headers)


def serve(
    folder: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    strategy: str | None = None,
    overlap: int | None = None,
    budget: int | None = None,
    train_every: int | None = None,
    audit: float | None = None,
    gold: float | None = None,
    open_browser: bool = False,
    label_studio: bool = False,
    partial: bool = False,
) -> None:
    """Serve a project until Ctrl-C. Another host than this machine itself demands a token, drawn if none is given.

    How questions are chosen is as the project keeps it, where nothing is said. With ``label_studio`` it is a machine
    learning backend too; with ``partial`` what somebody does not choose there is unknown, not denied.
    """
    from ramify.project.live.service import Service

    share_the_machine()
    allow_many()
    if token is None and not _is_local(host):
        token = secrets.token_urlsafe(24)
    if token is not None:
        check_token(token)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that whoever ends it ends it tidily
    with _listen(host, port) as listening:
        service = Service(
            folder, strategy=strategy, overlap=overlap, budget=budget, train_every=train_every, audit=audit, gold=gold
        )
        try:
            hosts = {*LOCAL_HOSTS, _in_link(host)} if _is_local(host) else None
            backend = _backend(service, partial=partial) if label_studio else None
            app = create_app(service, token=token, hosts=hosts, name=Path(folder).resolve().name, backend=backend)
            link = _link(host, listening.getsockname()[1], token)
            print(f"Ramify serves {folder} at\n\n    {link}\n")
            if label_studio:
                address = link.partition("?")[0].replace("://", f"://ramify:{token}@" if token else "://")
                print(f"and to Label Studio (Settings, Model, Connect Model: Backend URL) at\n\n    {address}\n")
            print("Ctrl-C stops it; all answers are kept.", flush=True)
            if open_browser:
                webbrowser.open(link)
            config = uvicorn.Config(
                app,
                http=Connection,
                loop="asyncio",
                workers=1,
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=3,
            )
            uvicorn.Server(config).run(sockets=[listening])
        except KeyboardInterrupt:
            pass
        finally:
            service.close()
    print("Stopped.")


def _backend(service: "Service", *, partial: bool) -> "LabelStudio":
    from ramify.project.live.label_studio import LabelStudio

    return LabelStudio(service, partial=partial)


def share_the_machine() -> None:
    """Let answers come first: threads that calculate in the background give way soon, and use one core."""
    from threadpoolctl import threadpool_limits

    sys.setswitchinterval(0.0005)
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
    threadpool_limits(1)  # of libraries that are there already; the others, which the model brings, read the above
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listen(host: str, port: int) -> socket.socket:
    """A socket bound before anything else is done, so that a taken port is one sentence."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError, OverflowError):
        raise RamifyError(f"{host!r} is no address of this machine: use 127.0.0.1, or 0.0.0.0 for all") from None
    listening = socket.socket(family, kind, protocol)  # asyncio sends at once only where the protocol says TCP
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(2048)  # so that a second server is told at once
    except (OSError, OverflowError) as error:
        listening.close()
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise RamifyError(
            f"cannot listen on port {port} of {host} ({reason}): choose another --port, or --host"
        ) from None
    return listening


def _link(host: str, port: int, token: str | None) -> str:
    """The address to open; for all addresses of the machine, the one by which others most likely reach it."""
    if host in ("0.0.0.0", "::"):
        host = socket.gethostname()
    return f"http://{_in_link(host)}:{port}/" + (f"?token={token}" if token else "")


def _in_link(host: str) -> str:
    return f"[{host}]" if ":" in host else host
