/* The Request object; see module.h. */
#include "python/module.h"

#include "base/buffer.h"
#include "bridge/piece.h"
#include "http/response.h"

#include <string.h>

typedef struct {
    PyObject_HEAD struct request *request; /* owns; NULL once answered */
    ServerObject *server;
} RequestObject;

PyObject *request_object(ServerObject *server, struct request *request)
{
    struct module_state *state = PyType_GetModuleState(Py_TYPE((PyObject *)server));
    PyTypeObject *type = state->request_type;
    RequestObject *self = (RequestObject *)PyType_GenericAlloc(type, 0);
    if (!self)
        return NULL;
    self->request = request;
    self->server = (ServerObject *)Py_NewRef((PyObject *)server);
    return (PyObject *)self;
}

/* The message of a request not yet answered, else NULL with an exception. */
static struct request *request_of(PyObject *object)
{
    struct request *request = ((RequestObject *)object)->request;
    if (!request)
        PyErr_SetString(PyExc_RuntimeError, "the request is already answered");
    return request;
}

/* The same of a request whose answer has begun, or has not. */
static struct request *request_that(PyObject *object, bool has_begun)
{
    struct request *request = request_of(object);
    if (!request || request->begun == has_begun)
        return request;
    PyErr_SetString(PyExc_RuntimeError,
                    has_begun ? "the answer has not begun" : "the answer has begun");
    return NULL;
}

static PyObject *latin1(struct slice text)
{
    return PyUnicode_DecodeLatin1(text.data, (Py_ssize_t)text.size, NULL);
}

static PyObject *Request_method(PyObject *object, void *Py_UNUSED(closure))
{
    struct request *request = request_of(object);
    if (!request)
        return NULL;
    struct module_state *state = PyType_GetModuleState(Py_TYPE(object));
    return Py_NewRef(state->methods[request->method]);
}

/* The target before its first "?", or after it: `which` is PATH or QUERY. */
#define PATH ((void *)0)
#define QUERY ((void *)1)

static PyObject *Request_target(PyObject *object, void *which)
{
    struct request *request = request_of(object);
    if (!request)
        return NULL;
    struct slice target = request_target(request);
    const char *mark = memchr(target.data, '?', target.size);
    size_t size = mark ? (size_t)(mark - target.data) : target.size;
    if (which == PATH)
        return latin1(slice_of(target.data, size));
    return mark ? latin1(slice_of(mark + 1, target.size - size - 1)) : latin1(SLICE(""));
}

static PyObject *Request_body(PyObject *object, void *Py_UNUSED(closure))
{
    struct request *request = request_of(object);
    if (!request)
        return NULL;
    struct slice body = request_body(request);
    return PyBytes_FromStringAndSize(body.data, (Py_ssize_t)body.size);
}

static PyObject *Request_peer(PyObject *object, void *Py_UNUSED(closure))
{
    struct request *request = request_of(object);
    return request ? PyUnicode_FromString(request->peer.address) : NULL;
}

static PyObject *Request_client(PyObject *object, void *Py_UNUSED(closure))
{
    struct request *request = request_of(object);
    if (!request)
        return NULL;
    if (!request->peer.proxied)
        Py_RETURN_NONE;
    return PyUnicode_FromString(request->peer.client);
}

static PyObject *Request_number(PyObject *object, void *Py_UNUSED(closure))
{
    struct request *request = request_of(object);
    return request ? PyLong_FromUnsignedLongLong(request->number) : NULL;
}

static PyObject *Request_left(PyObject *object, void *Py_UNUSED(closure))
{
    struct request *request = request_of(object);
    return request ? PyBool_FromLong(request->left) : NULL;
}

static PyObject *Request_header(PyObject *object, PyObject *name)
{
    struct request *request = request_of(object);
    if (!request)
        return NULL;
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(name, &size);
    if (!text)
        return NULL;
    struct slice fields = request_fields(request), value;
    struct slice wanted = slice_of(text, (size_t)size);
    PyObject *result = NULL;
    while (head_next_field(&fields, wanted, &value)) {
        PyObject *next = latin1(value);
        PyObject *joined =
            result && next ? PyUnicode_FromFormat("%U, %U", result, next) : Py_XNewRef(next);
        Py_XDECREF(result);
        Py_XDECREF(next);
        result = joined;
        if (!result)
            break;
    }
    if (!result && !PyErr_Occurred())
        Py_RETURN_NONE;
    return result;
}

/* Read a sequence of str as indexes in the table of purges. Return their number, or -1. */
static Py_ssize_t read_tags(PyObject *tags, uint32_t slots[LIMIT_TAGS])
{
    PyObject *fast = PySequence_Fast(tags, "tags must be a sequence of str");
    if (!fast)
        return -1;
    Py_ssize_t count = PySequence_Size(fast), done = 0;
    if (count > LIMIT_TAGS)
        PyErr_Format(PyExc_ValueError, "an answer has at most %d tags", LIMIT_TAGS);
    else
        while (done < count && module_read_tag(module_item(fast, done), &slots[done]))
            done++;
    Py_DECREF(fast);
    return done == count ? count : -1;
}

/* Append the line of one (name, value) pair; -1 with an exception. */
static int append_field(struct buffer *lines, PyObject *pair)
{
    const char *name_text, *value_text;
    Py_ssize_t name_size, value_size;
    if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2)
        return PyErr_SetString(PyExc_TypeError, "headers must be pairs of str"), -1;
    if (!(name_text = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(pair, 0), &name_size)) ||
        !(value_text = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(pair, 1), &value_size)))
        return -1;
    struct slice name = slice_of(name_text, (size_t)name_size);
    struct slice value = slice_of(value_text, (size_t)value_size);
    if (!response_may_send(name, value))
        return PyErr_Format(PyExc_ValueError, "the field %R cannot be sent", pair), -1;
    return response_append_field(lines, name, value) ? 0 : (PyErr_NoMemory(), -1);
}

static int read_fields(PyObject *headers, struct buffer *lines)
{
    PyObject *fast = PySequence_Fast(headers, "headers must be a sequence of pairs of str");
    if (!fast)
        return -1;
    int result = 0;
    for (Py_ssize_t i = 0; i < PySequence_Size(fast) && result == 0; i++)
        result = append_field(lines, module_item(fast, i));
    Py_DECREF(fast);
    return result;
}

/* Render the response and send it; then the object has no request any more. 1, or 0 if the limit of
 * streams is reached, or -1 with an exception. */
static int answer(RequestObject *self, const struct response *response)
{
    struct reply *reply = reply_new(self->request, response);
    if (!reply)
        return PyErr_NoMemory(), -1;
    bool begins = reply->kind == REPLY_BEGINNING;
    if (begins)
        reply->request = self->request;
    if (!server_send(self->server->server, reply))
        return reply_free(reply), 0;
    if (!begins)
        request_free(self->request);
    self->request = NULL;
    return 1;
}

/* The same, with these headers. */
static int answer_with(RequestObject *self, PyObject *headers, struct response *response)
{
    struct buffer lines;
    buffer_init(&lines);
    int result = read_fields(headers, &lines);
    response->fields = buffer_slice(&lines);
    if (result == 0)
        result = answer(self, response);
    buffer_fini(&lines);
    return result;
}

static PyObject *Request_respond(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"status", "headers", "body", "tags", "gzip", "brotli", NULL};
    int status;
    PyObject *headers, *tags = NULL;
    const char *body, *gzip = NULL, *brotli = NULL;
    Py_ssize_t body_size, gzip_size = 0, brotli_size = 0, tag_count = 0;
    uint32_t slots[LIMIT_TAGS];
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "iOy#|Oy#y#:respond", names, &status, &headers,
                                     &body, &body_size, &tags, &gzip, &gzip_size, &brotli,
                                     &brotli_size) ||
        !request_that(object, false))
        return NULL;
    if (status < 200 || status > 599 || status == 304)
        return PyErr_SetString(PyExc_ValueError, "status must be 200 to 599, and not 304"), NULL;
    if (tags && (tag_count = read_tags(tags, slots)) < 0)
        return NULL;
    struct response response = {
        .status = status,
        .body = slice_of(body, (size_t)body_size),
        .gzip = slice_of(gzip, (size_t)gzip_size),
        .brotli = slice_of(brotli, (size_t)brotli_size),
        .tags = slots,
        .tag_count = (size_t)tag_count,
    };
    if (answer_with((RequestObject *)object, headers, &response) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *Request_stream(PyObject *object, PyObject *args)
{
    PyObject *headers;
    const char *body, *tag;
    Py_ssize_t body_size, tag_size;
    unsigned int group = 0, group_limit = 0;
    if (!PyArg_ParseTuple(args, "Oy#s#|II:stream", &headers, &body, &body_size, &tag, &tag_size,
                          &group, &group_limit) ||
        !request_that(object, false))
        return NULL;
    if (tag_size == 0)
        return PyErr_SetString(PyExc_ValueError, "a stream follows a tag"), NULL;
    struct response response = {
        .status = 200,
        .body = slice_of(body, (size_t)body_size),
        .follows = slice_of(tag, (size_t)tag_size),
        .group = group,
        .group_limit = group_limit,
    };
    int result = answer_with((RequestObject *)object, headers, &response);
    return result < 0 ? NULL : PyBool_FromLong(result);
}

/* Send a piece, and give the request away with it. 0, or -1 without memory. */
static int send_piece(RequestObject *self, struct slice data, enum piece_kind kind)
{
    struct reply *piece = piece_new(self->request, data, kind);
    if (!piece)
        return -1;
    self->request = NULL;
    (void)server_send(self->server->server, piece);
    return 0;
}

static PyObject *Request_begin(PyObject *object, PyObject *args)
{
    int status;
    PyObject *headers;
    const char *body;
    Py_ssize_t body_size;
    unsigned long long number;
    if (!PyArg_ParseTuple(args, "iOy#K:begin", &status, &headers, &body, &body_size, &number))
        return NULL;
    struct request *request = request_that(object, false);
    if (!request)
        return NULL;
    if (status < 200 || status > 599 || status == 204 || status == 304)
        return PyErr_SetString(PyExc_ValueError, "status must be 200 to 599, and have a body"),
               NULL;
    if (body_size > LIMIT_PIECE)
        return PyErr_Format(PyExc_ValueError, "a piece has at most %d bytes", LIMIT_PIECE), NULL;
    struct response response = {
        .status = status,
        .body = slice_of(body, (size_t)body_size),
        .in_pieces = true,
    };
    bool wants_more = request->method != METHOD_HEAD;
    if (wants_more)
        request_begin(request, number);
    if (answer_with((RequestObject *)object, headers, &response) < 0)
        return request->begun = false, NULL;
    return PyBool_FromLong(wants_more);
}

static PyObject *read_piece(PyObject *object, PyObject *args, enum piece_kind kind)
{
    const char *data = "";
    Py_ssize_t size = 0;
    if (!PyArg_ParseTuple(args, kind == PIECE_MORE ? "y#:send" : "|y#:end", &data, &size) ||
        !request_that(object, true))
        return NULL;
    if (size > LIMIT_PIECE || (size == 0 && kind == PIECE_MORE))
        return PyErr_Format(PyExc_ValueError, "a piece has 1 to %d bytes", LIMIT_PIECE), NULL;
    if (send_piece((RequestObject *)object, slice_of(data, (size_t)size), kind) < 0)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *Request_send(PyObject *object, PyObject *args)
{
    return read_piece(object, args, PIECE_MORE);
}

static PyObject *Request_end(PyObject *object, PyObject *args)
{
    return read_piece(object, args, PIECE_LAST);
}

/* Answer with 500. Without memory the client gets 504 at its deadline. */
static void answer_unanswered(RequestObject *self)
{
    const struct refusals *refusals = &self->server->refusals;
    bool is_page = response_refuses_with_page(refusals, request_fields(self->request));
    struct response response = {
        .status = 500,
        .body = is_page ? refusals->unanswered_page : refusals->unanswered,
    };
    struct buffer lines;
    buffer_init(&lines);
    if (response_append_field(&lines, SLICE("Content-Type"),
                              is_page ? refusals->page_field : refusals->type) &&
        response_append_field(&lines, SLICE("Access-Control-Allow-Origin"), SLICE("*")) &&
        response_append_field(&lines, SLICE("Cache-Control"), SLICE("no-store"))) {
        response.fields = buffer_slice(&lines);
        if (answer(self, &response) < 0)
            PyErr_Clear();
    }
    buffer_fini(&lines);
}

static void Request_dealloc(PyObject *object)
{
    RequestObject *self = (RequestObject *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->request && self->request->begun)
        (void)send_piece(self, SLICE(""), PIECE_ABORT);
    else if (self->request)
        answer_unanswered(self);
    request_free(self->request);
    Py_XDECREF((PyObject *)self->server);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef Request_methods[] = {
    {"header", Request_header, METH_O, NULL},
    {"respond", (PyCFunction)(void (*)(void))Request_respond, METH_VARARGS | METH_KEYWORDS, NULL},
    {"begin", Request_begin, METH_VARARGS, NULL},
    {"send", Request_send, METH_VARARGS, NULL},
    {"end", Request_end, METH_VARARGS, NULL},
    {"stream", Request_stream, METH_VARARGS, NULL},
    {0},
};

static PyGetSetDef Request_getset[] = {
    {"method", Request_method, NULL, NULL, NULL},
    {"path", Request_target, NULL, NULL, PATH},
    {"query", Request_target, NULL, NULL, QUERY},
    {"body", Request_body, NULL, NULL, NULL},
    {"peer", Request_peer, NULL, NULL, NULL},
    {"client", Request_client, NULL, NULL, NULL},
    {"number", Request_number, NULL, NULL, NULL},
    {"left", Request_left, NULL, NULL, NULL},
    {0},
};

static PyType_Slot Request_slots[] = {
    {Py_tp_dealloc, Request_dealloc},
    {Py_tp_methods, Request_methods},
    {Py_tp_getset, Request_getset},
    {0, NULL},
};

PyType_Spec request_spec = {
    .name = "commentsvc._core.Request",
    .basicsize = sizeof(RequestObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = Request_slots,
};
