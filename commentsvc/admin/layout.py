"""Layout: what surrounds each moderation page: the navigation with the numbers of waiting comments.

The numbers are read for each page, by an index without approved comments, and only up to a
thousand: counting a large queue takes longer than showing it.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from commentsvc.admin import render
from commentsvc.admin.access import AccessControl, Authentication, RequestContext, no_cookie
from commentsvc.admin.reauthentication import Reauthentication
from commentsvc.context import ServiceContext
from commentsvc.db.database import Database
from commentsvc.http.messages import Response
from commentsvc.moderation import lists, private_notes
from commentsvc.moderation.permissions import Actor, Permission


class Layout:
    """Renders pages with the navigation around them."""

    def __init__(self, database: Database, with_notes: Collection[str]) -> None:
        """Take the names of the sites that accept private notes."""
        self._database = database
        self._with_notes = with_notes

    async def render(
        self,
        name: str,
        context: RequestContext,
        /,
        **values: Any,  # Any: what the template shows
    ) -> Response:
        """Return a page for a moderator, made from the template `name` with `values`."""
        waiting = self._database.read_now(lists.numbers, context.actor.sites)
        return render.render(
            name,
            context.status,
            context=context,
            problem=context.problem,
            waiting=waiting,
            counted=lists.COUNTED,
            private_notes=self._notes(context.actor),
            **values,
        )

    def _notes(self, who: Actor) -> int | None:
        """Return how many private notes wait; None if the navigation leaves them out."""
        if not who.may(Permission.DECIDE):
            return None
        number = self._database.read_now(private_notes.count_new, who.sites)
        return number if number or any(map(who.sees, self._with_notes)) else None


@dataclass(frozen=True, slots=True)
class AdminContext:
    """What the handlers of the moderation pages share."""

    service: ServiceContext
    access: AccessControl
    layout: Layout
    authentication: Authentication
    reauthentication: Reauthentication

    @classmethod
    def of(cls, service: ServiceContext) -> "AdminContext":
        """Return the context for a service."""
        authentication = Authentication.of(service)
        access = AccessControl(service, authentication)
        return cls(
            service,
            access,
            Layout(service.database, {s.name for s in service.settings.sites if s.private_notes}),
            authentication,
            Reauthentication(service.database, authentication.limiter),
        )


def refuse_plain() -> Response:
    """Return the page in place of one that asks for a password, see `Authentication.is_plain`.

    It gets our cookie as any page does, by which the browser's next request shows that it is HTTPS.
    """
    return render.render("problem.html", 403, message=no_cookie().message, kept=(), blogs=())
