"""Two-factor authentication: besides the password, a moderator may need a code from an app.

The app's secret is derived from a random salt in the database and the secret key of the service, so
a copy of the database gives no code. Without that key, also after a change of the key without
keeping the old one, codes do not match any more, and `commentsvc moderator no-code` helps. A code
works once: one statement checks and updates the last used step. Ten recovery codes of 80 random
bits replace a lost app; only their digests are stored.
"""

import base64
import hashlib
from collections.abc import Sequence
from os import urandom
from typing import Final

from peewee import fn

from commentsvc.auth import totp
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.comments import RecoveryCodeTable, TwoFactorTable
from commentsvc.util.digest import digest
from commentsvc.util.i18n import gettext as _

SECRET_SIZE: Final = 20  # bytes, as long as the digest (RFC 4226, 4)
RECOVERY_CODES: Final = 10
RECOVERY_SIZE: Final = 10  # bytes; 16 letters and digits
WRONG_CODE: Final = _("Invalid or already used code. Wait for the next one and try again.")


def _salt(moderator_id: int, confirmed: int) -> Select:
    return TwoFactorTable.select(TwoFactorTable.totp_salt).where(
        TwoFactorTable.moderator == moderator_id, TwoFactorTable.confirmed == confirmed
    )


@prepared
def _add_code(moderator_id: Param, digest: Param) -> Select:
    return RecoveryCodeTable.insert(moderator=moderator_id, digest=digest)


class TwoFactor:
    """Checks codes; the first of the secret `keys` makes new secrets, the others are older."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = [hashlib.blake2b(key).digest() for key in keys]

    def secrets(self, salt: bytes) -> list[bytes]:
        """Return the secret for a salt, one for each key; the first is that of the current key."""
        return [
            hashlib.blake2b(
                salt, digest_size=SECRET_SIZE, key=key, person=b"second factor"
            ).digest()
            for key in self._keys
        ]

    def begin(self, tx: Transaction, moderator_id: int, salt: bytes) -> None:
        """Store a new secret from a random `salt`; it is used after a code has confirmed it."""
        offer = TwoFactorTable.insert(
            moderator=moderator_id, totp_salt=salt, last_step=0, confirmed=0
        )
        tx.change(
            offer.on_conflict(
                conflict_target=[TwoFactorTable.moderator],
                preserve=[TwoFactorTable.totp_salt, TwoFactorTable.last_step],
                where=TwoFactorTable.confirmed == 0,
            )
        )

    def offered(self, snapshot: Snapshot, moderator_id: int, browser: str) -> bytes | None:
        """Return the secret that is offered in a browser and not confirmed; None if none is.

        Another browser gets another one: who finds an open browser must not know the secret that
        the owner confirms later.
        """
        row = snapshot.first(_salt(moderator_id, 0))
        return self.secrets(_salt_for(browser, row[0]))[0] if row else None

    def confirm(
        self, tx: Transaction, moderator_id: int, code: str, browser: str, now_ms: int
    ) -> list[str]:
        """Turn codes on if the first one is right for what `browser` was offered.

        Return the recovery codes, else [].
        """
        if not self._use(tx, moderator_id, code, now_ms, browser):
            return []
        codes = [
            base64.b32encode(urandom(RECOVERY_SIZE)).decode().lower() for _ in range(RECOVERY_CODES)
        ]
        tx.change(RecoveryCodeTable.delete().where(RecoveryCodeTable.moderator == moderator_id))
        tx.change_each(_add_code, [(moderator_id, _digest_of_code(one)) for one in codes])
        return ["-".join(one[n : n + 4] for n in range(0, len(one), 4)) for one in codes]

    def accept(self, tx: Transaction, moderator_id: int, code: str, now_ms: int) -> bool:
        """Use a code or a recovery code; return whether it was valid at `now_ms`."""
        if self._use(tx, moderator_id, code, now_ms):
            return True
        used = RecoveryCodeTable.delete().where(
            RecoveryCodeTable.moderator == moderator_id,
            RecoveryCodeTable.digest == _digest_of_code(_without_separators(code)),
        )
        return bool(tx.change(used))

    def _use(
        self, tx: Transaction, moderator_id: int, code: str, now_ms: int, browser: str = ""
    ) -> bool:
        """Note that a code's step was used; return False for a wrong code or an older step.

        With a `browser`, it confirms the secret that was offered there.
        """
        confirmed = 0 if browser else 1
        row = tx.first(_salt(moderator_id, confirmed))
        if row is None:
            return False
        salt = _salt_for(browser, row[0]) if browser else row[0]
        for secret in self.secrets(salt):
            step = totp.matching_step(secret, _without_separators(code), now_ms)
            if step is not None:
                use = TwoFactorTable.update(last_step=step, confirmed=1, totp_salt=salt).where(
                    TwoFactorTable.moderator == moderator_id,
                    TwoFactorTable.confirmed == confirmed,
                    TwoFactorTable.last_step < step,
                )
                return bool(tx.change(use))
        return False


def is_on(snapshot: Snapshot, moderator_id: int) -> bool:
    """Return whether the moderator needs a code to sign in."""
    return snapshot.first(_salt(moderator_id, 1)) is not None


def codes_left(snapshot: Snapshot, moderator_id: int) -> int:
    """Return how many recovery codes are left."""
    codes = RecoveryCodeTable.select(fn.COUNT(RecoveryCodeTable.id))
    [(count,)] = snapshot.query(codes.where(RecoveryCodeTable.moderator == moderator_id))
    return int(count)


def switch_off(tx: Transaction, moderator_id: int) -> None:
    """Turn codes off."""
    for table in (TwoFactorTable, RecoveryCodeTable):
        tx.change(table.delete().where(table.moderator == moderator_id))


def _salt_for(browser: str, salt: bytes) -> bytes:
    """Return the salt of the secret that is offered in a browser, from a stored one."""
    return hashlib.blake2b(browser.encode(), digest_size=SECRET_SIZE, key=salt).digest()


def _without_separators(code: str) -> str:
    """Return a typed code in lower case, without spaces and dashes."""
    return code[:60].replace(" ", "").replace("-", "").lower()


def _digest_of_code(code: str) -> bytes:
    return digest(code.encode(errors="replace"), b"recovery", 16)
