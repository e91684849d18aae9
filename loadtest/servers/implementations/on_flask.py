"""A competitor: what Stacosys does for a count, made again with Flask and SQLite in a few lines.

    python on_flask.py DATABASE PORT      on Flask's own server
    gunicorn on_flask:application         DATABASE in the environment

As there, each count first looks for comments that no mail has told of, and no column has an index.
"""

import os
import sqlite3
import sys

from flask import Flask, g, jsonify, request

application = Flask(__name__)
DATABASE = os.environ.get("DATABASE") or sys.argv[1]
COUNT = "SELECT count(*) FROM comment WHERE url = ? AND published IS NOT NULL"


@application.teardown_appcontext
def close(_):  # type: ignore[no-untyped-def]  # Flask's handlers are untyped
    """Close the request's connection."""
    g.pop("database").close()


@application.get("/api/comments/count")
def count():  # type: ignore[no-untyped-def]  # Flask's handlers are untyped
    """Count a page's comments."""
    g.database = sqlite3.connect(DATABASE)
    g.database.execute("SELECT * FROM comment WHERE notified IS NULL").fetchall()
    return jsonify({"count": g.database.execute(COUNT, (request.args["url"],)).fetchone()[0]})


if __name__ == "__main__":
    application.run(host="127.0.0.1", port=int(sys.argv[2]), debug=False, use_reloader=False)
