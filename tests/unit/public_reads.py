"""Every public read as a request, made from the routes, so that none is missing."""

from collections.abc import Iterable

import msgspec

from commentsvc.http.router import Route
from commentsvc.settings.schema import Site
from tests.unit.app_fixture import Served

# Parameters without which a route shows less, or nothing.
PARAMETERS = {
    "url": "/p/",
    "uri": "/p/",
    "page_key": "/p/",
    "page_keys": "/p/",
    "path": "/p/",
    "page": "/p/",
    "limit": "1000",
    "pageSize": "1000",
    "reactions": "yes",
    "latest": "yes",
    "popular": "week",
    "views": "yes",
    "viewed": "yes",
    "q": "Ann",
}
# As above, where another route has a parameter of that name that means something else.
OF_ROUTE = {
    "/waline/api/comment": {"path": "/p/", "pageSize": "1000"},
    "/waline/api/article": {"path": "/p/", "type": "time,reaction0,reaction8"},
    "/comment": {"path": "/p/", "pageSize": "1000"},
}
# A site with everything that public reads show.
SITE = Site(
    name="blog",
    origins=("https://blog.example",),
    isso=True,
    artalk=True,
    waline=True,
    views=True,
    math=True,
    reactions=("👍",),
)
NUMBER = "1"  # in place of {id}
STREAM = "/api/comments/stream"
BELOW = {"/static/{path}": "comments.js"}  # in place of {path}, by the route


def public(service: Served) -> list[Route]:
    """Return the reads that need no sign-in; one for each pattern."""
    reads = [
        each
        for each in service.routes
        if each.method == "GET" and not (each.operation and each.operation.permission)
    ]
    return list({each.pattern: each for each in reads}.values())


def requests(service: Served) -> list[tuple[Route, str]]:
    """Return the public reads that end, which live updates do not, each with a target."""
    return [(route, target(route)) for route in public(service) if route.pattern != STREAM]


def target(route: Route) -> str:
    """Return a target of the route, with values for its parameters."""
    names: Iterable[str] = ()
    if route.operation:
        names = (each.name for each in msgspec.structs.fields(route.operation.query))
    known = OF_ROUTE.get(route.pattern) or {
        name: PARAMETERS[name] for name in names if name in PARAMETERS
    }
    path = route.pattern.replace("{id}", NUMBER)
    path = path.replace("{path}", BELOW.get(route.pattern, "x"))
    query = "&".join(f"{name}={value}" for name, value in known.items())
    return f"{path}?{query}" if query else path
