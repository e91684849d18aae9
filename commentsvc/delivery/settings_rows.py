"""What the database has of the settings: rows of sites, and the recipients of messages."""

from commentsvc import outbox
from commentsvc.comments import site_rows
from commentsvc.db.connection import Transaction
from commentsvc.delivery import channels
from commentsvc.settings.schema import Settings


def sync_settings(tx: Transaction, settings: Settings) -> None:
    """Store what the database has of the settings: sites, and the recipients of messages."""
    site_rows.sync(tx, [site.name for site in settings.sites])
    site_rows.set_math(tx, [site.name for site in settings.sites if site.math])
    pictured = [site.name for site in settings.sites if site.images]
    site_rows.set_images(tx, settings.server.public_url.rstrip("/"), pictured)
    site_rows.set_notices(tx, settings.mailing_decisions)
    outbox.sync_targets(tx, channels.targets(settings))
