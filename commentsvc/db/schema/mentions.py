"""The tables of followed posts, and of mentions: pages elsewhere that are said to link to ours."""

from typing import Final

import peewee

from commentsvc.db.schema.comments import Table, add_index, one_of

# What a mention is: an answer to the page, a link to it, a like, or a repost.
REPLY: Final = "reply"
MENTION: Final = "mention"
LIKE: Final = "like"
REPOST: Final = "repost"
KINDS: Final = (REPLY, MENTION, LIKE, REPOST)


class MentionTable(Table):
    """A page elsewhere (`source`) that is said to link to the page `url` of `site`.

    `target` is the linked address, as it was sent. `kind` is "" until a check finds the link; if
    there is no link, or none any more, the row is deleted. `received_at` is the time of the first
    mention, `next_at` that of the next check, null for never. Each failed check adds one to
    `attempts`. `comment_id` is the comment that was made of the mention; it is no foreign key,
    since the comment may be deleted. A reply to a followed post has its `post_id`, and is checked
    together with it.
    """

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    site = peewee.TextField()
    url = peewee.TextField()
    source = peewee.TextField()
    target = peewee.TextField()
    kind = peewee.TextField(constraints=[one_of("kind", ("", *KINDS))])
    comment_id = peewee.IntegerField(null=True)
    attempts = peewee.IntegerField()
    received_at = peewee.IntegerField()
    next_at = peewee.IntegerField(null=True)
    post_id = peewee.IntegerField(null=True)

    class Meta:
        indexes = ((("source", "site", "url"), True), (("site", "url"), False))


class FollowedPostTable(Table):
    """A post on a social network about the page `url` of `site`, whose replies are followed.

    `likes` and `reposts` are from the last check; `next_at` is the time of the next one, null for
    never. Each failed check adds one to `attempts`. `etag` is that of the last answer.
    """

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    site = peewee.TextField()
    url = peewee.TextField()
    address = peewee.TextField()
    likes = peewee.IntegerField()
    reposts = peewee.IntegerField()
    attempts = peewee.IntegerField()
    etag = peewee.TextField()
    found_at = peewee.IntegerField()
    next_at = peewee.IntegerField(null=True)

    class Meta:
        indexes = ((("site", "url", "address"), True),)


add_index(FollowedPostTable, "followed_post_waiting", "next_at", where="next_at IS NOT NULL")
add_index(MentionTable, "mention_waiting", "next_at", where="next_at IS NOT NULL")
add_index(MentionTable, "mention_by_post", "post_id", where="post_id IS NOT NULL")
TABLES: Final = (MentionTable, FollowedPostTable)
