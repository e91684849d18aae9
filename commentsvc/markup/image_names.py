"""Names of uploaded images, as Markdown has them: ``![alt](image:NAME)``.

A name is a digest of the content with its width and height in pixels, so the content behind a name
never changes.
"""

import re
from typing import Final

from commentsvc.util.digest import digest

NAME: Final = r"[0-9a-f]{32}-[0-9]{1,4}x[0-9]{1,4}"
_NAMED: Final = re.compile(rf"\bimage:({NAME})(?![0-9])").findall
DIGEST: Final = 16  # bytes


def name(content: bytes, width: int, height: int) -> str:
    """Return the name of an image with that content and size in pixels."""
    return f"{_digest_of_content(content)}-{width}x{height}"


def size(image: str) -> list[str]:
    """Return the width and height in pixels that an image's name contains."""
    return image.rpartition("-")[2].split("x")


def is_named_so(image: str, content: bytes) -> bool:
    """Return whether an image of that content may have the name `image`."""
    return (
        image.startswith(f"{_digest_of_content(content)}-")
        and re.fullmatch(NAME, image) is not None
    )


def _digest_of_content(content: bytes) -> str:
    return digest(content, size=DIGEST).hex()


def names(source: str) -> list[str]:
    """Return the names of the images in the Markdown `source`, each once."""
    return list(dict.fromkeys(_NAMED(source))) if "image:" in source else []
