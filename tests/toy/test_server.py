"""The server of the page: accepted and refused requests, and how it ends."""

import http.client
import json
import os
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from support.commands import PATIENCE, arguments, process
from support.machine import Clock, machine_with

import libsvmx
from libsvmx.toy.server import FILES, MOST_BYTES, MOST_CHANGES, MOST_STRANGERS, ToyServer
from libsvmx.toy.session import Session

VIEW = {"x0": -1.0, "x1": 1, "y0": -1.0, "y1": 1.0, "nx": 5, "ny": 4}
ROWS = [{"do": "add", "x": 0.3 * k - 0.5, "y": 0.1 * k * k - 0.4, "label": k % 2 + 1} for k in range(5)]


@pytest.fixture
def server():
    with ToyServer(Session()) as server:
        thread = threading.Thread(target=server.serve, args=(0,), daemon=True)
        thread.start()
        yield server
        server.ended = True
        thread.join()


class Client:
    """Requests to a server, each on its own connection."""

    def __init__(self, server):
        self.server, self.port = server, server.server_port

    def ask(self, method, path, body=None, token=None, **headers):
        """(status, headers, content)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, f"/{self.server.token if token is None else token}/{path}", body, headers)
        reply = connection.getresponse()
        content = reply.read()
        connection.close()
        return reply.status, reply.headers, content

    def change(self, *changes, **others):
        """The head of a picture, and its values."""
        body = json.dumps({"changes": changes, "view": VIEW, **others})
        status, _, content = self.ask("POST", "change", body)
        assert status == 200, content
        (length,) = struct.unpack("<I", content[:4])
        assert length % 4 == 0
        return json.loads(content[4 : 4 + length]), np.frombuffer(content[4 + length :], dtype="<f4")

    def refused(self, *args, **headers):
        """(status, its error message)"""
        status, _, content = self.ask(*args, **headers)
        assert status >= 400
        return status, json.loads(content)["error"]


@pytest.fixture
def client(server):
    return Client(server)


def test_the_page_and_all_that_it_loads(client):
    for path, (name, kind) in FILES.items():
        status, headers, content = client.ask("GET", path)
        assert (status, headers["Content-Type"], headers["X-Content-Type-Options"]) == (200, kind, "nosniff")
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert content.strip(), name
    page = client.ask("GET", "")[2].decode()
    assert "//" not in page.replace("<!doctype html>", ""), "nothing from elsewhere"


def test_rows_are_put_and_drawn(client):
    head, values = client.change(*ROWS)
    assert head["added"] == [0, 1, 2, 3, 4]
    assert head["shape"] == [1, 4, 5]
    rows = head["rows"]
    X, y = np.column_stack([rows["x"], rows["y"]]), np.array(rows["label"], dtype=float)
    model = libsvmx.train(X, y, C=10, gamma=2, keep_state=True).model
    points = np.stack(np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-1, 1, 4)), axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(values, libsvmx.decision_values(model, points)[:, 0], atol=1e-5)
    assert client.change(turn="undo")[0]["rows"]["key"] == []
    assert client.change(turn="redo")[0]["rows"]["key"] == [0, 1, 2, 3, 4]


def test_files_are_opened_and_saved(client):
    data = b"1 1:0.5 2:0.25\n2 1:-0.5 2:1\n"
    assert client.ask("POST", "open?kind=data&name=d", data)[0] == 200
    assert client.ask("GET", "rows.txt")[2] == data
    status, _, model = client.ask("GET", "rows.txt.model")
    assert status == 200 and model.startswith(b"svm_type c_svc\n")
    assert client.ask("POST", "open?kind=model&name=m", model)[0] == 200
    assert client.change()[0]["model"]["way"] == "file"
    assert client.refused("POST", "open?kind=data&name=%1bbad%22", b"1 x") == (
        422,
        "bad\":1:3: expected index:value, found 'x'",
    )
    assert client.refused("POST", "open?kind=picture&name=m", model) == (400, "a file is data or a model")
    client.change({"do": "clear"})
    assert client.refused("GET", "rows.txt") == (422, "there are no rows to save")


@pytest.mark.parametrize("token", ["", "x", "A" * 32])
def test_without_the_token_nothing_is_told(client, token):
    for method, path in (("GET", ""), ("GET", "page.js"), ("GET", "rows.txt"), ("POST", "change")):
        assert client.refused(method, path, "{}" if method == "POST" else None, token)[0] == 403
    assert client.change()[0]["rows"]["key"] == []


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1", "127.0.0.1:1", "example.org:{port}", ""])
def test_other_names_of_this_machine_are_refused(client, host):
    """Another's host name that resolves to the loopback address has the page's origin for a browser."""
    status, cause = client.refused("GET", "", Host=host.format(port=client.port))
    assert (status, cause) == (403, "this server answers to the loopback address only")


def test_pages_of_others_are_refused(client):
    body = json.dumps({"changes": ROWS, "view": VIEW})
    for origin in ("http://example.org", "null", f"https://127.0.0.1:{client.port}", "http://127.0.0.1:1"):
        assert client.refused("POST", "change", body, Origin=origin)[0] == 403
    assert client.change()[0]["rows"]["key"] == []
    for name in ("127.0.0.1", "localhost"):
        origin = f"http://{name}:{client.port}"
        assert client.ask("POST", "change", body, Origin=origin, Host=origin.removeprefix("http://"))[0] == 200


def test_names_without_the_port_of_http(client):
    """Browsers omit it."""
    client.server.server_port = 80
    for name in ("127.0.0.1", "localhost", "127.0.0.1:80"):
        assert client.ask("GET", "", Host=name, Origin=f"http://{name}")[0] == 200
    assert client.refused("GET", "", Host="127.0.0.1", Origin="http://example.org")[0] == 403
    assert client.refused("GET", "", Host="example.org")[0] == 403


def test_no_other_files(client):
    for path in ("../server.py", "..%2fserver.py", "server.py", "/etc/passwd", "page.html", "rows.txt/x"):
        assert client.refused("GET", path)[0] == 404
    assert client.refused("POST", "page.js", "{}")[0] == 404
    assert client.ask("PUT", "change", "{}")[0] == 501


@pytest.mark.parametrize(
    "body, status, cause",
    [
        (b"", 400, "the request is not JSON"),
        (b"\xff", 400, "the request is not JSON"),
        (b"[" * 100_000, 400, "the request is not JSON"),
        (b'{"view": NaN}', 400, "the request is not JSON"),
        (b"[]", 400, "the request is not a JSON object"),
        (b"{}", 400, "a view has"),
        ({"view": {**VIEW, "nx": 2.5}}, 400, "nx of a view must be a number"),
        ({"view": {**VIEW, "x0": "0"}}, 400, "x0 of a view must be a number"),
        ({"view": {**VIEW, "x0": 10**400}}, 400, ""),
        ({"view": {**VIEW, "nx": 10**9}}, 400, "a grid has"),
        ({"view": VIEW, "changes": 1}, 400, "changes must be a list of objects"),
        ({"view": VIEW, "changes": [1]}, 400, "changes must be a list of objects"),
        ({"view": VIEW, "changes": [{}] * (MOST_CHANGES + 1)}, 400, "at most"),
        ({"view": VIEW, "changes": [{"do": "remove", "row": 5}]}, 422, "there is no row 5"),
        ({"view": VIEW, "changes": [{"do": "add", "x": 10**400, "y": 0, "label": 1}]}, 422, "x must be a number"),
    ],
)
def test_wrong_requests_are_answered(client, body, status, cause):
    client.change(*ROWS)
    found, told = client.refused("POST", "change", body if isinstance(body, bytes) else json.dumps(body))
    assert found == status and cause in told
    assert len(client.change()[0]["rows"]["key"]) == len(ROWS)


def test_requests_have_a_length_that_is_bounded(client):
    def told(length):
        connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=PATIENCE)
        connection.putrequest("POST", f"/{client.server.token}/change")
        if length is not None:
            connection.putheader("Content-Length", length)
        connection.endheaders()
        reply = connection.getresponse()
        status = reply.status
        reply.read()
        connection.close()
        return status

    assert [told(n) for n in (None, "-1", "x", "9" * 5000, str(MOST_BYTES + 1))] == [411, 411, 411, 413, 413]


def raw(client, *words, content=b""):
    """(status, answer) for a request whose first line is ``words``, followed by nothing."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=PATIENCE) as connection:
        head = f"{' '.join(words)} HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nContent-Length: 1000\r\n\r\n"
        connection.sendall(head.encode() + content)
        connection.shutdown(socket.SHUT_WR)
        reply = http.client.HTTPResponse(connection)
        reply.begin()
        return reply.status, json.loads(reply.read())["error"]


def test_what_breaks_off_changes_nothing(client):
    client.change(*ROWS)
    for path, content in (("open?kind=data&name=d", b"1 1:0.5 2:0.25\n"), ("change", b'{"changes": []}')):
        words = "POST", f"/{client.server.token}/{path}"
        assert raw(client, *words, content=content) == (400, "the request has ended early")
    assert client.change()[0]["rows"]["key"] == list(range(len(ROWS)))


def test_an_address_that_cannot_be_read(client):
    assert raw(client, "GET", "http://[") == (400, "the address is not one of HTTP")


def test_signs_of_life_are_requests_with_the_token(client):
    client.server.last_request = 0.0
    for at, path, token, counts in (
        (10.0, "alive", None, True),
        (20.0, "alive", "x", False),
        (30.0, "change", "x", False),
        (40.0, "change", None, True),
    ):
        before = client.server.last_request
        with machine_with(monotonic=at):
            assert client.ask("POST", path, json.dumps({"view": VIEW}), token)[0] == (200 if counts else 403)
        assert client.server.last_request == (at if counts else before)


class Visited(ToyServer):
    """Each check for a request takes 10 seconds of ``clock``; the first four find one."""

    def __init__(self, clock):
        super().__init__(Session())
        self.clock, self.looks = clock, 0

    def handle_request(self):
        self.looks += 1
        self.clock.now += 10
        if self.looks < 5:
            self.last_request = self.clock.now


def test_it_ends_when_nobody_has_asked_for_so_long():
    clock = Clock(step=0.0)
    with machine_with(monotonic=clock), Visited(clock) as server:
        server.serve(25)
        assert server.looks == 4 + 3  # the last three without a request


def status_of(client, *lines):
    """The status of the answer to a request with these header lines."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=PATIENCE) as connection:
        connection.sendall("\r\n".join([f"GET /{client.server.token}/ HTTP/1.1", *lines, "", ""]).encode())
        return int(connection.makefile().readline().split()[1])


def test_headers_that_say_who_asks_come_once(client):
    """Of two, a proxy or a browser may use the other one."""
    host, foreign = f"Host: 127.0.0.1:{client.port}", "Host: example.org"
    assert status_of(client, host) == 200
    for lines in ((host, foreign), (foreign, host), (host, host), ()):
        assert status_of(client, *lines) == 403
    origin = f"Origin: http://127.0.0.1:{client.port}"
    assert status_of(client, host, origin) == 200
    for lines in ((origin, "Origin: http://example.org"), ("Origin: http://example.org", origin)):
        assert status_of(client, host, *lines) == 403


def test_strangers_make_way(client):
    """Connections without the token are limited, and each has a thread; the page is still answered."""
    kept = http.client.HTTPConnection("127.0.0.1", client.port, timeout=PATIENCE)

    def ask():
        kept.request("POST", f"/{client.server.token}/change", json.dumps({"view": VIEW}))
        assert kept.getresponse().read()
        return kept.sock

    first, strangers = ask(), []
    before = threading.active_count()
    for _ in range(5 * MOST_STRANGERS):
        strangers.append(socket.create_connection(("127.0.0.1", client.port), timeout=PATIENCE))
    client.change(*ROWS)  # connects last, so all others have been accepted
    for stranger in strangers[: 4 * MOST_STRANGERS - 1]:
        assert stranger.recv(1) == b"", "closed by the server"
    while threading.active_count() > before + MOST_STRANGERS:  # their threads end
        time.sleep(0.01)
    assert ask() is first, "the connection of the page is kept"
    for stranger in strangers:
        stranger.close()
    kept.close()


def test_connections_are_kept(client):
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=PATIENCE)
    sockets = set()
    for _ in range(3):
        connection.request("POST", f"/{client.server.token}/change", json.dumps({"view": VIEW}))
        assert connection.getresponse().read()
        sockets.add(connection.sock)
    assert len(sockets) == 1 and None not in sockets
    connection.close()


def test_changes_from_several_pages_follow_one_another(client):
    def put(k):
        for i in range(10):
            client.change({"do": "add", "x": 0.1 * k, "y": 0.05 * i, "label": k % 2 + 1})

    threads = [threading.Thread(target=put, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    head, _ = client.change()
    assert sorted(head["rows"]["key"]) == list(range(40)) and head["model"]


# --- the command ---


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_the_command_prints_an_address_and_ends_by_a_signal(tmp_path):
    (tmp_path / "d").write_text("1 1:1 2:1\n2 1:0.5 2:-1\n")
    words = arguments("svmx-toy", "--no-browser", tmp_path / "d")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            address = child.stdout.readline().strip()
            host, token = address.removeprefix("http://").removesuffix("/").split("/")
            assert host.startswith("127.0.0.1:") and len(token) == 32
            connection = http.client.HTTPConnection(host, timeout=PATIENCE)
            connection.request("GET", f"/{token}/rows.txt")
            assert connection.getresponse().read() == b"1 1:1 2:1\n2 1:0.5 2:-1\n"
            connection.close()
        finally:
            child.send_signal(signal.SIGINT)
            _, errors = child.communicate(timeout=PATIENCE)
    assert errors == ""
    assert child.returncode == -signal.SIGINT


def test_the_command_ends_when_nobody_is_there():
    done = process("svmx-toy", "--no-browser", "--idle", "0.001")
    assert (done.returncode, done.stderr) == (0, b"")


# Reads the file given to it, and then the page that the file links to.
BROWSER = """
import re, sys
from pathlib import Path
from urllib.request import ProxyHandler, build_opener, url2pathname
text = Path(url2pathname(sys.argv[1].removeprefix("file://"))).read_text()
address = re.search('href="([^"]*)"', text)[1]
page = build_opener(ProxyHandler({})).open(address).read()
found = Path(sys.argv[0]).with_name("found")
found.with_suffix(".new").write_text(f"{address} {text.count(address)} {len(page)}")
found.with_suffix(".new").rename(found)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_browser_that_returns_only_when_it_is_left_is_answered(tmp_path):
    """Such as those in a terminal: the page is answered while it is open."""
    (tmp_path / "browser.py").write_text(BROWSER)
    browser = os.environ | {"BROWSER": f"{sys.executable} {tmp_path}/browser.py %s", "TMPDIR": str(tmp_path)}
    with subprocess.Popen(arguments("svmx-toy"), stdout=subprocess.PIPE, text=True, env=browser) as child:
        try:
            address = child.stdout.readline().strip()
            wait_for((tmp_path / "found").exists)  # it has left
        finally:
            child.send_signal(signal.SIGINT)
            child.wait(timeout=PATIENCE)
    page = Path(libsvmx.__file__).with_name("toy") / "page.html"
    assert (tmp_path / "found").read_text() == f"{address} 2 {page.stat().st_size}"


def file_of(address):
    """The path of a file: address."""
    parts = urlsplit(address)
    assert (parts.scheme, parts.netloc) == ("file", "")
    return Path(unquote(parts.path))


@pytest.mark.skipif(os.name != "posix", reason="modes and signals")
@pytest.mark.parametrize("end", ["page", "signal"])
def test_the_browser_is_given_a_file_of_its_owner_that_does_not_stay(tmp_path, end):
    """Not the address, which other users could see on its command line."""
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/given.new; mv {tmp_path}/given.new {tmp_path}/given\n')
    browser.chmod(0o755)
    (tmp_path / "home").mkdir()
    places = {"TMPDIR": str(tmp_path / "home"), "HOME": str(tmp_path / "home"), "BROWSER": f"{browser} %s"}
    with subprocess.Popen(arguments("svmx-toy"), stdout=subprocess.PIPE, text=True, env=os.environ | places) as child:
        try:
            address = child.stdout.readline().strip()
            wait_for((tmp_path / "given").exists)
            page = file_of((tmp_path / "given").read_text().strip())
            assert address in page.read_text()
            assert [stat.S_IMODE(place.stat().st_mode) for place in (page, page.parent)] == [0o600, 0o700]
            if end == "page":
                host, token = address.removeprefix("http://").removesuffix("/").split("/")
                connection = http.client.HTTPConnection(host, timeout=PATIENCE)
                connection.request("GET", f"/{token}/")
                assert connection.getresponse().status == 200
                connection.close()
                wait_for(lambda: not page.parent.exists())
        finally:
            child.send_signal(signal.SIGINT)
            child.wait(timeout=PATIENCE)
    assert child.returncode == -signal.SIGINT
    assert list((tmp_path / "home").iterdir()) == []


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_browser_that_goes_before_its_answer_ends_nothing():
    with subprocess.Popen(arguments("svmx-toy", "--no-browser"), stdout=subprocess.PIPE, text=True) as child:
        try:
            parts = urlsplit(child.stdout.readline().strip())
            view = {**VIEW, "nx": 340, "ny": 350}
            body = json.dumps({"changes": [{"do": "example", "name": "moons"}], "view": view})
            head = f"POST {parts.path}change HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: {len(body)}\r\n\r\n"
            for _ in range(5):
                with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE) as connection:
                    connection.sendall((head + body).encode() * 3)
            connection = http.client.HTTPConnection(parts.netloc, timeout=PATIENCE)
            for _ in range(3):  # one after another, behind those that nobody waits for
                connection.request("POST", f"{parts.path}change", json.dumps({"view": VIEW}))
                assert connection.getresponse().read()
            connection.close()
            assert child.poll() is None
        finally:
            child.terminate()
            child.wait(timeout=PATIENCE)
    assert child.returncode == -signal.SIGTERM


def test_its_report_tells_how_long_it_has_read(folder):
    folder.put("d", "1 1:1 2:1\n2 1:0.5 2:-1\n")
    with machine_with(monotonic=Clock()):  # otherwise it stands still
        folder.accepts("svmx-toy", "--no-browser", "--idle", "0.0001", "--report", "r", "d")
    assert {"reading", "serving"} <= set(json.loads(folder.get("r"))["seconds"])


@pytest.mark.parametrize(
    "args, cause",
    [
        (["--port", "70000"], "must be between 0 and 65535"),
        (["--port", "x"], "needs a number"),
        (["--idle", "-1"], "must be at least 0"),
        (["a", "b"], "one data file is enough"),
        (["none"], "none: No such file"),
        (["--features", "7", "d"], "needs two indices"),
        (["--features", "1,9", "d"], "d has no feature 9"),
        (["--features", "1,2"], "--features are those of a data file"),
        (["--example", "spiral"], "there is no example 'spiral'"),
        (["--example", "moons", "d"], "not with both"),
        (["--fast"], "unknown option"),
    ],
)
def test_wrong_command_lines(folder, args, cause):
    folder.put("d", "1 1:1 7:1\n")
    assert cause in folder.refuses("svmx-toy", *args)[0]


def test_a_port_that_is_taken(folder, server):
    told = folder.refuses("svmx-toy", "--no-browser", "--port", server.server_port)[0]
    assert f"port {server.server_port}: " in told and "in use" in told and "leave out --port" in told
