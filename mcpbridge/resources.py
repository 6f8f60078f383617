"""Resources, the prompt, and completion of their arguments."""

from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.types import Completion, CompletionArgument, PromptReference, ResourceTemplateReference
from pydantic import Field

from mcpbridge import acting, pool
from mcpbridge.tools import stats, whole
from memories import listing
from memories.errors import NotFound
from memories.recall import Question, recall

MOST_COMPLETIONS = 100
JSON = "application/json"


def add_resources(server: MCPServer, *, alone: bool) -> None:
    @server.resource("memory://stats", title="Memory statistics", description="The store in numbers.", mime_type=JSON)
    async def memory_statistics() -> str:
        return (await pool.run(stats, alone=alone)).model_dump_json()

    @server.resource("memory://{uid}", title="Memory", description="One memory, whole.", mime_type=JSON)
    async def memory(uid: str) -> str:
        try:
            return (await pool.run(whole, uid)).model_dump_json()
        except NotFound as error:
            raise ResourceNotFoundError(str(error)) from error

    @server.prompt(title="Recall for a task", description="Begin a task with what is known about it.")
    async def recall_for_task(
        task: Annotated[str, Field(description="What is to be done")],
        project: Annotated[str, Field(description="owner/name; empty = everywhere")] = "",
        kind: Annotated[str, Field(description="Only memories of this kind")] = "",
    ) -> str:
        question = Question(
            query=task, mode="search", project=project, kinds=[kind] if kind else (), scope=acting.scope(None), limit=10
        )
        block = (await pool.run(recall, question)).block.text
        return f"{task}\n\n{block or 'No memory bears on this task.'}"


async def complete(
    reference: PromptReference | ResourceTemplateReference, argument: CompletionArgument
) -> Completion | None:
    """Values for an argument of the prompt that begin as it does; None where nothing is known."""
    match reference, argument.name:
        case PromptReference(name="recall_for_task"), "project":
            scope = acting.scope(None)
            found = await pool.run(listing.projects, scope=scope, part=argument.value, limit=MOST_COMPLETIONS + 1)
        case PromptReference(name="recall_for_task"), "kind":
            found = [kind for kind in listing.KINDS if kind.startswith(argument.value.lower())]
        case _:
            return None
    return Completion(values=found[:MOST_COMPLETIONS], has_more=len(found) > MOST_COMPLETIONS)
