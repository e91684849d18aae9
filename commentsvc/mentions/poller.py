"""Follows posts on social networks: replies become comments, likes and reposts are counted.

New posts are checked more often than old ones. Servers shorten long threads, so a missing reply is
requested separately, and its comment is only deleted if the reply was deleted.
"""

import asyncio
import logging
from typing import Final

from commentsvc.comments.page_urls import PageRef, Sites, UrlError
from commentsvc.context import ServiceContext
from commentsvc.db import background
from commentsvc.db.connection import Transaction
from commentsvc.db.errors import DatabaseError
from commentsvc.db.schema.mentions import REPLY
from commentsvc.errors import CommentsError
from commentsvc.mentions import store
from commentsvc.mentions.comments import MentionComments, delete_comment
from commentsvc.mentions.html_page import FoundMention
from commentsvc.mentions.networks import PostGone, RemoteReply, SocialNetworks
from commentsvc.mentions.store import FollowedPost, Mention
from commentsvc.model import fragment
from commentsvc.settings.schema import Site
from commentsvc.submissions.service import SubmissionService
from commentsvc.util.http_client import RemoteError, SettingsClient, StrangerClient
from commentsvc.util.polite_client import LeaveAlone, PoliteClient
from commentsvc.util.timestamps import DAY_MS

_log = logging.getLogger(__name__)

PAUSE: Final = 1.0  # seconds between two searches for due posts
AT_ONCE: Final = 4
YOUNGER: Final = 20  # a post is checked again after this fraction of its age: 1/20
DOUBTS: Final = 10  # the most missing replies that are requested separately per check


class PostPoller:
    """Follows the posts of all sites."""

    def __init__(self, service: ServiceContext, submissions: SubmissionService) -> None:
        settings = service.settings
        strangers = StrangerClient(settings.mentions.allowed_networks)
        bluesky = SettingsClient(settings.hooks.allowed_networks)
        self._networks = SocialNetworks(
            PoliteClient(strangers, service.clock),
            PoliteClient(bluesky, service.clock),
            settings.mentions.bluesky_service,
        )
        self._settings = settings
        self._comments = MentionComments(service, submissions)
        self._sites = service.sites
        self._database = service.database
        self._clock = service.clock
        self._named: set[str] = set()  # sites whose `social_posts` are followed
        self._accounts_at: dict[str, int] = {}  # when each account is checked next

    async def run(self, pause: float = PAUSE) -> None:
        """Search and check posts until cancelled."""
        await background.repeat(self._check_due, "the search for posts elsewhere", pause)

    async def _check_due(self) -> None:
        await self.discover()
        while await self.poll_due():
            pass

    async def discover(self) -> None:
        """Search for new posts that link to a site, if it is time."""
        now = self._clock.now_ms()
        for site in self._settings.sites:
            if site.name not in self._named:
                await self._follow_named(site, now)
                self._named.add(site.name)
            for account in site.social_accounts:
                key = f"{site.name} {account}"
                if now >= self._accounts_at.get(key, 0):
                    self._accounts_at[key] = now + await self._find_posts(site, account, now)

    async def _follow_named(self, site: Site, now: int) -> None:
        """Follow the posts that the settings of a site name."""
        for line in site.social_posts:
            url, _, address = line.partition(" ")
            page = self._sites.locate(url, site.name)
            await self._database.write(store.follow, page, address, now)

    async def _find_posts(self, site: Site, account: str, now: int) -> int:
        """Follow an account's posts about a site; return the milliseconds until the next search."""
        try:
            posts = await self._networks.recent(account)
        except LeaveAlone as error:
            return error.pause_ms
        except (RemoteError, PostGone) as error:
            _log.info("posts of %s cannot be read: %s", account, error)
            return 4 * store.INTERVAL
        for address, links in posts:
            for page in dict.fromkeys(_pages(self._sites, site.name, links)):
                await self._database.write(store.follow, page, address, now)
        return store.INTERVAL

    async def poll_due(self) -> int:
        """Check some due posts; return how many."""
        waiting = self._database.read_now(store.due_posts, self._clock.now_ms(), AT_ONCE)
        await asyncio.gather(*map(self._poll, waiting))
        return len(waiting)

    async def _poll(self, post: FollowedPost) -> None:
        now = self._clock.now_ms()
        seen = post._replace(attempts=post.attempts + 1)
        pause = store.INTERVAL << min(seen.attempts, 8)
        try:
            found, etag = await self._networks.read(post.address, post.etag)
            if found:
                if found.replies is not None and not await self._take(post, found.replies, now):
                    etag = ""  # so that the next answer contains them again
                seen = post._replace(likes=found.likes, reposts=found.reposts)
            seen, pause = seen._replace(attempts=0, etag=etag), store.INTERVAL
        except PostGone:
            for mention in (await self._database.read(store.replies, post)).values():
                await self._database.write(_withdraw, mention, now)
            seen, pause = post._replace(likes=0, reposts=0), store.FOLLOWED
        except LeaveAlone as error:
            pause = error.pause_ms
        except (RemoteError, CommentsError) as error:
            _log.info("%s cannot be followed now: %s", post.address, error)
        except DatabaseError:
            raise
        except Exception:  # a bug must not block the other posts
            _log.exception("%s cannot be followed", post.address)
        age = now - post.found_at
        next_at = now + max(pause, min(age // YOUNGER, DAY_MS))
        done = age > store.FOLLOWED
        await self._database.write(store.save_check, post, seen, None if done else next_at)

    async def _take(self, post: FollowedPost, replies: list[RemoteReply], now: int) -> bool:
        """Store the replies to a post as comments; return whether all could be stored."""
        known = await self._database.read(store.replies, post)
        comments: dict[str, int] = {}
        taken = True
        for reply in replies:
            try:
                mention = known.get(reply.url)
                if mention is None:
                    mention = await self._database.write(store.add_reply, post, reply.url, now)
                if mention:
                    above = comments.get(reply.parent)
                    comments[reply.url] = await self._show(mention, reply, above, now)
            except CommentsError as error:  # its author wrote too much, or the page is closed
                _log.info("%s is not taken now: %s", reply.url, error)
                taken = False
        listed = {reply.url for reply in replies}
        missing = [mention for url, mention in known.items() if url not in listed]
        for mention in missing[:DOUBTS]:
            if await self._networks.is_gone(mention.source):
                await self._database.write(_withdraw, mention, now)
        return taken

    async def _show(self, mention: Mention, reply: RemoteReply, above: int | None, now: int) -> int:
        """Store or edit the comment of a reply; `above` is the id of the comment it answers."""
        answered = mention._replace(
            target=f"{mention.url}{fragment(above)}" if above else mention.url
        )
        said = FoundMention(REPLY, reply.author, reply.author_site, reply.text)
        comment_id = await self._comments.show(answered, said, now)
        if comment_id != mention.comment_id:
            await self._database.write(store.conclude, mention, REPLY, comment_id, None)
        return comment_id


def _withdraw(tx: Transaction, mention: Mention, now: int) -> None:
    delete_comment(tx, mention, now)
    store.remove(tx, mention)


def _pages(sites: Sites, site: str, links: list[str]) -> list[PageRef]:
    """Return the pages of a site that are among the links of a post."""
    found = []
    for link in links:
        try:
            page = sites.locate(link) if link.startswith("http") else None
        except UrlError:
            continue
        if page and page.site == site:
            found.append(page)
    return found
