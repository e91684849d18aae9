"""Images in comments: pictures that readers upload before they send the comment.

An image is stored as a row when it arrives, and belongs to nobody. A comment that names it in its
Markdown, as in ``![alt](image:NAME)``, is linked with it; `markdown.render` makes it an ``<img>``.
An image is shown only while an approved comment is linked with it. One that no comment names for a
day is removed. Images of a network that no approved comment shows, or that are newer than a day,
take at most its share of the site's room, so that others can still upload theirs. The same
picture is stored once per site: see `image_names`.

    CommentsError
      ImagesFull   the site has no room for another image
      ImagesWait   that network has all the images that may wait for approval
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from peewee import fn

from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Param, Select, literal, prepared
from commentsvc.db.schema.comments import (
    CommentImageTable,
    CommentTable,
    ImageTable,
    SiteTable,
    ThreadTable,
)
from commentsvc.errors import ImagesFull, ImagesWait
from commentsvc.markup import image_names
from commentsvc.model import APPROVED
from commentsvc.util.timestamps import DAY_MS

# A network's share of a site's bytes: a tenth, so that a moderator notices long before the site is
# full, but always room for the largest image that `api.image_worker` makes.
SHARE: Final = 10
LEAST_SHARE: Final = 400_000  # bytes


class ShownImage(NamedTuple):
    """An image of an approved comment, and the comment's page."""

    content: bytes
    site: str
    url: str


class Quota(NamedTuple):
    """The most bytes that the images of a site may have, and the network that sends one.

    A network has two hashes: see `NetworkHashes.hashes`. Without them only the site has a bound.
    """

    most: int
    networks: Sequence[bytes] = ()


@prepared
def _total(site: Param) -> Select:
    bytes_ = fn.COALESCE(fn.SUM(fn.LENGTH(ImageTable.content)), 0)
    return ImageTable.select(bytes_).join(SiteTable).where(SiteTable.name == site)


def _approved() -> Select:
    """Return the query for the approved comments that show an image of the query around it."""
    links = CommentImageTable.select(CommentImageTable.comment).join(CommentTable)
    return links.where(
        CommentImageTable.image == ImageTable.id, CommentTable.status == literal(APPROVED)
    )


@prepared
def waiting(site: Param, network: Param, former: Param, since: Param) -> Select:
    """Return the query for the bytes of a network's images that wait, or are from after `since`.

    The network has two hashes.
    """
    bytes_ = fn.COALESCE(fn.SUM(fn.LENGTH(ImageTable.content)), 0)
    found = ImageTable.select(bytes_).join(SiteTable).where(SiteTable.name == site)
    return found.where(
        ImageTable.created_at > 0,  # lets SQLite search in an index, not behind contents
        ImageTable.network.is_null(False),
        (ImageTable.network == network) | (ImageTable.network == former),
        (ImageTable.created_at >= since) | ~fn.EXISTS(_approved()),
    )


@prepared
def put_row(site: Param, image: Param, content: Param, now: Param, network: Param) -> Select:
    """Store an image, unless it is there, with the time and the network of its last upload."""
    row = SiteTable.select(SiteTable.id, image, content, now, network).where(SiteTable.name == site)
    into = (
        *(ImageTable.site, ImageTable.name, ImageTable.content, ImageTable.created_at),
        ImageTable.network,
    )
    return ImageTable.insert_from(row, into).on_conflict(
        conflict_target=[ImageTable.site, ImageTable.name],
        preserve=[ImageTable.created_at, ImageTable.network],
    )


@prepared
def _link(comment_id: Param, image: Param) -> Select:
    row = (
        ImageTable.select(comment_id, ImageTable.id)
        .join(CommentTable, on=CommentTable.site == ImageTable.site)
        .where(CommentTable.id == comment_id, ImageTable.name == image)
    )
    into = (CommentImageTable.comment, CommentImageTable.image)
    return CommentImageTable.insert_from(row, into)


@prepared
def _unlink(comment_id: Param) -> Select:
    return CommentImageTable.delete().where(CommentImageTable.comment == comment_id)


@prepared
def _linked(comment_id: Param) -> Select:
    return CommentImageTable.select(CommentImageTable.image).where(
        CommentImageTable.comment == comment_id
    )


def _is_unused() -> Any:  # Any: a peewee expression
    links = CommentImageTable.select(CommentImageTable.comment)
    return ~fn.EXISTS(links.where(CommentImageTable.image == ImageTable.id))


@prepared
def _drop_unused(image_id: Param) -> Select:
    return ImageTable.delete().where(ImageTable.id == image_id, _is_unused())


@prepared
def _unused(before: Param, most: Param) -> Select:
    ids = ImageTable.select(ImageTable.id).where(ImageTable.created_at < before, _is_unused())
    return ids.limit(most)


@prepared
def _shown(image: Param) -> Select:
    return (
        ImageTable.select(ImageTable.content, SiteTable.name, ThreadTable.url)
        .join(CommentImageTable, on=CommentImageTable.image == ImageTable.id)
        .join(CommentTable, on=CommentTable.id == CommentImageTable.comment)
        .join(ThreadTable, on=ThreadTable.id == CommentTable.thread)
        .join(SiteTable, on=SiteTable.id == ThreadTable.site)
        .where(ImageTable.name == image, CommentTable.status == literal(APPROVED))
        .limit(1)
    )


@prepared
def _stored(image: Param) -> Select:
    found = ImageTable.select(ImageTable.content, SiteTable.name).join(SiteTable)
    return found.where(ImageTable.name == image)


@prepared
def _of_comment(comment_id: Param) -> Select:
    return (
        ImageTable.select(ImageTable.content)
        .join(CommentImageTable, on=CommentImageTable.image == ImageTable.id)
        .where(CommentImageTable.comment == comment_id)
        .order_by(ImageTable.name)
    )


def put(tx: Transaction, site: str, image: str, content: bytes, now: int, quota: Quota) -> None:
    """Store an image of a site; `now` is in Unix ms. Raise ImagesFull, ImagesWait."""
    [(total,)] = tx.query(_total, site)
    if total + len(content) > quota.most:
        raise ImagesFull
    if quota.networks:
        [(used,)] = tx.query(waiting, site, *quota.networks, now - DAY_MS)
        if used + len(content) > max(quota.most // SHARE, LEAST_SHARE):
            raise ImagesWait
    network = quota.networks[0] if quota.networks else None
    tx.change(put_row, site, image, content, now, network)


def link(tx: Transaction, comment_id: int, source: str) -> None:
    """Link a comment with the images that its text names, and with no others."""
    tx.change(_unlink, comment_id)
    tx.change_each(_link, [(comment_id, image) for image in image_names.names(source)])


def remove(tx: Transaction, comment_id: int) -> None:
    """Remove the images of a comment, except those that another comment shows."""
    ids = tx.query(_linked, comment_id)
    tx.change(_unlink, comment_id)
    tx.change_each(_drop_unused, ids)


def shown(snapshot: Snapshot, image: str) -> ShownImage | None:
    """Return the image of that name, if an approved comment shows it."""
    row = snapshot.first(_shown, image)
    return ShownImage(*row) if row else None


def stored(snapshot: Snapshot, image: str) -> dict[str, bytes]:
    """Return the image of that name by each site that has it, whatever the comment's status."""
    return {site: content for content, site in snapshot.query(_stored, image)}


def of_comment(snapshot: Snapshot, comment_id: int) -> list[bytes]:
    """Return the images of a comment, as WebP files."""
    return [content for (content,) in snapshot.query(_of_comment, comment_id)]


def is_due(snapshot: Snapshot, before: int) -> bool:
    """Return whether there is an image from before `before` (Unix ms) that no comment names."""
    return snapshot.first(_unused, before, 1) is not None


def drop_unused(tx: Transaction, before: int, most: int) -> None:
    """Delete at most `most` images from before `before` that no comment names."""
    tx.change_each(_drop_unused, tx.query(_unused, before, most))
