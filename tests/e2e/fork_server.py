"""Run `commentsvc` many times at the cost of one start: it is imported once, and then forked.

    python fork_server.py serve PATH UID     serve at the unix socket PATH, as the user UID
    python fork_server.py run PATH WORD...   run `commentsvc WORD...` there, with this one's folder,
                                             environment and streams; end with its exit code

The second form imports nothing of ours, so it takes a few milliseconds. The server ends with the
process that started it. That process can have a command become its own child, to signal and wait
for it (`start`).
"""

import contextlib
import ctypes
import gc
import json
import os
import pkgutil
import signal
import socket
import struct
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

LONGEST = 65_536  # bytes of a command line and its environment

# linux/prctl.h, linux/capability.h
KEEP_CAPABILITIES = 8
CHILD_SUBREAPER = 36
CAPABILITY_VERSION = 0x20080522
READ_SEARCH = 1 << 2


def serve(path: str, user: int) -> None:
    """Serve requests until the process is ended."""
    import commentsvc

    for module in pkgutil.walk_packages(commentsvc.__path__, "commentsvc."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    gc.freeze()  # what is collected in a child is not copied for it
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{path}.new")
        listener.listen()
        if os.geteuid() != user:
            os.chown(f"{path}.new", user, user)
        Path(f"{path}.new").rename(path)  # whoever sees it can connect
        if os.geteuid() != user:
            _become(user)
        os.umask(0o022)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        listener.settimeout(1.0)
        parent = os.getppid()
        while os.getppid() == parent:
            with contextlib.suppress(TimeoutError):
                connection, _ = listener.accept()
                with connection:
                    if not os.fork():
                        listener.close()
                        _run(connection)


def _become(user: int) -> None:
    """Become `user`, but go on reading what root may read: the folder of this Python."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(KEEP_CAPABILITIES, 1, 0, 0, 0)
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    header = struct.pack("Ii", CAPABILITY_VERSION, 0)
    low = struct.pack("3I", READ_SEARCH, READ_SEARCH, 0)  # effective, permitted, inheritable
    if libc.capset(header, low + bytes(12)):
        raise OSError(ctypes.get_errno(), "capset")


def _run(connection: socket.socket) -> None:
    """Run one command in this process, then exit."""
    from commentsvc.cli import main

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    sent, streams, _, _ = socket.recv_fds(connection, LONGEST, 3)
    folder, environ, words, adopter = json.loads(sent)
    if adopter:
        _be_adopted(connection, adopter)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", 1)  # noqa: SIM115 - to the end
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    sys.argv = ["commentsvc", *words]
    code = 1
    try:
        main.main(words, prog_name="commentsvc")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # the process ends here, so nothing else would report it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        if not adopter:
            connection.sendall(bytes([code]))
        os._exit(code)


def _be_adopted(connection: socket.socket, parent: int) -> None:
    """Go on in a child of the process `parent`, and tell it which one that is."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    while os.getppid() != parent:
        time.sleep(0.001)
    connection.sendall(str(os.getpid()).encode())
    connection.close()


def start(
    path: str,
    folder: Path,
    words: Sequence[str],
    environ: Mapping[str, str],
    streams: Sequence[int],
) -> int:
    """Have the server start a command as a child of this process, and return its number."""
    libc = ctypes.CDLL(None, use_errno=True)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        sent = json.dumps([str(folder), dict(environ), words, os.getpid()]).encode()
        assert len(sent) < LONGEST
        libc.prctl(CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            socket.send_fds(connection, [sent], streams)
            return int(connection.recv(20))
        finally:
            libc.prctl(CHILD_SUBREAPER, 0, 0, 0, 0)


def run(
    path: str,
    folder: Path,
    words: Sequence[str],
    environ: Mapping[str, str],
    streams: Sequence[int],
) -> int:
    """Have the server run a command, and return its exit code."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        sent = json.dumps([str(folder), dict(environ), words, 0]).encode()
        assert len(sent) < LONGEST
        socket.send_fds(connection, [sent], streams)
        [code] = connection.recv(1)
        return code


if __name__ == "__main__":
    if sys.argv[1] == "run":
        sys.exit(run(sys.argv[2], Path.cwd(), sys.argv[3:], os.environ, (0, 1, 2)))
    serve(sys.argv[2], int(sys.argv[3]))
