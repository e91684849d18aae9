"""Dashboard: the number of comments per day, the state of the service, and its settings.

Secret settings are shown as set or not set.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from commentsvc import outbox
from commentsvc.admin import chart, render
from commentsvc.admin.access import RequestContext, get
from commentsvc.admin.layout import AdminContext
from commentsvc.backup.scheduled import ScheduledBackup
from commentsvc.comments import search
from commentsvc.comments.search import Day
from commentsvc.http.messages import Response
from commentsvc.model import STATUSES
from commentsvc.moderation import retention
from commentsvc.moderation.permissions import Permission
from commentsvc.monitoring.conditions import Condition, Machine
from commentsvc.settings.schema import SECTIONS, Settings
from commentsvc.util.i18n import gettext as _
from commentsvc.util.timestamps import DAY_MS

if TYPE_CHECKING:
    from commentsvc.cluster.membership import InstanceState

SPANS: Final = (14, 30, 90)  # days on the chart


class Figures(NamedTuple):
    """Where the dashboard's figures come from.

    `core` returns the core's counters. `instance` returns the state of this instance, or None where
    there can be only one. The `machine` is told of in `conditions`.
    """

    core: Callable[[], dict[str, int]]
    backups: ScheduledBackup
    instance: "Callable[[], InstanceState | None]"
    machine: Machine


class Dashboard:
    """The handlers of the dashboard."""

    def __init__(
        self, context: AdminContext, figures: Figures, conditions: Callable[[], list[Condition]]
    ) -> None:
        service = context.service
        self._kept_days = service.settings.spam.keep_spam_days
        self._sites = [site.name for site in service.settings.sites]
        self._database = service.database
        self._layout = context.layout
        self._figures = figures
        self._conditions = conditions

    @get("/dashboard", Permission.READ)
    async def page(self, context: RequestContext) -> Response:
        """A chart of comments per day, and the state of the service.

        `?days=14|30|90&site=S` names how many days are shown, and of which site.
        """
        span = next((s for s in SPANS if str(s) == context.first("days")), SPANS[1])
        site = context.first("site")
        today = context.now // DAY_MS
        since = today - span + 1
        sites = context.actor.narrowed(site)
        found = await self._database.read(search.days, sites, since)
        days = by_day(found, since, today)
        return await self._layout.render(
            "dashboard.html",
            context,
            here="dashboard",
            chart=chart.draw(days),
            days=[(render.short_date(day), numbers) for day, numbers in reversed(days) if numbers],
            totals=totals(days),
            size=chart,
            span=span,
            spans=SPANS,
            site=site,
            sites=list(filter(context.actor.sees, self._sites)),
            core=self._figures.core(),
            instance=self._figures.instance(),
            removed=await self._database.read(retention.removed, since),
            kept_days=self._kept_days,
            backlogs=await self._database.read(outbox.backlogs),
            backup=self._figures.backups.state(),
            failing=self._database.write_health.error,
            conditions=[each.text for each in self._conditions()],
        )


def by_day(found: list[Day], since: int, until: int) -> list[tuple[int, dict[str, int]]]:
    """Return the numbers by status of each day from `since` to `until`; {} for an empty day."""
    numbers: dict[int, dict[str, int]] = {day: {} for day in range(since, until + 1)}
    for row in found:
        if row.number and row.day in numbers:
            numbers[row.day][row.status] = row.number
    return sorted(numbers.items())


def totals(days: Sequence[tuple[int, Mapping[str, int]]]) -> dict[str, int]:
    """Return the numbers by status, summed over all days."""
    return {status: sum(numbers.get(status, 0) for _, numbers in days) for status in STATUSES}


def settings_sections(settings: Settings) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the sections of the settings with their keys and values, as in the settings file."""
    sections: list[tuple[str, list[tuple[str, str]]]] = []
    for name, struct in SECTIONS.items():
        for section in settings.sites if name == "site" else [getattr(settings, name)]:
            rows = []
            for field in msgspec.structs.fields(struct):
                value = getattr(section, field.name)
                rows.append((field.name, _written(value, secret=_is_secret(field.type))))
            sections.append((f"[[{name}]]" if name == "site" else f"[{name}]", rows))
    return sections


def _is_secret(annotated: Any) -> bool:  # Any: an annotation
    return any((meta.extra or {}).get("secret") for meta in annotated.__metadata__)


def _written(value: object, *, secret: bool) -> str:
    if secret:
        return str(_("set, not shown here") if value else _("not set"))
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or str(_("none"))
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) or str(_("none"))
