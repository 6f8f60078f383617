"""Which memories an admin user sees, and who may act on them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.db.models import QuerySet
from django.db.models.functions import Substr
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from memories import clock
from memories.admin.scopes import ScopedAdmin, scopes_of, sees_everything
from memories.errors import MemoriesError, from_database
from memories.models import Memory
from memories.querysets import MemoryQuerySet, state_at
from memories.texts import SLICE


class MemoryBase(ScopedAdmin):
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Without the texts, which may be long: they are read where they are shown."""
        rows = super().get_queryset(request).annotate(beginning=Substr("content", 1, SLICE))
        described: QuerySet[Any] = rows.annotate(state=state_at(clock.now())).defer("content", "segments")
        return described

    def has_add_permission(self, request: HttpRequest) -> bool:
        may = super().has_add_permission(request)
        return may and (sees_everything(request.user) or bool(scopes_of(request.user)))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """The page of a memory is read-only; its actions need `has_edit_permission`."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Only a purge destroys."""
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_view_permission(request, obj) or self.has_edit_permission(request)

    def has_edit_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("memories.change_memory")

    def viewable(self, request: HttpRequest, pk: int) -> Memory:
        if not self.has_view_permission(request):
            raise PermissionDenied
        return self._found(request, pk)

    def editable(self, request: HttpRequest, pk: int) -> Memory:
        if not self.has_edit_permission(request):
            raise PermissionDenied
        return self._found(request, pk)

    def _found(self, request: HttpRequest, pk: int) -> Memory:
        memory: Memory = get_object_or_404(self.get_queryset(request), pk=pk)
        return memory


@contextmanager
def refusals_as_messages(request: HttpRequest) -> Iterator[None]:
    """What the domain refuses is a message on the next page."""
    try:
        yield
    except MemoriesError as error:
        messages.error(request, str(error))
    except OperationalError as error:
        messages.error(request, str(from_database(error)))


def plain(queryset: QuerySet[Memory]) -> MemoryQuerySet:
    """The same memories without the order and the columns of the list, however many they are."""
    return Memory.objects.filter(pk__in=queryset.order_by().values("pk"))
