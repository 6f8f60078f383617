from typing import Any

from django.contrib import admin
from django.utils.safestring import SafeString

from memories.admin.scopes import ReadOnlyAdmin, ScopedAdmin, memory_link
from memories.models import AuditEntry


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin, ScopedAdmin):
    list_display = ("at", "action", "actor", "scope", "memory", "detail")
    list_filter = ("action", "scope", "at")
    fields = ("at", "action", "actor", "scope", "memory", "detail")
    search_fields = ("=memory_uid", "actor")
    search_help_text = "A memory's uid, or an actor."

    @admin.display(description="memory", empty_value="-")
    def memory(self, entry: Any) -> SafeString | str:
        return memory_link(entry.memory_uid)
