"""Layout: what surrounds each page for moderators: where else there is something to do.

Its numbers are read anew for each page, by an index that holds no approved comment; beyond a
thousand it says so, since counting a large queue takes longer than to show it.
"""

from typing import Any

from commentsvc.admin import render
from commentsvc.admin.access import RequestContext
from commentsvc.db.database import Database
from commentsvc.http.messages import Response
from commentsvc.moderation import lists


class Layout:
    """Shows pages with the list of all pages around them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def render(
        self,
        name: str,
        context: RequestContext,
        code: int = 200,
        /,
        **values: Any,  # Any: what the template shows
    ) -> Response:
        """Return the page that the template `name` makes of `values` for a moderator."""
        waiting = self._database.read_now(lists.numbers, context.actor.sites)
        return render.render(
            name, code, context=context, waiting=waiting, counted=lists.COUNTED, **values
        )
