"""What an error of the system or of a library says, without what tells an operator nothing."""

import re
from typing import Final

_NUMBER: Final = re.compile(r"\[Errno -?\d+\] ")


def error_text(error: BaseException) -> str:
    """Return the text of an error in one line, without its number; its type if it has no text."""
    return " ".join(_NUMBER.sub("", str(error)).split()) or type(error).__name__
