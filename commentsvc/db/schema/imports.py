"""The tables of imports from other systems, and of what they stored.

The row of an imported comment stays when the comment is deleted, so that repeating the import does
not bring it back. It contains nothing of the comment's text.
"""

from typing import Final

import peewee

from commentsvc.db.schema.comments import Table, ThreadTable


class ImportTable(Table):
    """An import. `digest` is that of its files; `finished_at` is null while it is not complete.

    `keeps_ids` is 1 if comments keep the ids of the file, because there was no comment when the
    import began.
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
    """An imported comment and its import.

    `key` is a digest that identifies the comment among all of its source. `anchor` is the fragment
    of the links to it on the blog, "" if there was none. `is_html` is 1 if its HTML is the source's
    own, and was not made from its text.
    """

    comment_id = peewee.IntegerField(primary_key=True)  # no foreign key: see above
    import_id = peewee.IntegerField()
    key = peewee.BlobField(unique=True)
    anchor = peewee.TextField()
    is_html = peewee.IntegerField()


class ImportedThreadTable(Table):
    """A thread in which an import stored comments; `is_new` is 1 if the import made the thread."""

    import_id = peewee.IntegerField()
    thread = peewee.ForeignKeyField(ThreadTable, index=False, on_delete="CASCADE")
    is_new = peewee.IntegerField()

    class Meta:
        primary_key = peewee.CompositeKey("import_id", "thread")


class ImportedRecordTable(Table):
    """Another record that an import added: see `imports.store.imported_records`."""

    import_id = peewee.IntegerField()
    kind = peewee.TextField()
    row_id = peewee.IntegerField()
    name = peewee.TextField()
    number = peewee.IntegerField()

    class Meta:
        primary_key = peewee.CompositeKey("import_id", "kind", "row_id", "name")


TABLES: Final = (ImportTable, ImportedCommentTable, ImportedThreadTable, ImportedRecordTable)
