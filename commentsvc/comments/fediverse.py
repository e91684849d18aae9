"""The posts about a page to which readers can reply from an account of their own on Mastodon."""

from typing import Final

from commentsvc.db.connection import Snapshot
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.mentions import FollowedPostTable

# The most posts about a page that readers are told of.
MOST_POSTS: Final = 5


@prepared
def _find_posts(site: Param, url: Param, most: Param) -> Select:
    found = FollowedPostTable.select(FollowedPostTable.address).where(
        FollowedPostTable.site == site, FollowedPostTable.url == url
    )
    return found.order_by(FollowedPostTable.address).limit(most)


def posts(snapshot: Snapshot, site: str, url: str) -> list[str]:
    """Return the addresses of posts about a page to which accounts on Mastodon can reply."""
    found = (row[0] for row in snapshot.query(_find_posts, site, url, MOST_POSTS))
    return [each for each in found if each.startswith("https://") and "//bsky.app/" not in each]
