"""What an agent program runs for a hook: python -I -S hook.py HARNESS EVENT [--discovery FILE] [--autostart]

The hook's JSON comes on standard input, its answer leaves on standard output. Standard library only, few imports (each
costs every prompt milliseconds). Whatever goes wrong, it ends in time, with exit code 0 and nothing printed.
"""

from __future__ import annotations

import _json  # what `json`, `signal` and `socket` stand on; these import `re` or `enum`, and take twice as long
import _signal  # type: ignore[import-not-found]
import _socket
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BUDGET = 1.4  # seconds in all; the interpreter's start comes on top
SPOOLING = 0.3  # of them, kept for writing down what would be lost
TAIL = 2 * 1024 * 1024  # Claude Code writes whole requests between the turns: 160 KB for four short ones
LARGEST_ANSWER = 1024 * 1024
LARGEST_INPUT = 32 * 1024 * 1024
LARGEST_SPOOL = 8 * 1024 * 1024
DAY = 86_400
MAY_ASK = ("remember", "forget", "mind", "note", "memor", "reference", "\\u8bb0", "\\u8a18", "\\u5fd8")  # 记 記 忘
KEYS = {"additionalContext", "additional_context", "message", "block", "uids", "chars", "fingerprint", "project"}

started = time.monotonic()
environ = os.environ


def main(argv: list[str]) -> None:
    if environ.get("MEMORY_HOOK_ACTIVE") or len(argv) < 2:
        return  # started below a service that a hook started, or by mistake
    harness, event = argv[0], argv[1]
    watch()
    raw = parsed(given() or b"{}")
    client = wishes()
    if event == "PostToolUse" and not client.get("tool_capture"):
        return
    if event == "PreCompact":
        transcript = transcript_tail(raw.get("transcript_path") or raw.get("transcriptPath"))
        if transcript:
            client["transcript"] = transcript
    discovery = discovery_file(argv)
    url, token = address(discovery)
    answer, state = ask(url, token, harness, event, {**raw, "memory": {**raw.get("memory", {}), **client}})
    if answer is not None:
        show(answer)
        return
    if event in ("UserPromptSubmit", "PreCompact") and state != "refused":
        spool(base_of(discovery), harness, event, raw, client.get("transcript"))
    wanted = "--autostart" in argv or environ.get("MEMORY_PLUGIN_AUTOSTART", "0") not in ("", "0")
    if event == "SessionStart" and state == "down" and wanted and not environ.get("MEMORY_PLUGIN_URL"):
        autostart(base_of(discovery), discovery, harness)


def watch() -> None:
    """End in time, whatever waits: a pipe nobody writes to, a lock, a disk."""
    if hasattr(_signal, "setitimer"):
        _signal.signal(_signal.SIGALRM, lambda *_: os._exit(0))
        _signal.setitimer(_signal.ITIMER_REAL, left())


def given() -> bytes:
    """Standard input in pieces: no signal ends a read() that goes on and on. Raises ValueError for too much."""
    content = bytearray()
    while part := os.read(0, 1024 * 1024):
        content += part
        if len(content) > LARGEST_INPUT:
            raise ValueError("too much input")
    return bytes(content)


class Decoder:
    """How JSON is read, in the words of `json.JSONDecoder`."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_int, parse_float, parse_constant = int, float, float


def parsed(content: bytes) -> Any:
    """Raises ValueError."""
    text = content.decode().removeprefix("\ufeff").strip(" \t\r\n")
    try:
        scan: Any = _json.make_scanner(Decoder)  # type: ignore[arg-type]
    except (AttributeError, TypeError):  # a Python that wants to know more
        import json

        return json.loads(text)
    try:
        value, end = scan(text, 0)
    except StopIteration:
        end = -1
    if end != len(text):
        raise ValueError("not JSON")
    return value


def written(value: Any) -> bytes:
    quoted = _json.encode_basestring_ascii
    try:
        encode: Any = _json.make_encoder(None, None, quoted, None, ": ", ", ", False, False, True)  # type: ignore[arg-type]
    except (AttributeError, TypeError):
        import json

        return json.dumps(value).encode()
    return "".join(encode(value, 0)).encode()


def left(reserve: float = 0.0) -> float:
    return max(0.01, BUDGET - reserve - (time.monotonic() - started))


def wishes() -> dict[str, Any]:
    """What the user set, for the service to follow."""
    found: dict[str, Any] = {"budget_ms": round(left(SPOOLING) * 1000)}
    for name in ("limit", "budget_chars"):
        value = environ.get("MEMORY_PLUGIN_" + name.upper(), "")
        if value.isdecimal():
            found[name] = int(value)
    capture = [one.strip() for one in environ.get("MEMORY_PLUGIN_TOOL_CAPTURE", "").split(",")]
    if any(capture):
        found["tool_capture"] = [one for one in capture if one]
    if environ.get("MEMORY_PLUGIN_CHAT_CAPTURE", "0") not in ("", "0"):
        found["chat_capture"] = True
    return found


def discovery_file(argv: list[str]) -> str:
    if "--discovery" in argv[:-1]:
        return os.path.expanduser(argv[argv.index("--discovery") + 1])
    named = environ.get("MEMORY_DISCOVERY_FILE", "")
    if named and named != "off":
        return os.path.abspath(os.path.expanduser(named))
    database = environ.get("MEMORY_DB_PATH") or "~/.local/share/memory-mcp/memory.db"
    return os.path.abspath(os.path.expanduser(database)) + ".server.json"


def base_of(discovery: str) -> str:
    return discovery.removesuffix(".server.json")


def own(path: str) -> tuple[int, os.stat_result]:
    """A regular file of this user, opened. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    status = os.fstat(handle)
    if status.st_mode & 0o170000 != 0o100000 or (hasattr(os, "getuid") and status.st_uid != os.getuid()):
        os.close(handle)
        raise OSError(path)
    return handle, status


def address(discovery: str) -> tuple[str, str]:
    """Where the service is, and the token that it may be told. The file's token is for the file's service alone."""
    token = environ.get("MEMORY_PLUGIN_TOKEN") or environ.get("MEMORY_TOKEN") or ""
    given = environ.get("MEMORY_PLUGIN_URL", "").rstrip("/")
    try:
        handle, status = own(discovery)
        with os.fdopen(handle, "rb") as file:
            found = parsed(file.read(65536)) if not status.st_mode & 0o077 or os.name != "posix" else {}
        if os.name == "posix":
            os.kill(int(found["pid"]), 0)  # another program may have its port by now
        url, known = str(found["url"]).rstrip("/"), str(found.get("token", ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        url, known = "http://127.0.0.1:" + (environ.get("MEMORY_PORT", "").strip() or "8765"), ""
    return (given, token or (known if given == url else "")) if given else (url, token or known)


def ask(url: str, token: str, harness: str, event: str, body: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """The answer and "ok"; or None and why: "down", "slow", "failed", "refused"."""
    scheme, _, rest = url.partition("://")
    place, _, prefix = rest.partition("/")
    content = written(body)
    head = f"POST /{prefix + '/' if prefix else ''}hook/{harness}?event={event} HTTP/1.0\r\nHost: {place}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
    head += f"Authorization: Bearer {token}\r\n\r\n" if token else "\r\n"
    try:
        connection = connect(place, tls=scheme == "https")
    except OSError:
        return None, "down"
    try:
        connection.settimeout(left(SPOOLING))
        connection.sendall(head.encode("latin-1") + content)
        reply = receive(connection)
    except OSError:
        return None, "slow"
    status, _, text = reply.partition(b"\r\n\r\n")
    code = status[9:12]
    if code != b"200":
        return None, "refused" if code[:1] == b"4" else "failed"
    try:
        answer = parsed(text)
    except ValueError:
        return None, "failed"
    return (answer, "ok") if harmless(answer) else (None, "failed")


def connect(place: str, *, tls: bool) -> _socket.socket:
    host, _, port = place.rpartition(":") if place[-1:].isdecimal() and ":" in place else (place, "", "")
    name = host.strip("[]")
    found = _socket.getaddrinfo(name.encode(), int(port or (443 if tls else 80)), 0, _socket.SOCK_STREAM)
    for family, kind, protocol, _, where in found:
        connection = _socket.socket(family, kind, protocol)
        connection.settimeout(left(SPOOLING))
        try:
            connection.connect(where)
        except OSError:
            connection.close()
            continue
        if not tls:
            return connection
        import socket
        import ssl

        plain = socket.socket(fileno=connection.detach())
        plain.settimeout(left(SPOOLING))
        return ssl.create_default_context().wrap_socket(plain, server_hostname=name)
    raise OSError(place)


def receive(connection: _socket.socket) -> bytes:
    reply, end = b"", LARGEST_ANSWER
    while len(reply) < end:
        connection.settimeout(left(SPOOLING))
        part = connection.recv(65536)
        if not part:
            break
        reply += part
        head, found, _ = reply.lower().partition(b"\r\n\r\n")
        length = head.partition(b"content-length:")[2].partition(b"\r\n")[0].strip()
        if found and length.isdigit():
            end = min(end, len(head) + 4 + int(length))
    return reply


def harmless(answer: Any) -> bool:
    """Whether an answer tells the harness nothing but a text: never to stop, block or allow anything."""
    if not isinstance(answer, dict):
        return False
    inner = answer.get("hookSpecificOutput", {})
    keys = set(answer) - KEYS - {"hookSpecificOutput", "continue"}
    told = isinstance(inner, dict) and not set(inner) - {"hookEventName", "additionalContext"}
    return told and not keys and answer.get("continue", True) is True


def show(answer: dict[str, Any]) -> None:
    if answer:
        sys.stdout.buffer.write(written(answer))
        sys.stdout.buffer.flush()


def transcript_tail(path: object, below: str | None = None) -> dict[str, Any] | None:
    """The last whole lines of a transcript, and where they start in it; None if it is not to be read.

    `below`: only under this folder of the user's home, and only a file of lines of JSON.
    """
    if not path or not isinstance(path, str) or below == "":
        return None
    try:
        real = os.path.realpath(os.path.expanduser(path))
        if below is not None:
            home = os.path.realpath(os.path.join(os.path.expanduser("~"), below))
            if not real.startswith(home + os.sep) or not real.endswith(".jsonl"):
                return None
        handle, status = own(real)
        with os.fdopen(handle, "rb") as file:
            start = max(0, status.st_size - TAIL)
            file.seek(start)
            content = file.read(TAIL)
    except (OSError, ValueError):
        return None
    first = content.find(b"\n") + 1 if start else 0
    content = content[first : content.rfind(b"\n") + 1]
    return {"start": start + first, "text": content.decode("utf-8", "replace")} if content else None


def spool(base: str, harness: str, event: str, raw: dict[str, Any], transcript: dict[str, Any] | None) -> None:
    """Write down, without secrets, what the service must not miss. It reads this when it is back."""
    text = written(raw).decode().lower()
    if event == "UserPromptSubmit" and not any(sign in text for sign in MAY_ASK):
        return
    if event == "PreCompact" and hasattr(os, "fork") and not leave_behind():
        return
    sys.path.append(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    from memsite.harnesses import spooled

    spooled.append(base + ".spool.jsonl", spooled.lines(harness, event, raw, transcript), largest=LARGEST_SPOOL)


def leave_behind() -> bool:
    """Go on in a child that nobody waits for, as megabytes may take longer than there is. True in the child."""
    if os.fork():
        return False
    os.setsid()
    _signal.setitimer(_signal.ITIMER_REAL, 0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    return True


def autostart(base: str, discovery: str, harness: str) -> None:
    """Start the service, once however many sessions begin, and say so at most once a day."""
    import fcntl
    import subprocess

    os.makedirs(os.path.dirname(base), mode=0o700, exist_ok=True)
    lock = os.open(base + ".start.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the service inherits it, and so holds it while it lives
    except OSError:
        return
    log = os.open(base + ".log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    subprocess.Popen(
        [sys.executable, "-P", "-m", "memsite.cli"],
        env={
            **environ,
            "MEMORY_HOOK_ACTIVE": "1",
            "MEMORY_START_LOCK": str(lock),
            "MEMORY_DISCOVERY_FILE": discovery,
        },
        cwd=os.path.expanduser("~"),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
        pass_fds=[lock],
    )
    said = os.read(lock, 32) or b"0"
    if time.time() - float(said) > DAY:
        os.pwrite(lock, b"%d" % time.time(), 0)
        sentence = f"The memory service did not answer and was started; its log is {base}.log."
        if harness in ("claude", "codex", "gemini", "qwen"):
            show({"systemMessage": sentence})
        else:
            sys.stderr.write(sentence + "\n")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BaseException as error:
        if environ.get("MEMORY_PLUGIN_DEBUG", "0") not in ("", "0"):
            sys.stderr.write(f"memory hook: {error!r}\n")
    os._exit(0)
