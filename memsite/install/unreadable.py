from memories.errors import MemoriesError


class Unreadable(MemoriesError):
    """A file that cannot be edited without risk to what others put into it; the message says why."""

    code = "unreadable"
