"""A competitor: the article's server on Sanic, written again in a few lines.

    python on_sanic.py DATABASE PORT WORKERS CACHED

As there, the query is not asynchronous, so it blocks its worker, and no column has an index. With a
CACHED of 1 each worker caches every count for ever; nobody writes meanwhile, so this is the best
that such a cache can do.
"""

import sqlite3
import sys

from sanic import Sanic, json  # type: ignore[import-not-found]  # it has its own environment

DATABASE, PORT, WORKERS, CACHED = sys.argv[1], *map(int, sys.argv[2:5])
COUNT = "SELECT count(*) FROM comment WHERE url = ? AND published IS NOT NULL"
application = Sanic("stacosys", configure_logging=False)
application.config.update(ACCESS_LOG=False, KEEP_ALIVE_TIMEOUT=120, MOTD=False)


@application.before_server_start
async def connect(app, _):  # type: ignore[no-untyped-def]  # Sanic's handlers are untyped
    """Open the database in each worker."""
    app.ctx.database = sqlite3.connect(DATABASE, check_same_thread=False)
    app.ctx.counts = {}


@application.get("/api/comments/count")
async def count(request):  # type: ignore[no-untyped-def]  # Sanic's handlers are untyped
    """Count a page's comments."""
    url, context = request.args["url"][0], request.app.ctx
    number = context.counts.get(url)
    if number is None:
        number = context.database.execute(COUNT, (url,)).fetchone()[0]
        if CACHED:
            context.counts[url] = number
    return json({"count": number})


if __name__ == "__main__":
    how = {"workers": WORKERS} if WORKERS > 1 else {"single_process": True}
    application.run(host="127.0.0.1", port=PORT, **how)
