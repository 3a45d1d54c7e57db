"""A page on the loopback address, for one session and the holder of its token.

Access: the address is 127.0.0.1, and every path begins with a token of 192 random bits, unknown to other users of the
machine and to pages of other sites. ``Host`` must name the loopback address, which refuses foreign names that resolve
to it (DNS rebinding), and ``Origin``, if present, this server; once each. Connections that have not shown the token
make way for new ones, so that nobody else can occupy all threads.

    GET  /TOKEN/                 the page; its other files beside it
    GET  /TOKEN/rows.txt, /TOKEN/rows.txt.model      data and model, LIBSVM's formats
    POST /TOKEN/change           {"changes": […], "continued": false, "turn": "undo", "view": {…}} -> picture
    POST /TOKEN/open?kind=data&name=…                a file of LIBSVM's -> {}
    POST /TOKEN/alive            the page is still open

A picture is one answer: the length of its head in four bytes (little-endian), the head in JSON, padded with blanks to a
multiple of four, then the decision values in float32. Errors are {"error": a sentence}.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit

from libsvmx._core.machine import machine
from libsvmx.exceptions import DataError, SvmxError
from libsvmx.toy.picture import View
from libsvmx.toy.session import Session, saved_model

ADDRESS = "127.0.0.1"
NAMES = (ADDRESS, "localhost")  # its names in a browser
HTTP_PORT = 80  # omitted by browsers
TOKEN_BYTES = 24
MOST_BYTES = 4 << 20  # of a request
MOST_CHANGES = 1000  # in one request
MOST_STRANGERS = 16  # connections without the token
PATIENCE = 30.0  # seconds for the rest of a request, and until the next one of a connection
BETWEEN_LOOKS = 0.5  # seconds between checks whether to end
FILES = {
    "": ("page.html", "text/html; charset=utf-8"),
    "page.css": ("page.css", "text/css; charset=utf-8"),
    **{f"{name}.js": (f"{name}.js", "text/javascript; charset=utf-8") for name in ("page", "requests", "drawing")},
    "contours.js": ("contours.js", "text/javascript; charset=utf-8"),
}
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Refused(Exception):
    """A request answered by an error: status, and a sentence."""

    def __init__(self, status: HTTPStatus, cause: str) -> None:
        super().__init__(cause)
        self.status = status


class ToyServer(ThreadingHTTPServer):
    """ToyServer(session, port=0): serves ``url`` from ``serve`` on; port 0: any free one.

    Raises
    ------
    OSError      the port is taken
    """

    daemon_threads = True
    allow_reuse_address = os.name == "posix"  # elsewhere two servers could share a port

    def __init__(self, session: Session, port: int = 0) -> None:
        super().__init__((ADDRESS, port), Handler)
        self.session, self.lock = session, Lock()
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self.last_request = machine.monotonic()
        self.timeout = BETWEEN_LOOKS
        self.ended = False
        self._strangers: dict[socket, None] = {}  # connections without the token, the oldest first
        self._guard = Lock()  # of them
        self.when_asked: Callable[[], object] = lambda: None  # called at each request for the page

    @property
    def url(self) -> str:
        """The address of the page, with its token."""
        return f"http://{ADDRESS}:{self.server_port}/{self.token}/"

    def serve(self, idle_seconds: float) -> None:
        """Answer until there was no request for this time (0: no limit), or ``ended`` is set."""
        while not self.ended and (not idle_seconds or machine.monotonic() - self.last_request < idle_seconds):
            self.handle_request()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start a thread for a connection without the token; of too many the oldest is closed."""
        with self._guard:
            self._strangers[request] = None
            oldest = next(iter(self._strangers)) if len(self._strangers) > MOST_STRANGERS else None
            if oldest is not None:
                del self._strangers[oldest]
                with suppress(OSError):  # it may have ended by itself
                    oldest.shutdown(SHUT_RDWR)  # its thread reads the end, and closes it
        super().process_request(request, client_address)

    def has_shown_the_token(self, request: socket) -> None:
        """The connection has shown the token."""
        with self._guard:
            self._strangers.pop(request, None)

    def shutdown_request(self, request: Any) -> None:
        """The end of a connection."""
        with self._guard:
            self._strangers.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A line on standard error, unless the browser has closed the connection."""
        error = sys.exc_info()[1]
        if not isinstance(error, ConnectionError | TimeoutError):
            print(f"svmx-toy: error: {type(error).__name__}: {error}", file=sys.stderr)


class Handler(BaseHTTPRequestHandler):
    """One connection of a browser."""

    server: ToyServer
    protocol_version = "HTTP/1.1"  # connections are kept
    server_version, sys_version = "svmx-toy", ""
    timeout = PATIENCE
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._answered(self._get)

    def do_POST(self) -> None:
        self._answered(self._post)

    def _answered(self, action: Callable[[str], tuple[bytes, str]]) -> None:
        """Send the result of ``action`` for a path below the token, or an error."""
        try:
            path = self._checked_path()
            self.server.last_request = machine.monotonic()
            content, kind = action(path)
            self._send(HTTPStatus.OK, content, kind)
        except Refused as refused:
            self.close_connection = True  # its body may not have been read
            self._tell(refused.status, str(refused))
        except SvmxError as error:
            self._tell(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
        except MemoryError:
            self._tell(HTTPStatus.INSUFFICIENT_STORAGE, "out of memory")

    def _checked_path(self) -> str:
        """The path below the token. Raises Refused."""
        port = self.server.server_port
        hosts = [f"{name}:{port}" for name in NAMES]
        if port == HTTP_PORT:
            hosts += NAMES
        named, origins = self.headers.get_all("Host", []), self.headers.get_all("Origin", [])
        if len(named) != 1 or named[0] not in hosts:
            raise Refused(HTTPStatus.FORBIDDEN, "this server answers to the loopback address only")
        if len(origins) > 1 or not set(origins) <= {f"http://{host}" for host in hosts}:
            raise Refused(HTTPStatus.FORBIDDEN, "this server answers to its own page only")
        try:
            token, _, path = urlsplit(self.path).path.removeprefix("/").partition("/")
        except ValueError:
            raise Refused(HTTPStatus.BAD_REQUEST, "the address is not one of HTTP") from None
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise Refused(HTTPStatus.FORBIDDEN, "the address is not complete: open the one that svmx-toy has printed")
        self.server.has_shown_the_token(self.connection)
        return path

    # ---- GET -----------------------------------------------------------------------------------

    def _get(self, path: str) -> tuple[bytes, str]:
        if path in FILES:
            name, kind = FILES[path]
            if not path:
                self.server.when_asked()
            with open(os.path.join(os.path.dirname(__file__), name), "rb") as file:
                return file.read(), kind
        if path == "rows.txt":
            with self.server.lock:
                return self.server.session.data_text(), "text/plain; charset=utf-8"
        if path == "rows.txt.model":
            with self.server.lock:
                scene = self.server.session.scene
            return saved_model(scene), "text/plain; charset=utf-8"  # may take long, and changes nothing
        raise Refused(HTTPStatus.NOT_FOUND, "there is nothing at this address")

    # ---- POST ----------------------------------------------------------------------------------

    def _post(self, path: str) -> tuple[bytes, str]:
        if path not in ("change", "open", "alive"):
            raise Refused(HTTPStatus.NOT_FOUND, "there is nothing at this address")
        body = self._body()
        if path == "change":
            return self._change(body), "application/octet-stream"
        if path == "open":
            self._open(body)
        return b"{}", "application/json"

    def _body(self) -> bytes:
        text = self.headers.get("Content-Length", "")
        if not (text.isascii() and text.isdecimal()):
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "a request must say how long it is")
        if len(text) > len(str(MOST_BYTES)) or int(text) > MOST_BYTES:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has at most {MOST_BYTES >> 20} MB")
        body = self.rfile.read(int(text))
        if len(body) < int(text):
            raise Refused(HTTPStatus.BAD_REQUEST, "the request has ended early")
        return body

    def _change(self, body: bytes) -> bytes:
        begin = machine.monotonic()
        request = parsed(body)
        changes, turn = request.get("changes", []), request.get("turn")
        if not isinstance(changes, list) or not all(isinstance(each, dict) for each in changes):
            raise Refused(HTTPStatus.BAD_REQUEST, "changes must be a list of objects")
        if len(changes) > MOST_CHANGES:
            raise Refused(HTTPStatus.BAD_REQUEST, f"a request has at most {MOST_CHANGES} changes")
        view = view_of(request.get("view"))
        session = self.server.session
        with self.server.lock:
            added = session.change(changes, continued=request.get("continued") is True) if changes else []
            if turn in ("undo", "redo"):
                session.undo() if turn == "undo" else session.redo()
            changed = machine.monotonic()
            head, values = session.picture(view)
        head["added"] = added
        head["server"] = {"change": changed - begin, "picture": machine.monotonic() - changed}  # seconds
        text = json.dumps(head, allow_nan=False, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        return struct.pack("<I", len(text)) + text + values.astype("<f4", copy=False).tobytes()

    def _open(self, body: bytes) -> None:
        query = parse_qs(urlsplit(self.path).query)
        kind, name = query.get("kind", [""])[0], query.get("name", [""])[0]
        name = "".join(c for c in name[:100] if c.isprintable()) or "the file"
        with self.server.lock:
            if kind == "data":
                self.server.session.open_data(body, name)
            elif kind == "model":
                self.server.session.open_model(body, name)
            else:
                raise Refused(HTTPStatus.BAD_REQUEST, "a file is data or a model")

    # ---- answers -------------------------------------------------------------------------------

    def _tell(self, status: HTTPStatus, cause: str) -> None:
        self._send(status, json.dumps({"error": cause}).encode(), "application/json")

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        with suppress(ConnectionError):
            # headers and content in one packet
            self._headers_buffer.append(b"\r\n" + content)  # type: ignore[attr-defined]
            self.flush_headers()

    def log_message(self, format: str, *args: object) -> None:
        """No log: paths hold the token."""


def parsed(body: bytes) -> dict[str, Any]:
    """The object in a request. Raises Refused."""
    try:
        request = json.loads(body, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        raise Refused(HTTPStatus.BAD_REQUEST, "the request is not JSON") from None
    if not isinstance(request, dict):
        raise Refused(HTTPStatus.BAD_REQUEST, "the request is not a JSON object")
    return request


def refuse_constant(name: str) -> None:
    """NaN and Infinity are no JSON, but Python reads them."""
    raise ValueError(name)


def view_of(given: Any) -> View:
    """The grid that a request asks for. Raises Refused."""
    names, whole = ("x0", "x1", "y0", "y1", "nx", "ny"), ("nx", "ny")
    if not isinstance(given, dict) or set(given) != set(names):
        raise Refused(HTTPStatus.BAD_REQUEST, f"a view has {', '.join(names)}")
    for name in names:
        if type(given[name]) is not int and (name in whole or type(given[name]) is not float):
            raise Refused(HTTPStatus.BAD_REQUEST, f"{name} of a view must be a number")
    try:
        return View(**given)
    except (DataError, OverflowError) as error:
        raise Refused(HTTPStatus.BAD_REQUEST, str(error)) from None
