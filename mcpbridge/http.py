"""MCP over streamable HTTP: stateless, for clients of both protocol eras."""

from typing import Any

from mcp.server.transport_security import TransportSecuritySettings

from mcpbridge.server import build


def make_mcp_application(*, version: str, body_limit: int) -> Any:
    """An ASGI application that serves `/mcp` once; its lifespan must run. Nobody but a guard may call it.

    Each request must have `acting.principal` set. `body_limit` is in bytes.
    """
    return build(version=version).streamable_http_app(
        stateless_http=True,
        max_request_body_size=body_limit,
        # The guard checks Host and Origin, more strictly, for every part of the service.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
