"""Mails of real programs that other projects have published, from their sources on PyPI.

pip fetches the sources that public_mails.txt lists into build/public_mails, once.
"""

import contextlib
import hashlib
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Final

from tests.conftest import cannot_run
from tests.unit.inbox.mail_programs import Original

LIST: Final = Path(__file__).with_name("public_mails.txt")
BUILD: Final = Path(__file__).parents[3] / "build"
# Fields that say to whom a mail was sent, or that it is automatic, and those that we set instead.
_REPLACED: Final = re.compile(
    rb"(?:To|Cc|Delivered-To|List-[\w-]+|Precedence|Return-Path|Auto-[\w-]+|X-Auto[\w-]*|X-Loop"
    rb"|Subject|From|In-Reply-To|>?From )[: ]",
    re.IGNORECASE,
)


def fetched() -> Path:
    """Return the folder of the unpacked sources; skip the test if they cannot be fetched."""
    folder = BUILD / "public_mails" / hashlib.sha256(LIST.read_bytes()).hexdigest()[:16]
    if not folder.exists():
        words = "-q --no-deps --no-binary :all: --require-hashes --disable-pip-version-check"
        command = [sys.executable, "-m", "pip", "download", *words.split(), "-r", str(LIST)]
        made = folder.with_suffix(f".{hash(folder) & 0xFFFF}")
        done = subprocess.run([*command, "-d", str(made)], capture_output=True, text=True)
        if done.returncode:
            cannot_run(f"pip cannot fetch public mails: {done.stderr.strip()[-200:]}")
        for archive in made.glob("*.tar.gz"):
            with tarfile.open(archive) as source:
                names = [each for each in source if each.isfile() and "/tests/" in each.name]
                for each in names:
                    target = made / each.name.partition("/")[2]
                    file = source.extractfile(each)
                    assert file
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(file.read())
        with contextlib.suppress(OSError):  # another part of the tests was faster
            made.rename(folder)
    return folder


def as_answer(raw: bytes, original: Original) -> bytes:
    """Return a mail as if it answered ours: with our address, from a person."""
    head, gap, body = re.split(rb"(\r?\n\r?\n)", raw, maxsplit=1)
    fields = re.split(rb"\r?\n(?![ \t])", head)
    ours = (
        f"To: {original.reply_to}\nSubject: Re: hi\nFrom: ann@mail.example\n"
        f"In-Reply-To: {original.message_id}"
    )
    kept = [field for field in fields if not _REPLACED.match(field)]
    return b"\n".join([*kept, ours.encode()]) + gap + body
