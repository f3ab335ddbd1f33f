"""Connections: those that do not send a whole request in time are closed, so that silent ones cannot use up all."""

import asyncio
import resource

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

PATIENCE = 15.0  # seconds in which a new connection sends a whole head of a request
MOST_FILES = 16_384


class Connection(HttpToolsProtocol):
    """A connection that waits for a request only so long; uvicorn itself waits for ever for the first."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody connects."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Something comes; what begins no request, such as the rest of a body that nobody read, buys no time."""
        super().data_received(data)
        if self._waiting is None and (self.cycle is None or self.cycle.response_complete):
            self._wait()

    def on_message_begin(self) -> None:
        """A request begins to arrive."""
        super().on_message_begin()
        self._wait()

    def on_headers_complete(self) -> None:
        """Its head is there; how long its body may take, the guard says."""
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop_waiting()
        self._waiting = self.loop.call_later(PATIENCE, self.timeout_keep_alive_handler)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def allow_many() -> None:
    """Let this process have as many connections open as the system allows: often only 1024 are preset."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
