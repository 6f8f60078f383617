"""One module a format of another program. Each has `read(source, now=...)`, which yields what it finds."""
