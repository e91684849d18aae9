"""What somebody may have meant by a mistyped name."""

from collections.abc import Collection, Iterable


def nearest(word: str, known: Iterable[str], likeness: float = 0.65) -> str:
    """Return what of `known` is most similar to a mistyped word, "" if nothing is.

    `likeness` is from 0, for everything, to 1, as in `difflib`.
    """
    from difflib import get_close_matches  # only for a message, and not small

    folded = {each.casefold(): each for each in known}
    found = get_close_matches(word[:100].casefold(), folded, 1, likeness)
    return folded[found[0]] if found else ""


def no_such(kind: str, name: str, known: Collection[str]) -> str:
    """Return that no `kind` of thing has this name, and which of those that exist is meant."""
    near = nearest(name, known)
    others = f"There are: {', '.join(known)}." if known else "There is none at all."
    hint = f'Did you mean "{near}"?' if near else others
    return f'There is no {kind} "{name[:100]}". {hint}'
