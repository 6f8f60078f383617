"""What can be wrong with a request, as states. Interfaces map this one tree, REST to problems (RFC 9457).

Every message is one sentence that says what was wrong and, where it helps, what is allowed.
"""

SQLITE_FULL = 13


class MemoriesError(Exception):
    """Base of every error that a caller may see. `code` is stable, `status` is the HTTP status."""

    code = "error"
    status = 500


class Rejected(MemoriesError):
    """The input breaks a rule of the domain."""

    code = "rejected"
    status = 422


class Unauthorized(MemoriesError):
    """Authentication is on and the request carries no valid token."""

    code = "unauthorized"
    status = 401


class Forbidden(MemoriesError):
    """The principal may not do this, or may not do it in this scope."""

    code = "forbidden"
    status = 403


class NotFound(MemoriesError):
    """There is no such thing in this scope."""

    code = "not_found"
    status = 404


class Conflict(MemoriesError):
    """The request contradicts the present state of what it names."""

    code = "conflict"
    status = 409


class StoreUnavailable(MemoriesError):
    """The database cannot be read or written now."""

    code = "store_unavailable"
    status = 503


class StoreFull(MemoriesError):
    """No space is left where the database lives."""

    code = "store_full"
    status = 507


def from_database(error: BaseException) -> MemoriesError:
    """The state behind an error of SQLite: no space, or no way to read or write now."""
    cause = error.__cause__ or error
    if getattr(cause, "sqlite_errorcode", 0) & 0xFF == SQLITE_FULL:
        return StoreFull("No space is left on the disk of the database; nothing was stored.")
    return StoreUnavailable(f"The database cannot be used now: {cause}.")
