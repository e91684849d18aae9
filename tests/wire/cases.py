"""Read the wire cases from their Markdown files; README.md describes the format."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "cases"

_ESCAPES = {"r": "\r", "n": "\n", "t": "\t", "\\": "\\"}
_ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|[rnt\\])")
_REPEAT = re.compile(r"\{(.*?)\*(\d+)\}")
_FENCE = re.compile(r"^```(\w+)((?: \w+)*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| (.+?) \| `(.+?)` \|", re.MULTILINE)
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


@dataclass
class Answer:
    """What is expected of one answer; parts that are not given are not checked."""

    status: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    body: bytes | None = None
    has_body: bool = True


@dataclass
class Step:
    """Bytes to send, and the answers to wait for before the next step."""

    data: bytes
    answers: list[Answer] = field(default_factory=list)


@dataclass
class Case:
    title: str
    file: str
    steps: list[Step]
    stays_open: bool
    alone: bool  # nothing may follow on the same connection, since the request is incomplete

    def __str__(self) -> str:
        return f"{self.file}: {self.title}"


def unescape(text: str) -> bytes:
    r"""Return the bytes that `text` spells: `\r \n \t \\ \xHH`, and `{text*count}` repeats text."""

    def plain(match: re.Match[str]) -> str:
        code = match.group(1)
        return chr(int(code[1:], 16)) if code[0] == "x" else _ESCAPES[code]

    repeated = _REPEAT.sub(lambda match: match.group(1) * int(match.group(2)), text)
    return _ESCAPE.sub(plain, repeated).encode("latin-1")


def spelled_bytes(block: str) -> bytes:
    """Return a block's bytes; its own line ends do not count, since line ends are spelled out."""
    return unescape("".join(block.splitlines()))


def read_answer(block: str) -> Answer:
    head, separator, body = block.partition("\n\n")
    status, *lines = head.strip("\n").split("\n")
    answer = Answer(status.removeprefix("HTTP/1.1 "))
    for line in lines:
        if line == "(no body)":
            answer.has_body = False
        elif line.startswith("no "):
            answer.absent.append(line.removeprefix("no "))
        else:
            name, _, value = line.partition(": ")
            answer.fields.append((name, value))
    if separator:
        answer.body = spelled_bytes(body)
    return answer


def read_answers(block: str) -> tuple[list[Answer], str]:
    """Return the answers in a block, and its last line: whether the connection stays open."""
    rest, _, fate = block.rstrip("\n").rpartition("(")
    starts = [match.start() for match in re.finditer(r"^HTTP/1\.1 ", rest, re.MULTILINE)]
    ends = [*starts[1:], len(rest)]
    pieces = [rest[start:end] for start, end in zip(starts, ends, strict=bool(starts))]
    return [read_answer(piece) for piece in pieces], fate.rstrip(")")


def read_case(title: str, file: str, text: str) -> Case:
    steps: list[Step] = []
    fate, alone = "", False
    for kind, words, block in _FENCE.findall(text):
        if kind == "request":
            steps.append(Step(spelled_bytes(block)))
            alone = alone or "alone" in words.split()
        elif kind == "answer":
            steps[-1].answers, fate = read_answers(block)
            assert fate in ("open", "closed"), f"{file}: {title}: is it (open) or (closed)?"
        else:
            raise AssertionError(f"{file}: {title}: a fence is a request or an answer")
    assert fate, f"{file}: {title}: there is no answer"
    return Case(title, file, steps, fate == "open", alone)


def read_file(path: Path) -> Iterator[Case]:
    _, *parts = _HEADING.split(path.read_text())
    for title, text in zip(parts[::2], parts[1::2], strict=True):
        rows = _ROW.findall(text)
        assert bool(rows) == ("\n@\n" in text), f"{path.stem}: {title}: a table has the lines of @"
        for name, lines in rows or [(title, "")]:
            yield read_case(name, path.stem, text.replace("\n@\n", f"\n{lines}\n"))


def all_cases() -> list[Case]:
    return [case for path in sorted(FOLDER.glob("*.md")) for case in read_file(path)]
