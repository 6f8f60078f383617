"""Every error of REST as a problem (RFC 9457): one place maps those of the domain, Django, ninja and the database."""

import logging
from typing import Any

from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
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


def answer(error: Exception) -> HttpResponse:
    """The problem that stands for an error. The log has what its sentence does not say."""
    match error:
        case MemoriesError():
            return problem(error.status, str(error), code=error.code)
        case DatabaseError():
            log.error("The database failed: %s", error)
            return answer(from_database(error))
        case Http404():
            return problem(404, "There is nothing at this address.")
        case PermissionDenied():
            return problem(403, "This is not allowed.", code="forbidden")
        case BadRequest() | SuspiciousOperation() | UnicodeDecodeError():
            return problem(400, "The request cannot be understood.")
    log.error("A request failed.", exc_info=error)
    return problem(500, "Something went wrong here; the service's log says what.", code="internal")


def sentence(error: ValidationError) -> str:
    """The first thing that is wrong with a request, as one sentence."""
    first: dict[str, Any] = error.errors[0]
    _source, *place = map(str, first["loc"])
    name = ".".join(place[1:] if place[:1] in (["body"], ["filters"]) else place) or "The body"
    return f"{name}: {first['msg']}."


def install(api: NinjaAPI) -> None:
    @api.exception_handler(Http404)  # ninja has a handler of its own for it
    @api.exception_handler(Exception)
    def known(_request: HttpRequest, error: Exception) -> HttpResponse:
        return answer(error)

    @api.exception_handler(ValidationError)
    def invalid(_request: HttpRequest, error: ValidationError) -> HttpResponse:
        return problem(422, sentence(error), code="invalid")

    @api.exception_handler(HttpError)
    def ninja_error(_request: HttpRequest, error: HttpError) -> HttpResponse:
        return problem(error.status_code, str(error))
