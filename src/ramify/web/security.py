"""Guard: what every request passes before the application sees it, and what every response carries."""

import asyncio
import base64
import hashlib
import json
import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import parse_qs

from ramify.errors import RamifyError
from ramify.project.limits import LARGEST_UPLOAD

__all__ = ["FILE", "LOCAL_HOSTS", "MOST_BYTES", "PROJECT_HEADER", "Guard", "check_token"]

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

LOCAL_HOSTS = ("127.0.0.1", "localhost", "[::1]")
MOST_BYTES = 1 << 20  # of a body that is no file
FILE = "application/octet-stream"  # another site's form cannot send it, as it cannot send JSON
PROJECT_HEADER = "x-ramify-project"
READING = ("GET", "HEAD", "OPTIONS")
GUARDED = (
    "/api/",
    "/pictures/",
    "/openapi.json",
    "/predict",
    "/setup",
    "/webhook",
)  # what a token protects; the page itself holds no data

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
# A picture may be an SVG, which can hold scripts: opened by itself it must not run them.
PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"

HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
}

log = logging.getLogger("ramify.web")


class Refusal(NamedTuple):
    """Why a request goes no further."""

    status: int
    sentence: str


def check_token(token: str) -> str:
    """The token, if it can travel in a link and a cookie and cannot be guessed.

    >>> check_token("secret")
    Traceback (most recent call last):
    ...
    ramify.errors.RamifyError: a token has 16 to 128 letters, digits, '-' or '_': choose another, or give none ...
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]{16,128}", token):
        raise RamifyError(
            "a token has 16 to 128 letters, digits, '-' or '_': choose another, or give none and Ramify draws one"
        )
    return token


class Body(NamedTuple):
    """What a body may be."""

    kind: str
    most: int
    """Bytes."""
    patience: float
    """Seconds that it may take to arrive."""
    too_large: str
    otherwise: str
    """What is said of another kind."""


JSON = Body(
    "application/json",
    MOST_BYTES,
    30.0,
    f"the request is larger than {MOST_BYTES // 1024} KiB: send fewer answers at once",
    "the body must be JSON: send it with Content-Type: application/json",
)
TASKS = Body(
    "application/json",
    LARGEST_UPLOAD,
    300.0,
    f"the request is larger than {LARGEST_UPLOAD >> 20} MiB: let Label Studio send fewer tasks at once",
    JSON.otherwise,
)
BODIES = {
    **dict.fromkeys(("/predict", "/setup", "/webhook"), TASKS),
    "/api/import": Body(
        FILE,
        LARGEST_UPLOAD,
        300.0,
        f"the file is larger than {LARGEST_UPLOAD >> 20} MiB: divide it, or use `ramify add` where the project lies",
        f"the body must be the file itself: send it with Content-Type: {FILE}",
    ),
}
"""Where a body is something else than JSON."""


class Guard:
    """ASGI middleware: host, token, origin and size are checked, and every response gets its safety headers.

    ``app`` answers what is let through; ``token`` must come with every request for data (None: nobody needs one);
    ``hosts`` are the names by which this server may be called (None: any, where a token protects it); ``project``
    names what is served: a page that was opened on another project must not write to this one.
    """

    def __init__(
        self, app: Application, *, token: str | None, hosts: Iterable[str] | None, project: str | None = None
    ) -> None:
        if hosts is None and token is None:
            raise RamifyError("a server that answers to any host name needs a token: give one")
        self.app = app
        self.token = None if token is None else check_token(token)
        self.hosts = None if hosts is None else frozenset(host.lower() for host in hosts)
        self.project = project
        # Cookies are shared by all ports of a machine: two servers with two tokens must not overwrite each other's.
        self.cookie = f"ramify_{hashlib.sha256(token.encode()).hexdigest()[:12]}" if token else ""

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no websockets here
            return
        started = False

        async def send_safely(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = self._headers(scope, message["headers"])
            await send(message)

        headers = _Headers(scope["headers"])
        refusal = self._refusal(scope, headers)
        if refusal is None and scope["method"] not in READING:
            receive, refusal = await _whole_body(BODIES.get(scope["path"], JSON), headers, receive)
        if refusal is not None:
            await _answer(send_safely, refusal)
            return
        try:
            await self.app(scope, receive, send_safely)
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            if not started:
                await _answer(send_safely, Refusal(500, "something went wrong inside Ramify: its log says what"))

    def _refusal(self, scope: MutableMapping[str, Any], headers: "_Headers") -> Refusal | None:
        host = headers.only("host")
        name = re.sub(r":\d+$", "", host or "").lower()
        if not re.fullmatch(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]", name):
            return Refusal(400, "the request names no host, or more than one")
        if self.hosts is not None and name not in self.hosts:
            return Refusal(400, "this server does not answer to that host name: use the address that it printed")
        path, site, origin = scope["path"], headers.only("sec-fetch-site"), headers.only("origin")
        if scope["method"] not in READING or path.startswith(GUARDED):
            own = {f"{scheme}://{host}".lower() for scheme in ("http", "https")}
            if site not in (None, "same-origin", "none") or (origin is not None and origin.lower() not in own):
                return Refusal(403, "this request comes from another site's page and is refused")
        if self.token is not None and path.startswith(GUARDED) and not self._authorised(headers):
            return Refusal(401, "a token is needed: open the link that 'ramify serve' printed")
        project = headers.only(PROJECT_HEADER)
        if project is not None and self.project is not None and project != self.project:
            return Refusal(409, "another project is served here now: reload the page")
        return None

    def _authorised(self, headers: "_Headers") -> bool:
        kind, _, given = (headers.only("authorization") or "").partition(" ")
        offered = [given] if kind.lower() == "bearer" else []
        if kind.lower() == "basic":  # an address that carries it, http://name:token@host, as Label Studio keeps one
            with suppress(ValueError):
                offered.append(base64.b64decode(given, validate=True).decode().partition(":")[2])
        try:
            morsel = SimpleCookie(headers.only("cookie") or "").get(self.cookie)
        except CookieError:
            morsel = None
        offered += [morsel.value] if morsel else []
        return any(self._is_token(token) for token in offered)

    def _is_token(self, given: str) -> bool:
        return self.token is not None and secrets.compare_digest(given.encode(), self.token.encode())

    def _headers(self, scope: MutableMapping[str, Any], given: Iterable[tuple[bytes, bytes]]) -> list[Any]:
        headers = dict(given)
        path = scope["path"]
        policy = PICTURE_POLICY if path.startswith("/pictures/") else PAGE_POLICY
        headers |= HEADERS | {b"content-security-policy": policy.encode()}
        headers.setdefault(b"cache-control", b"no-cache" if path.startswith("/static/") else b"no-store")
        if self.token is not None and path == "/":
            offered = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
            if any(self._is_token(token) for token in offered):
                cookie = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000"
                headers[b"set-cookie"] = cookie.encode()
        return list(headers.items())


class _Headers:
    """The headers of a request; one that is given twice counts as a contradiction, not as its first value."""

    def __init__(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            self._values.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))

    def only(self, name: str) -> str | None:
        values = self._values.get(name)
        return None if values is None else values[0] if len(values) == 1 else "\n".join(values)


async def _whole_body(allowed: Body, headers: _Headers, receive: Receive) -> tuple[Receive, Refusal | None]:
    """A ``receive`` that gives the whole body at once, or why it is refused."""
    too_large = Refusal(413, allowed.too_large)
    length = headers.only("content-length") or "0"
    if not re.fullmatch(r"[0-9]{1,12}", length) or int(length) > allowed.most:
        return receive, too_large
    body, more = bytearray(), True
    try:
        async with asyncio.timeout(allowed.patience):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return receive, Refusal(400, "the request broke off")
                body += message.get("body", b"")
                more = message.get("more_body", False)
                if len(body) > allowed.most:
                    return receive, too_large
    except TimeoutError:
        return receive, Refusal(408, "the request took too long to arrive")
    kind = (headers.only("content-type") or "").partition(";")[0].strip().lower()
    if kind != allowed.kind:  # what another site's form sends is something else, also without a body
        return receive, Refusal(415, allowed.otherwise)
    waiting = [{"type": "http.request", "body": bytes(body), "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay, None


async def _answer(send: Send, refusal: Refusal) -> None:
    body = json.dumps({"error": refusal.sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
