"""How many files and sockets the process may have open.

The kernel gives a process a soft limit, often 1024 for the sake of old programs that use select(),
and a hard one, up to which it may raise the soft one itself.
"""

import resource
from typing import Final

# What is open beside the connections: the database, sockets, the core's own, files being read.
RESERVE: Final = 300


def provide(connections: int) -> None:
    """Raise our soft limit so that `connections` fit, or as far as the hard one allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + RESERVE
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
