"""Silent connections do not stay: a real server, sockets that say nothing or break off in the middle."""

import resource
import socket
import threading

import pytest
import uvicorn

from ramify.web import connections

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def hello(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"hello"})


@pytest.fixture
def address(monkeypatch):
    monkeypatch.setattr(connections, "PATIENCE", 300)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(
            hello, http=connections.Connection, log_level="warning", lifespan="off", timeout_keep_alive=300
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield listening.getsockname()
        server.should_exit = True
        thread.join()


def until_closed(connection: socket.socket) -> bytes:
    """All that comes until the server closes the connection."""
    received = b""
    while part := connection.recv(1000):
        received += part
    return received


@pytest.mark.parametrize("said", [b"", REQUEST[:20], REQUEST[:-2]])
def test_whoever_sends_no_whole_request_is_let_go(address, said, monkeypatch):
    monkeypatch.setattr(connections, "PATIENCE", 0.2)
    silent = [socket.create_connection(address, timeout=60) for _ in range(20)]
    for connection in silent:
        connection.sendall(said)
    assert [until_closed(connection) for connection in silent] == [b""] * 20
    for connection in silent:
        connection.close()


@pytest.mark.parametrize("then", [REQUEST[:9], b"\r\n", b"the rest of a body"])
def test_whoever_does_is_answered_as_often_as_wanted_but_no_rest_keeps_a_connection(address, then, monkeypatch):
    with socket.create_connection(address, timeout=60) as connection:
        for _ in range(3):
            connection.sendall(REQUEST)
            answer = b""
            while not answer.endswith(b"hello"):
                part = connection.recv(1000)
                assert part
                answer += part
            assert answer.startswith(b"HTTP/1.1 200")
        monkeypatch.setattr(connections, "PATIENCE", 0.2)
        connection.sendall(then)
        assert b"200" not in until_closed(connection)


def test_as_many_files_as_the_system_allows_may_be_open():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        connections.allow_many()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 256
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
