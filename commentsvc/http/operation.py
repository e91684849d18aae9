"""Operations: the parameters and answers of a route, declared once, at its handler.

`handles` declares an operation; `router.declared_routes` makes the route, and reads the query by
the operation. The OpenAPI document and docs/api.md are generated from the operations, so that they
cannot contradict the code. A query is a msgspec struct: its fields are the parameters, and their
types define the accepted values.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import UnionType
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import convert

from commentsvc.http.forms import FormError, decode, parse_urlencoded
from commentsvc.http.messages import JSON, HttpError, Request, unreadable

NAME_LENGTH = 40  # characters of an unknown parameter's name in an error
UNKNOWN_NAMES = 10  # unknown parameters that one error lists


class Query(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """The parameters of a query; this base class has none.

    A field is a text, a whole number, a choice, or a list for a parameter that may be repeated. If
    JSON Schema cannot describe the type well for people, its `Meta(extra={"message": …})` does.
    """


@dataclass(frozen=True, slots=True)
class Content:
    """A body: its media type, and the type of its content, None for any bytes."""

    media_type: str
    type: Any = None  # Any: whatever msgspec accepts as a type


def json_of(kind: Any) -> Content:  # Any: as above
    """Return the Content of a JSON body of the type `kind`."""
    return Content(JSON, kind)


def form_of(kind: Any) -> tuple[Content, Content]:  # Any: as above
    """Return the two Contents of a posted form with the fields of `kind`."""
    return Content("application/x-www-form-urlencoded", kind), Content("multipart/form-data", kind)


TEXT = Content("text/plain", str)
HTML = Content("text/html", str)
NOTHING = Content("")

Q = TypeVar("Q", bound=Query)


@dataclass(frozen=True, kw_only=True)
class Operation(Generic[Q]):
    """One method of one path.

    `answers` are those by status, and `errors` the statuses of errors in JSON. `path_type` is the
    type of ``{path}``. With `ignores_unknown`, parameters that are not in `query` are ignored,
    since clients of other systems send some. `without_effect` are parameters of `query` that are
    accepted for such clients, and change nothing. The answers of one that is `cached` have tags.
    With `takes_file`, the body may be larger than `server.max_body_kib`. An operation
    with a `bearer` requires `Authorization: Bearer`, with a token of that kind. One that is
    `for_moderators` is a moderation page, which is not in the OpenAPI document; `permission` is
    what the account needs (see `moderation.permissions`). `note` adds details to the summary.
    """

    method: str
    path: str
    summary: str
    query: type[Q]
    body: tuple[Content, ...] = ()
    answers: Mapping[int, Content] = field(default_factory=dict)
    errors: tuple[int, ...] = ()
    path_type: Any = str  # Any: as in Content
    bearer: Literal["", "edit", "reader", "blog"] = ""
    ignores_unknown: bool = False
    without_effect: tuple[str, ...] = ()
    cached: bool = False
    takes_file: bool = False
    for_moderators: bool = False
    permission: str = ""
    note: str = ""

    @cached_property
    def read(self) -> Callable[[Request], Q]:
        """Read the query of a request. Raise HttpError 400 that names the invalid parameters."""
        return _QueryParser(self.query, self.ignores_unknown).read

    def has_effect(self, query: str) -> bool:
        """Return whether each parameter of a query changes the answer, which then may be cached.

        Otherwise anybody could fill the cache with new values of a parameter that is ignored. The
        core drops these parameters by the `target_rule`.
        """
        if "token=" in query and "token" in self.without_effect:
            return False
        if not self.ignores_unknown or not query:
            return True
        names = [pair.partition("=")[0] for pair in query.split("&")]
        return len(set(names)) == len(names) and self._names.issuperset(names)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(each.name for each in msgspec.structs.fields(self.query))

    @property
    def target_rule(self) -> str:
        """Return which parameters the core drops, as in core/http/target.h."""
        if not self.ignores_unknown or not self.cached:
            return " ".join(["without", *self.without_effect])
        lists = list_fields(self.query)
        names = sorted(self._names.difference(self.without_effect))
        return " ".join(["only", *(name + "*" * (name in lists) for name in names)])


H = TypeVar("H", bound=Callable[..., Any])  # Any: whatever a handler takes and returns


def declare(handler: H, operation: Operation[Any]) -> H:  # Any: the type of its query
    """Return the handler with one more operation that it answers: see `declared`."""
    others = getattr(handler, "operations", ())
    handler.operations = (operation, *others)  # type: ignore[attr-defined]  # as a function may
    return handler


def summary_of(handler: Callable[..., object]) -> str:
    """Return the first paragraph of a handler's docstring, without its full stop."""
    return " ".join((handler.__doc__ or "").partition("\n\n")[0].split()).removesuffix(".")


def handles(
    method: str,
    path: str,
    answer: Any = None,  # Any: the type of JSON, a Content, or the Contents by status
    *,
    body: Any = (),  # Any: the type of JSON, or Contents
    errors: tuple[int, ...] | Mapping[int, Content] = (400, 503),
    **fields: Any,  # Any: as in Operation
) -> Callable[[H], H]:
    """Declare the operation of a handler. Its docstring begins with the summary.

    The status is 204 without an `answer`, else 200 unless it has Contents by status. The
    `errors` of clients of other systems have Contents of their own, by status. The type of the
    handler's `query` is that of the operation; a handler without this argument may name the
    type in `fields`, which are further ones of `Operation`.
    """
    if answer is None:
        answer = {204: NOTHING}
    elif not isinstance(answer, dict):
        answer = {200: answer if isinstance(answer, Content) else json_of(answer)}
    if isinstance(errors, Mapping):
        answer, errors = {**answer, **errors}, ()
    body = body if isinstance(body, tuple) else (json_of(body),)

    def declare_it(handler: H) -> H:
        query = handler.__annotations__.get("query", Query)
        about = {"summary": summary_of(handler), "query": query, **fields}
        operation = Operation(
            method=method, path=path, answers=answer, body=body, errors=errors, **about
        )
        return declare(handler, operation)

    return declare_it


def declared(owner: object) -> Iterator[tuple[Operation[Any], Any]]:  # Any: as in declare
    """Yield the operations that methods of an object or class answer, each with its handler."""
    for name, method in vars(owner if isinstance(owner, type) else type(owner)).items():
        for operation in getattr(method, "operations", ()):
            yield operation, getattr(owner, name)


@cache
def list_fields(declared: type[msgspec.Struct]) -> frozenset[str]:
    """Return the names of the fields that are lists: parameters that may be repeated."""
    types = get_type_hints(declared, include_extras=True)
    return frozenset(name for name, kind in types.items() if get_origin(_plain(kind)) is list)


class _QueryParser(Generic[Q]):
    """Reads queries as `declared`, with a fast path for none, and for those that occur once."""

    def __init__(self, declared: type[Q], ignores_unknown: bool) -> None:
        self._declared = declared
        self._ignores_unknown = ignores_unknown
        self._lists = list_fields(declared)
        fields = msgspec.structs.fields(declared)
        self._once = {each.name for each in fields} - self._lists
        needs_some = self._lists or any(each.required for each in fields)  # no list is shared
        self._of_none = None if needs_some else declared()

    def read(self, request: Request) -> Q:
        """Read a query. Raise HttpError 400 that names all invalid parameters."""
        query = request.query
        if not query and self._of_none is not None:
            return self._of_none
        values, once = {}, self._once
        try:
            for pair in query.split("&") if query else ():
                name, _, text = pair.partition("=")
                if name not in once or name in values:
                    return self._read_any(query)
                values[name] = decode(text, name)
            return convert(values, self._declared, strict=False)
        except msgspec.ValidationError:
            return self._read_any(query)
        except FormError as error:
            raise unreadable(error) from None

    def _read_any(self, query: str) -> Q:
        values: dict[str, Any] = {}  # Any: a text or a list of texts
        problems: dict[str, str] = {}
        for name, texts in parse_urlencoded(query).items():
            if name in self._lists:
                values[name] = texts
            elif name in self._once or not self._ignores_unknown:
                values[name] = texts[0]
                if len(texts) > 1 and not self._ignores_unknown:
                    problems[name[:NAME_LENGTH]] = "This can be given once only."
        return read_fields(values, self._declared, problems, strict=False)


S = TypeVar("S", bound=msgspec.Struct)


def read_fields(
    values: dict[str, Any],  # Any: each value is checked against its field's type
    declared: type[S],
    problems: dict[str, str] | None = None,
    *,
    strict: bool = True,
) -> S:
    """Return the struct `declared` with these `values`; unless `strict`, they are texts.

    Raise HttpError 400 that names all invalid fields and the `problems` found before.
    """
    problems = problems or {}
    if not problems:
        try:
            return convert(values, declared, strict=strict)
        except msgspec.ValidationError:
            pass
    types = get_type_hints(declared, include_extras=True)
    unknown = [name for name in values if name not in types]
    for name in unknown[:UNKNOWN_NAMES]:
        problems[name[:NAME_LENGTH]] = (
            f"There is no {name[:NAME_LENGTH]} here. Known: {', '.join(types) or 'none'}."
        )
    for each in msgspec.structs.fields(declared):
        if each.name in values:
            if not _fits(values[each.name], types[each.name], strict):
                problems.setdefault(each.name, _wanted(types[each.name]))
        elif each.required:
            problems[each.name] = "This is missing."
    raise HttpError(400, "invalid", f"Please look at: {', '.join(problems)}.", problems)


def _plain(kind: Any) -> Any:
    """Return a type without the metadata of `Annotated`."""
    return get_args(kind)[0] if hasattr(kind, "__metadata__") else kind


def _fits(value: object, kind: Any, strict: bool) -> bool:
    try:
        convert(value, kind, strict=strict)
    except msgspec.ValidationError:
        return False
    return True


def _wanted(kind: Any) -> str:
    """Return a description of the accepted values of a field."""
    if isinstance(kind, UnionType) or get_origin(kind) is Union:  # a union with UnsetType
        return _wanted(get_args(kind)[0])
    for meta in getattr(kind, "__metadata__", ()):
        if meta.extra and "message" in meta.extra:
            return str(meta.extra["message"])
    if get_origin(_plain(kind)) is Literal:
        return f"This must be one of {', '.join(map(str, get_args(_plain(kind))))}."
    return "This must be a text."
