"""Listening sockets that the core does not open: at several addresses, with rights, or shared.

A name such as `localhost` stands for an address of each protocol, and clients may try any of them.
"""

import contextlib
import errno
import grp
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from commentsvc.settings.schema import ServerSettings

# Connections that wait in a listening socket; the kernel's limit is usually lower.
BACKLOG: Final = 4_096
# A machine without one of the protocols listens with the other.
_NOT_HERE: Final = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)


def unix_path(listen: str) -> Path | None:
    """Return the path of an address such as ``unix:PATH``, None for others."""
    return Path(listen.removeprefix("unix:")) if listen.startswith("unix:") else None


def needs_us(server: ServerSettings) -> bool:
    """Return whether `server.listen` is more than the core opens: one address, the usual rights."""
    if unix_path(server.listen):
        return bool(server.socket_mode or server.socket_group)
    try:
        return len(_addresses(server.listen)) > 1
    except OSError:
        return True  # `open_listeners` says why


def open_listeners(server: ServerSettings) -> tuple[int, ...]:
    """Return the descriptors of sockets that listen at `server.listen`. Raise OSError."""
    with contextlib.ExitStack() as stack, _explained(server.listen):
        path = unix_path(server.listen)
        if path:
            opened = [stack.enter_context(socket.socket(socket.AF_UNIX))]
            _bind_path(opened[0], path, server)
        else:
            opened = _bound(stack, server.listen)
        for each in opened:
            each.listen(BACKLOG)
        return tuple(each.detach() for each in opened)  # the others are closed


def _bound(stack: contextlib.ExitStack, listen: str) -> list[socket.socket]:
    """Return sockets that are bound to all addresses that this machine has."""
    opened: list[socket.socket] = []
    missing: OSError | None = None
    found = _addresses(listen)
    for family, address in found:
        try:
            each = stack.enter_context(socket.socket(family))
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if len(found) > 1 and family == socket.AF_INET6:
                each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            port = opened[0].getsockname()[1] if opened else address[1]
            each.bind((address[0], port, *address[2:]))
            opened.append(each)
        except OSError as error:
            if error.errno not in _NOT_HERE:
                raise
            missing = error
    if missing and not opened:
        raise missing
    return opened


def _addresses(listen: str) -> list[tuple[socket.AddressFamily, Any]]:
    """Return the different addresses of ``HOST:PORT``; Any: as the socket's family has them."""
    host, _, port = listen.rpartition(":")
    found = socket.getaddrinfo(
        host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    return [*dict.fromkeys((family, address) for family, _, _, _, address in found)]


def _bind_path(opened: socket.socket, path: Path, server: ServerSettings) -> None:
    """Bind a socket to `path`. Nobody else may connect before it has its group and mode."""
    _remove_unused(path)
    if server.socket_mode or server.socket_group:
        os.fchmod(opened.fileno(), 0o600)
    opened.bind(str(path))
    try:
        if server.socket_group:
            os.chown(path, -1, _group(server.socket_group))
        if server.socket_mode or server.socket_group:
            path.chmod(int(server.socket_mode or "660", 8))
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _group(name: str) -> int:
    """Return the number of a group of this machine. Raise OSError."""
    try:
        return int(name) if name.isdigit() else grp.getgrnam(name).gr_gid
    except KeyError:
        raise OSError(errno.EINVAL, f"there is no group {name} (server.socket_group)") from None


def _remove_unused(path: Path) -> None:
    """Remove a socket that nobody listens on. Raise OSError if another file is there."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise FileExistsError(errno.EEXIST, "File exists", f"unix:{path}")
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()


@contextlib.contextmanager
def _explained(listen: str) -> Iterator[None]:
    """Let each OSError have the address as its file name."""
    try:
        yield
    except socket.gaierror as error:
        raise OSError(errno.EADDRNOTAVAIL, "this name is not known", listen) from error
    except OSError as error:
        text = error.strerror
        if isinstance(error, PermissionError) and listen.startswith("unix:") and error.filename:
            text = "its group cannot be changed: the service's user has to be in that group"
        raise OSError(error.errno, text, listen) from error
