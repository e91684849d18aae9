"""What parts keep in memory when they are made anew, since a setting has changed.

Without it, each change would give all clients their limits anew, and spammers, too.
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Lasting:
    """Objects by their names, as long as they would be made from equal arguments."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[object, Any]] = {}  # Any: each has a type of its own

    def get(self, name: str, make: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the object of that name; make it if there is none, or from other arguments."""
        origin = (make, args, kwargs)
        if name not in self._made or self._made[name][0] != origin:
            self._made[name] = origin, make(*args, **kwargs)
        made: T = self._made[name][1]
        return made
