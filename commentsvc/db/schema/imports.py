"""The tables of what came from other systems, and from where.

The row of an imported comment stays when the comment is removed: so the same import, done again,
does not bring it back. It holds nothing of what the comment said.
"""

from typing import Final

import peewee

from commentsvc.db.schema.comments import Table, ThreadTable


class ImportTable(Table):
    """One import. `digest` is of its files; `finished_at` is null while it is not complete.

    `keeps_ids` is whether comments get the ids that they have in the file: where it began, there
    was no comment.
    """

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    source = peewee.TextField()
    files = peewee.TextField()
    digest = peewee.BlobField()
    keeps_ids = peewee.IntegerField()
    started_at = peewee.IntegerField()
    finished_at = peewee.IntegerField(null=True)
    undone_at = peewee.IntegerField(null=True)

    class Meta:
        table_name = "import_run"


class ImportedCommentTable(Table):
    """A comment that was imported, and by which import.

    `key` is a digest of what tells the comment from all others of its source. `anchor` is what
    links on the blog named it by there, "" for nothing. `is_html` is 1 where its HTML is the
    source's own, and not made of its text.
    """

    comment_id = peewee.IntegerField(primary_key=True)  # no foreign key: see above
    import_id = peewee.IntegerField()
    key = peewee.BlobField(unique=True)
    anchor = peewee.TextField()
    is_html = peewee.IntegerField()

    class Meta:
        table_name = "imported_comment"


class ImportedThreadTable(Table):
    """A comment thread in which an import stored comments; `is_new` is 1 where it made it."""

    import_id = peewee.IntegerField()
    thread = peewee.ForeignKeyField(ThreadTable, index=False, on_delete="CASCADE")
    is_new = peewee.IntegerField()

    class Meta:
        table_name = "imported_thread"
        primary_key = peewee.CompositeKey("import_id", "thread")


TABLES: Final = (ImportTable, ImportedCommentTable, ImportedThreadTable)
