"""REST as its clients see it: once without the guard (the views alone), once through the whole ASGI application."""

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from django.core.cache import cache
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.test import Client
from django.test.client import ClientHandler

from memories import tokens
from memories.principal import ANYONE
from memsite.asgi import make_application

JSON = "application/json"


@dataclass(frozen=True)
class Answer:
    status: int
    media_type: str
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> tuple[int, str]:
        """Status and code of a problem, which has all that RFC 9457 asks for."""
        assert self.media_type == "application/problem+json", self.body
        problem = self.json
        assert problem.keys() == {"type", "title", "status", "detail", "code"}
        assert problem["status"] == self.status
        assert problem["detail"].strip()
        return self.status, problem["code"]


class Rest:
    """Calls by method and path; a body that is no bytes is sent as JSON."""

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        raise NotImplementedError

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self.ask("POST", path, body, **headers)

    def patch(self, path: str, body: Any, **headers: str) -> Answer:
        return self.ask("PATCH", path, body, **headers)

    def delete(self, path: str, **headers: str) -> Answer:
        return self.ask("DELETE", path, **headers)

    def keep(self, content: str, **fields: Any) -> str:
        """Store a text and get its uid."""
        answer = self.post("/ingest", {"content": content, **fields})
        assert answer.status in (200, 201), answer.body
        assert answer.json["uid"], answer.json
        return str(answer.json["uid"])

    def found(self, query: str, **fields: Any) -> list[str]:
        """The uids that a broad search finds, best first."""
        answer = self.post("/recall", {"query": query, "mode": "search", **fields})
        assert answer.status == 200, answer.body
        return [hit["uid"] for hit in answer.json["memories"]]

    def injected(self, query: str, **fields: Any) -> Any:
        """The whole answer to a recall that is meant for a prompt."""
        answer = self.post("/recall", {"query": query, **fields})
        assert answer.status == 200, answer.body
        return answer.json


def encoded(body: Any) -> bytes:
    if isinstance(body, bytes):
        return body
    return b"" if body is None else json.dumps(body).encode()


class AsAnyone(ClientHandler):
    """Stands for what comes before the views."""

    def get_response(self, request: HttpRequest) -> HttpResponseBase:
        request.scope = {"memories.principal": ANYONE}  # type: ignore[attr-defined]
        return super().get_response(request)


def views_alone(*, raise_request_exception: bool = True) -> Client:
    client = Client(raise_request_exception=raise_request_exception)
    client.handler = AsAnyone(enforce_csrf_checks=False)
    return client


class Views(Rest):
    def __init__(self) -> None:
        self.client = views_alone()

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        response = self.client.generic(method, path, encoded(body), JSON, headers=headers)
        media_type = response.headers.get("Content-Type", "").partition(";")[0]
        return Answer(response.status_code, media_type, response.content, dict(response.headers))


class Stack(Rest):
    def __init__(self, token: str = "") -> None:
        self.token = token
        self.application = make_application()

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        content = encoded(body)
        sent = {"Content-Type": JSON} if content else {}
        sent |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        response = asyncio.run(self._send(method, path, content, sent))
        media_type = response.headers.get("content-type", "").partition(";")[0]
        return Answer(response.status_code, media_type, response.content, dict(response.headers))

    async def _send(self, method: str, path: str, content: bytes, headers: dict[str, str]) -> httpx2.Response:
        transport = httpx2.ASGITransport(app=self.application, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, content=content, headers=headers)


@pytest.fixture
def rest(db: None) -> Rest:
    """The views, as anyone may use them while authentication is off."""
    return Views()


@pytest.fixture
def stack(transactional_db: None, fresh_pool: None) -> Iterator[Callable[..., Rest]]:
    """The whole application, for the bearer of a token if one is given."""
    yield Stack
    cache.clear()


@pytest.fixture
def token(transactional_db: None) -> Callable[..., str]:
    """Create an access token and get what its client sends."""

    def create(name: str = "client", **fields: Any) -> str:
        return tokens.create(name, actor="test", **fields)

    return create
