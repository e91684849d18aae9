"""Run `commentsvc` many times at the cost of one start: it is imported once, and then forked.

    python fork_server.py serve PATH UID     serve at the unix socket PATH, as the user UID
    python fork_server.py run PATH WORD...   run `commentsvc WORD...` there, with this one's folder
                                             and standard streams; end with its exit code

The second form imports nothing of ours, so it takes a few milliseconds. A user who may not read
the folder of this Python can run commands, too.
"""

import json
import os
import pkgutil
import signal
import socket
import sys
import traceback
from importlib import import_module
from pathlib import Path

LONGEST = 65_536  # bytes of a command line
# Modules that `commentsvc` imports only when they are used.
LATER = (
    "click._termui_impl",
    "encodings.cp437",
    "encodings.idna",
    "encodings.utf_8_sig",
    "ijson",
    "jinja2.ext",
    "lzma",
    "xml.parsers.expat",
    "yaml",
    "zoneinfo",
)


def serve(path: str, user: int) -> None:
    """Serve requests until the process is ended."""
    import commentsvc

    for module in pkgutil.walk_packages(commentsvc.__path__, "commentsvc."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    for name in LATER:
        import_module(name)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        os.chown(path, user, user)
        if os.geteuid() != user:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
        os.umask(0o022)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        listener.listen()
        while True:
            connection, _ = listener.accept()
            with connection:
                if not os.fork():
                    _run(connection)


def _run(connection: socket.socket) -> None:
    """Run one command in this process, then exit."""
    from commentsvc.cli import main

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    sent, streams, _, _ = socket.recv_fds(connection, LONGEST, 3)
    folder, words = json.loads(sent)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115 - to the end
    os.chdir(folder)
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
        connection.sendall(bytes([code]))
        os._exit(code)


def run(path: str, words: list[str]) -> int:
    """Have the server run a command, and return its exit code."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        socket.send_fds(connection, [json.dumps([str(Path.cwd()), words]).encode()], [0, 1, 2])
        return connection.recv(1)[0]


if __name__ == "__main__":
    if sys.argv[1] == "run":
        sys.exit(run(sys.argv[2], sys.argv[3:]))
    serve(sys.argv[2], int(sys.argv[3]))
