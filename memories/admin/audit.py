from typing import Any

from django.contrib import admin
from django.utils.safestring import SafeString

from memories.admin.filters import TimeFilter
from memories.admin.scopes import ReadOnlyAdmin, ScopedAdmin, memory_link
from memories.models import AuditEntry


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin, ScopedAdmin):
    list_display = ("at", "action", "actor", "scope", "memory", "told")
    list_filter = ("action", "scope", ("at", TimeFilter))
    fields = ("at", "action", "actor", "scope", "memory", "told")
    search_fields = ("=memory_uid", "actor")
    search_help_text = "A memory's uid, or an actor."

    @admin.display(description="memory", empty_value="-")
    def memory(self, entry: Any) -> SafeString | str:
        return memory_link(entry.memory_uid)

    @admin.display(description="detail", empty_value="-")
    def told(self, entry: Any) -> str:
        return detail(entry)


def detail(entry: AuditEntry) -> str:
    values = {
        name: ", ".join(map(str, value)) if isinstance(value, list) else value for name, value in entry.detail.items()
    }
    return "; ".join(f"{name}: {value}" for name, value in values.items())
