"""The server of an explorer: its routes, and its life from the printed address to Ctrl-C."""

from __future__ import annotations

import base64
import json
import secrets
import socket
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import scuff
from scuff.explore.corruptions import Turn, catalogue
from scuff.explore.guard import App, Guard
from scuff.explore.looks import difference, root_mean_square, spectrum
from scuff.explore.panel import Panel
from scuff.explore.pictures import MOST_BYTES, Gone, Shelf, to_bmp, to_png
from scuff.explore.view import View
from scuff.report.colours import colour_rules
from scuff.suites import Suite

STATIC = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
COLOURS, LOOK = "colours.css", "report.css"  # of the report, under names of their own
UNCHANGING = {"cache-control": "private, max-age=3600"}
APART = {  # a report: it holds all that it needs, and is kept from the explorer by an origin of its own
    "content-security-policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; "
    "sandbox allow-scripts allow-downloads",
    "cross-origin-opener-policy": "unsafe-none",  # browsers want no other of a page that is kept apart
    "x-frame-options": "SAMEORIGIN",
}
ADDRESS = "127.0.0.1"


@dataclass(frozen=True)
class Explorer:
    """All that a page may ask for: suites, pictures and models, and views of a folder with results."""

    suites: dict[str, Suite]
    shelf: Shelf
    panel: Panel
    views: dict[str, View] = field(default_factory=dict)  # by name, first that with which the page begins
    origins: dict[str, str] = field(default_factory=dict)  # how Python comes by suites that are not bundled

    def start(self, ask: Ask) -> dict[str, Any]:
        """What a page needs first."""
        source = self.shelf.source
        return {
            "version": scuff.__version__,
            "suites": catalogue(self.suites),
            "picture": self.shelf.first,
            "most_bytes": MOST_BYTES,
            "data": None if source is None else {"name": source.name, "count": len(source)},
            "models": [classifier.name for classifier in self.panel.classifiers],
            "views": {name: view.start() for name, view in self.views.items()},
        }

    def corrupt(self, ask: Ask) -> dict[str, Any]:
        """A picture under a corruption, what has changed, what did it, and what models say."""
        clean, turn = self.shelf.square(ask.text("picture"), ask.whole("size")), self.turn(ask)
        corrupted = turn.apply(clean.image)
        change, gain = difference(clean.image, corrupted)
        shown = {"corrupted": corrupted, "difference": change, "spectrum": spectrum(clean.image, corrupted)}
        return {
            "pictures": {name: _as_address(to_bmp(image)) for name, image in shown.items()},
            "title": clean.title,
            "side": clean.image.width,
            "gain": gain,
            "change": root_mean_square(clean.image, corrupted),
            "line": turn.line(),
            "frames": turn.frames(clean.image),
            **turn.explain(clean.image.width),
            "models": self.panel.answers(clean, corrupted),
        }

    def failures(self, ask: Ask) -> dict[str, Any]:
        """Where models fail along the severities of a corruption that has levels."""
        clean, turn = self.shelf.square(ask.text("picture"), ask.whole("size")), self.turn(ask)
        if turn.is_sequence or not turn.suite.listed_levels(turn.entry):
            return {"models": []}
        return {"models": self.panel.failures(clean, turn)}

    def picture(self, ask: Ask) -> bytes:
        """A picture as it is; with a suite, corrupted by one of its entries."""
        clean = self.shelf.square(ask.text("picture"), ask.whole("size"))
        return to_png(clean.image if ask.text("suite", None) is None else self.turn(ask).apply(clean.image))

    def turn(self, ask: Ask) -> Turn:
        """The corruption that is asked for."""
        suite = self.suites.get(ask.text("suite"))
        if suite is None:
            raise ValueError(f"there is no suite {ask.text('suite')!r} here")
        entry = suite.find(ask.text("entry"))
        shared, origin = ask.text("draws", "") == "shared", self.origins.get(suite.name, "suite")
        return Turn(suite, entry, ask.number("severity"), ask.whole("seed") or 0, shared, origin)


class Ask:
    """The words of a request, as numbers where numbers are wanted."""

    def __init__(self, words: Any) -> None:
        self.words = words

    def text(self, name: str, *default: Any) -> Any:
        """A word, which must be there unless there is a default."""
        if name not in self.words and not default:
            raise ValueError(f"the request lacks {name}")
        return self.words.get(name, *default)

    def number(self, name: str) -> float | None:
        """A number, or None if it is left out."""
        word = self.words.get(name, "")
        try:
            return float(word) if word else None
        except ValueError:
            raise ValueError(f"{name} must be a number, got {word!r}") from None

    def whole(self, name: str) -> int | None:
        """A whole number, or None if it is left out."""
        word = self.words.get(name, "")
        try:
            return int(word) if word else None
        except ValueError:
            raise ValueError(f"{name} must be a whole number, got {word!r}") from None


def build(explorer: Explorer, token: str, port: int) -> App:
    """The app that serves one explorer below `/TOKEN/`."""

    def answers(function: Callable[[Ask], dict[str, Any]]) -> Callable[[Request], Response]:
        return lambda request: Response(_json(function(Ask(request.query_params))), media_type="application/json")

    def pictures(function: Callable[[Ask], bytes]) -> Callable[[Request], Response]:
        return lambda request: Response(function(Ask(request.query_params)), media_type="image/png", headers=UNCHANGING)

    def pages(function: Callable[[], str]) -> Callable[[Request], Response]:
        return lambda request: Response(function(), media_type="text/html", headers=APART)

    async def drop(request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        content = await request.body()
        name = await run_in_threadpool(explorer.shelf.drop, content)
        return JSONResponse({"picture": name})

    routes = [
        Route("/", lambda request: _static("index.html")),
        Route("/api/start", answers(explorer.start)),
        Route("/api/corrupt", answers(explorer.corrupt)),
        Route("/api/failures", answers(explorer.failures)),
        Route("/api/picture", pictures(explorer.picture)),
        Route("/api/pictures", drop, methods=["POST"]),
    ]
    for name, view in explorer.views.items():
        routes += [Route(f"/{path}", pages(function)) for path, function in view.pages().items()]
        routes += [Route(f"/api/{name}/{path}", answers(function)) for path, function in view.answers().items()]
        routes += [Route(f"/api/{name}/{path}", pictures(function)) for path, function in view.pictures().items()]
    routes.append(Route("/{name}", lambda request: _static(request.path_params["name"])))
    mistakes: dict[Any, Any] = dict.fromkeys((ValueError, LookupError, OSError), _explain) | {Exception: _confess}
    return Guard(Starlette(routes=routes, exception_handlers=mistakes), token, port, MOST_BYTES)


@dataclass(frozen=True)
class Serving:
    """A server that has its address, but does not answer before it runs."""

    server: Any  # uvicorn.Server
    door: socket.socket
    address: str

    def run(self) -> None:
        """Answer until Ctrl-C, or until the server is told to stop."""
        with self.door, suppress(KeyboardInterrupt):
            self.server.run(sockets=[self.door])


def open_server(explorer: Explorer, port: int = 0) -> Serving:
    """A server of an explorer, on this machine only, below an address that nobody can guess."""
    import uvicorn

    door, token = socket.create_server((ADDRESS, port)), secrets.token_urlsafe(16)
    number = door.getsockname()[1]
    options: dict[str, Any] = {"log_level": "critical", "access_log": False, "lifespan": "off", "ws": "none"}
    config = uvicorn.Config(build(explorer, token, number), timeout_graceful_shutdown=1, **options)
    return Serving(uvicorn.Server(config), door, f"http://{ADDRESS}:{number}/{token}/")


def _static(name: str) -> Response:
    """One of the files of the page, of which there is a list."""
    if name == COLOURS:
        return Response(colour_rules(), media_type="text/css")
    folder = resources.files("scuff.report" if name == LOOK else __package__)
    file = folder / "style.css" if name == LOOK else folder / "static" / name
    if name != LOOK and name not in {f.name for f in (folder / "static").iterdir()}:
        return JSONResponse({"error": f"there is no page {name}"}, 404)
    kind = STATIC[name[name.rindex(".") :]]
    return Response(file.read_bytes(), media_type=kind, headers={"cache-control": "no-cache"})


def _explain(request: Request, error: Exception) -> Response:
    """A mistake in a request as one sentence; a dropped picture that is gone has a status of its own."""
    text = str(error.args[0]) if isinstance(error, LookupError) and error.args else str(error)
    status = 410 if isinstance(error, Gone) else 400
    return JSONResponse({"error": " ".join(text.split())}, status)


def _confess(request: Request, error: Exception) -> Response:
    """A mistake of ours: the terminal has the details."""
    traceback.print_exception(error)
    return JSONResponse({"error": "something went wrong; the terminal of scuff explore says what"}, 500)


def _json(content: Any) -> bytes:
    return json.dumps(content, allow_nan=False).encode()


def _as_address(bmp: bytes) -> str:
    return f"data:image/bmp;base64,{base64.b64encode(bmp).decode()}"
