"""The database, its indexes, the model and what waits: looked at, never made or changed."""

from collections.abc import Iterator

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from memories import embedders, lifecycle, listing
from memories.errors import MemoriesError
from memories.texts import counted
from memsite import spool
from memsite.doctor.finding import Finding, fail, ok, warn
from memsite.env import Env
from memsite.store import check_is_ours


def findings(env: Env) -> Iterator[Finding]:
    yield from _model(env)
    yield from _spool()
    if not env.database.exists():
        yield warn(f"There is no database at {env.database} yet", "the first start of the service makes it")
        return
    try:
        check_is_ours(env.database)
        yield from _database(env)
    except MemoriesError as error:
        yield fail(str(error).rstrip("."), "set MEMORY_DB_PATH to the right file, or restore a backup")
    except DatabaseError as error:
        yield fail(f"{env.database} cannot be read: {error}", "restore it from a backup (`memory-mcp backup FILE`)")


def _database(env: Env) -> Iterator[Finding]:
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        yield warn(f"{env.database} is of an older version", "the next start of the service updates it")
        return
    problems = lifecycle.problems()
    for problem in problems:
        yield fail(problem.rstrip("."), "memory-mcp reindex")
    if problems:
        return
    stats = listing.stats()
    live = stats.by_state["live"]
    yield ok(f"{env.database} and its full-text indexes are sound ({counted(live)})")
    if stats.vectors.pending:
        yield warn(f"{counted(stats.vectors.pending)} with no vector of the model in use", "memory-mcp backfill")


def _model(env: Env) -> Iterator[Finding]:
    if env.model is not None and not env.embed_url and not env.model.is_file():
        yield fail(f"The model {env.model} is not there", "memory-mcp download_model, or correct MEMORY_MODEL_PATH")
        return
    try:
        found = embedders.describe()
    except (MemoriesError, OSError, ValueError) as error:
        yield fail(f"The model cannot be used: {error}", "memory-mcp download_model")
        return
    if found.name == "none":
        yield ok("No embedding model: memories are found by their words (`memory-mcp download_model` adds meaning)")
    elif "uncalibrated" in found.calibration:
        yield warn(
            f"Relevance of {found.name} is {found.calibration}", "see docs/models.md for models with a calibration"
        )
    else:
        yield ok(f"Model {found.name}, relevance calibrated for {found.calibration}")


def _spool() -> Iterator[Finding]:
    """What hooks kept while no service answered."""
    waiting = spool.spool_state().lines
    if waiting:
        yield warn(
            f"{waiting} texts that hooks kept wait in {spool.path()}", "the service takes them in within a minute"
        )
