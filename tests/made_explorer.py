"""Explorers for tests: a server in this process, on a port that the system gives, and what asks it."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode, urlsplit

from scuff.explore.server import Explorer, open_server


class Client:
    """Asks an explorer as the page does, or as somebody else would."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.place = urlsplit(address)

    def send(
        self, path: str, method: str = "GET", body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the answer to a request for a whole path."""
        line = http.client.HTTPConnection(self.place.hostname, self.place.port, timeout=60)
        try:
            line.request(method, path, body, headers or {})
            answer = line.getresponse()
            return answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read()
        finally:
            line.close()

    def below(self, path: str, **words: Any) -> str:
        """A path below the secret one."""
        return f"{self.place.path}{path}" + (f"?{urlencode(words)}" if words else "")

    def ask(self, path: str, **words: Any) -> tuple[int, Any]:
        """Status and content of an answer of the API."""
        status, _, content = self.send(self.below(f"api/{path}", **words))
        return status, json.loads(content)

    def picture(self, path: str, **words: Any) -> bytes:
        status, headers, content = self.send(self.below(f"api/{path}", **words))
        assert (status, headers["content-type"]) == (200, "image/png"), content
        return content

    def drop(self, content: bytes) -> tuple[int, Any]:
        status, _, answer = self.send(self.below("api/pictures"), "POST", content)
        return status, json.loads(answer)


@contextmanager
def running(explorer: Explorer) -> Iterator[Client]:
    """Serve an explorer in a thread."""
    serving = open_server(explorer)
    thread = threading.Thread(target=serving.run)
    thread.start()
    try:
        yield Client(serving.address)
    finally:
        serving.server.should_exit = True
        thread.join()
