"""The list of what opens an account, and its removal."""

from pathlib import Path

from commentsvc.auth import accounts, credentials
from commentsvc.auth.sessions import Lifetime
from commentsvc.db.connection import Transaction
from commentsvc.db.schema.comments import IdentityTable, ModeratorTable, PasskeyTable
from tests.unit.database_fixture import opened

LIFETIME = Lifetime(1 << 40, 1 << 40)


def furnish(tx: Transaction) -> None:
    for number, name in enumerate(("ann", "bob"), 1):
        accounts.add(tx, name, "hash", number)
        row = {"credential_id": name.encode(), "credential": b"2", "sign_count": 0, "name": name}
        tx.change(PasskeyTable.insert(moderator=number, **row, created_at=3, used_at=4))
        issuer = f"https://id.example/{name}"
        row = {"issuer": issuer, "subject": name * 100, "created_at": 5}
        tx.change(IdentityTable.insert(moderator=number, **row))
    tx.change(ModeratorTable.update(may_link=1))


def test_an_account_has_its_own_credentials_and_removes_no_others(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        database.write_now(furnish)
        passkey, identity = database.read_now(credentials.of_moderator, 2, LIFETIME, 9)
        assert (passkey.kind, passkey.name, passkey.used_at) == ("passkey", "bob", 4)
        assert identity.name == "id.example: " + "bob" * 26 + "bo", "it is bounded"
        for one in (passkey, identity):
            assert not database.write_now(credentials.remove, one.kind, one.id, 1)
            assert database.write_now(credentials.remove, one.kind, one.id, 2)
            assert not database.write_now(credentials.remove, one.kind, one.id, 2)
        assert database.read_now(credentials.of_moderator, 2, LIFETIME, 9) == []
        assert len(database.read_now(credentials.of_moderator, 1, LIFETIME, 9)) == 2
        linking = ModeratorTable.select(ModeratorTable.may_link).order_by(ModeratorTable.id)
        rows = database.read_now(lambda snapshot: snapshot.query(linking))
        assert [may_link for (may_link,) in rows] == [1, 0]
