"""A competitor: the article's best server, on Sanic, written again in a few lines.

    python on_sanic.py DATABASE PORT

Its one worker caches every count for ever. Nobody writes meanwhile, so this is the best that such a
cache can do.
"""

import sqlite3
import sys

from sanic import Sanic, json  # type: ignore[import-not-found]  # it has its own environment

DATABASE, PORT = sys.argv[1], int(sys.argv[2])
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
        context.counts[url] = number
    return json({"count": number})


if __name__ == "__main__":
    application.run(host="127.0.0.1", port=PORT, single_process=True)
