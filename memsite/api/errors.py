"""Every error of REST as a problem (RFC 9457): one place maps the domain's tree, ninja's and the database's."""

import logging
from typing import Any

from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from memories.errors import MemoriesError, from_database
from memsite import guard

log = logging.getLogger(__name__)
CODES = {400: "bad_request", 404: "not_found", 405: "method_not_allowed"}


def problem(status: int, detail: str, *, code: str = "") -> HttpResponse:
    body = guard.problem(status, code or CODES.get(status, "error"), detail)
    return HttpResponse(body, status=status, content_type="application/problem+json")


def sentence(error: ValidationError) -> str:
    """The first thing that is wrong with a request, as one sentence."""
    first: dict[str, Any] = error.errors[0]
    _source, *place = map(str, first["loc"])
    name = ".".join(place[1:] if place[:1] in (["body"], ["filters"]) else place) or "The body"
    return f"{name}: {first['msg']}."


def install(api: NinjaAPI) -> None:
    @api.exception_handler(MemoriesError)
    def domain(_request: HttpRequest, error: MemoriesError) -> HttpResponse:
        return problem(error.status, str(error), code=error.code)

    @api.exception_handler(DatabaseError)
    def database(_request: HttpRequest, error: DatabaseError) -> HttpResponse:
        known = from_database(error)
        log.error("The database failed: %s", error)
        return problem(known.status, str(known), code=known.code)

    @api.exception_handler(ValidationError)
    def invalid(_request: HttpRequest, error: ValidationError) -> HttpResponse:
        return problem(422, sentence(error), code="invalid")

    @api.exception_handler(HttpError)
    def ninja_error(_request: HttpRequest, error: HttpError) -> HttpResponse:
        return problem(error.status_code, str(error))

    @api.exception_handler(Http404)
    def missing(_request: HttpRequest, _error: Http404) -> HttpResponse:
        return problem(404, "There is nothing here.")

    @api.exception_handler(Exception)
    def unknown(_request: HttpRequest, error: Exception) -> HttpResponse:
        log.error("A request failed.", exc_info=error)
        return problem(500, "The service failed; its log says why.", code="internal")
