"""The pages of the admin for a memory, and what a person does on them."""

from typing import Any

from django.test import Client
from django.urls import reverse

from memories.draft import Draft
from memories.models import Memory
from memories.remember import remember

LIST = "admin:memories_memory_changelist"
NASTY = "<script>alert(1)</script>"


def store(content: str, **fields: Any) -> Memory:
    return Memory.objects.get(uid=remember(Draft(content=content, **fields)).uid)


def page(memory: Memory, name: str = "change") -> str:
    return reverse(f"admin:memories_memory_{name}", args=[memory.pk])


def shown(response: Any) -> list[str]:
    """The uids of the rows of a list."""
    return [row.uid for row in response.context["cl"].result_list]


def run(client: Client, memory: Memory, action: str, **options: Any) -> Any:
    data = {"CHANGE_FORM-action": action, "_selected_action": memory.pk}
    return client.post(page(memory), data, **options)


def run_on(client: Client, action: str, memories: list[Memory], **data: Any) -> Any:
    selected = {"action": action, "_selected_action": [memory.pk for memory in memories], **data}
    return client.post(reverse(LIST) + "?state=all", selected, follow=True)


def said(response: Any) -> str:
    return " ".join(str(message) for message in response.context["messages"])
