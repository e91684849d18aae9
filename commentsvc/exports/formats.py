"""The formats of an export that is one file."""

from collections.abc import Mapping

from commentsvc.db.connection import Snapshot
from commentsvc.exports import contents, disqus, ndjson, wordpress
from commentsvc.exports.contents import Selection
from commentsvc.exports.output import Output


def write(
    form: str, snapshot: Snapshot, selection: Selection, origins: Mapping[str, str], output: Output
) -> None:
    """Write an export in the format `form`: commentsvc, disqus or wordpress.

    `origins` are those of the sites' pages, which commentsvc does not need. Raise UnknownSiteError.
    """
    if form == "commentsvc":
        ndjson.write(contents.records(snapshot, selection), output)
    elif form == "disqus":
        disqus.write(contents.pages(snapshot, selection), origins, output)
    else:
        waiting = contents.pages(snapshot, selection, pending=True)
        wordpress.write(waiting, origins, output)
    output.flush()
