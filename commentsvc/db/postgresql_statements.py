"""PostgreSQL's text of the hot statements that it does not understand as SQLite does.

All others are the same, but for the signs of their parameters.
"""

from typing import Final

from commentsvc.db import statements
from commentsvc.db.schema import postgresql, search

TWINS: Final = {
    statements.NEXT_ACT: (
        "SELECT CASE WHEN is_called THEN last_value ELSE 0 END + 1 FROM change_id_seq"
    ),
    statements.ANCHORS: (
        "SELECT i.comment_id, i.anchor FROM json_array_elements_text(%s::json) AS j"
        " JOIN imported_comment AS i ON i.comment_id = j.value::bigint WHERE i.anchor <> ''"
    ),
    statements.DELETED_ABOVE: (
        "WITH RECURSIVE above (id, parent_id) AS ("
        " SELECT c.id, c.parent_id FROM comment AS c WHERE c.id IN"
        " (SELECT value::bigint FROM json_array_elements_text(%s::json))"
        " AND c.status <> 'approved'"
        " UNION SELECT c.id, c.parent_id FROM above JOIN comment AS c ON c.id = above.parent_id"
        " WHERE c.status <> 'approved'"
        ") SELECT id, parent_id FROM above ORDER BY id"
    ),
    statements.CHANGED: statements.CHANGED.replace(" max(", " greatest(").replace("?", "%s"),
    search.INDEX: f"{postgresql.INDEX} BETWEEN %s AND %s",
    search.COUNT: postgresql.COUNT,
}
