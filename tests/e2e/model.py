"""A model of a blog's comments in plain Python values, for `test_consistency`."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Said:
    """A comment in the model."""

    page: str
    status: str
    text: str
    sent: dict[str, Any]
    token: str
    votes: dict[str, int] = field(default_factory=dict)


@dataclass
class Done:
    """A change in the model."""

    act: int
    comment: int
    what: str
    was: str
    undone: bool = False


@dataclass
class Model:
    """What the service should hold: comments, redirects of addresses, and closed pages."""

    comments: dict[int, Said] = field(default_factory=dict)
    leads: dict[str, str] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    changes: list[Done] = field(default_factory=list)

    def root(self, page: str) -> str:
        """Return the page that holds the comments of an address."""
        return self.leads.get(page, page)

    def shown(self, page: str) -> set[int]:
        """Return the ids of the comments that readers see at an address."""
        root = self.root(page)
        return {
            number
            for number, said in self.comments.items()
            if said.page == root and said.status == "approved"
        }

    def known(self, page: str) -> bool:
        """Return whether an address has ever had a comment or leads to another one."""
        return page in self.leads or any(said.page == page for said in self.comments.values())

    def take_back(self, done: Done) -> bool:
        """Undo one change unless the comment was changed again."""
        again = any(
            later.act > done.act and not later.undone
            for later in self.changes
            if (later.comment, later.what) == (done.comment, done.what)
        )
        if not again:
            done.undone = True
            said = self.comments[done.comment]
            if done.what == "text":
                said.text = done.was
            else:
                said.status = done.was
        return not again
