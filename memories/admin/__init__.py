"""The stock admin's view of the domain. Rules stay in the domain; this shows and calls it."""

from memories.admin import access, audit, candidates, conflicts, memory

__all__ = ["access", "audit", "candidates", "conflicts", "memory"]
