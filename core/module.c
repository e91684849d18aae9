/* The Python face of the core: commentsvc._core, as commentsvc/_core.pyi describes it.
 *
 * Each method converts its arguments, calls the server, converts the result. Nothing here runs in a
 * worker. A Request object owns its envelope until it is answered or dies, and holds its Server, so
 * that the mailbox of the reply outlives it.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "buffer.h"
#include "render.h"
#include "server.h"

#include <string.h>

struct module_state {
    PyTypeObject *server_type;
    PyTypeObject *request_type;
    PyObject *methods[METHOD_OPTIONS + 1]; /* interned names */
};

typedef struct {
    PyObject_HEAD struct server *server; /* owns */
} ServerObject;

typedef struct {
    PyObject_HEAD struct request *request; /* owns; NULL once answered */
    ServerObject *server;
} RequestObject;

/* ---- Server ---- */

static int64_t milliseconds(double seconds)
{
    return (int64_t)(seconds * 1000 + 0.5);
}

/* What __init__ takes from the operator, before it is checked. */
struct options {
    int workers;
    Py_ssize_t store_bytes;
    int connections;
    int waiting;
    Py_ssize_t body_bytes;
    double seconds[4]; /* keep_alive, head_deadline, body_deadline, handler_deadline */
};

static int read_limits(const struct options *options, struct limits *limits)
{
    int64_t times[4];
    for (int i = 0; i < 4; i++) {
        if (!(options->seconds[i] >= 0.001 && options->seconds[i] <= 86400))
            return PyErr_SetString(PyExc_ValueError, "times must be 0.001 to 86400 seconds"), -1;
        times[i] = milliseconds(options->seconds[i]);
    }
    if (options->workers < 1 || options->workers > LIMIT_WORKERS || options->store_bytes < 0 ||
        options->connections < 1 || options->waiting < 1 || options->body_bytes < 0)
        return PyErr_Format(PyExc_ValueError,
                            "workers must be 1 to %d, connections and waiting at least 1, "
                            "store_bytes and body_bytes at least 0",
                            LIMIT_WORKERS),
               -1;
    *limits = (struct limits){
        .body = (size_t)options->body_bytes,
        .store_bytes = (size_t)options->store_bytes,
        .connections = (uint32_t)options->connections,
        .waiting = (uint32_t)options->waiting,
        .keep_alive = times[0],
        .head_deadline = times[1],
        .body_deadline = times[2],
        .handler_deadline = times[3],
    };
    return 0;
}

static int Server_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"listen",        "workers",          "store_bytes", "connections",
                            "waiting",       "body_bytes",       "keep_alive",  "head_deadline",
                            "body_deadline", "handler_deadline", NULL};
    ServerObject *self = (ServerObject *)object;
    const char *listen;
    struct options options = {1, 64 << 20, 20000, 1024, 256 << 10, {75, 10, 30, 30}};
    double *seconds = options.seconds;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|$iniindddd:Server", names, &listen,
                                     &options.workers, &options.store_bytes, &options.connections,
                                     &options.waiting, &options.body_bytes, &seconds[0],
                                     &seconds[1], &seconds[2], &seconds[3]))
        return -1;
    struct limits limits;
    struct endpoint endpoint;
    if (read_limits(&options, &limits) < 0)
        return -1;
    if (!endpoint_read(&endpoint, listen))
        return PyErr_Format(PyExc_ValueError,
                            "cannot listen on '%s': write HOST:PORT, [IPv6]:PORT or unix:PATH",
                            listen),
               -1;
    if (self->server)
        return PyErr_SetString(PyExc_RuntimeError, "the server is already made"), -1;
    self->server = server_new(&endpoint, (uint32_t)options.workers, &limits);
    return self->server ? 0 : (PyErr_SetFromErrno(PyExc_OSError), -1);
}

static void Server_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    struct server *server = ((ServerObject *)object)->server;
    Py_BEGIN_ALLOW_THREADS server_free(server);
    Py_END_ALLOW_THREADS type->tp_free(object);
    Py_DECREF(type);
}

/* The server of an object whose __init__ has succeeded, else NULL with an exception. */
static struct server *server_of(PyObject *object)
{
    struct server *server = ((ServerObject *)object)->server;
    if (!server)
        PyErr_SetString(PyExc_RuntimeError, "the server is not made");
    return server;
}

static PyObject *Server_address(PyObject *object, void *Py_UNUSED(closure))
{
    struct server *server = server_of(object);
    return server ? PyUnicode_DecodeFSDefault(server->endpoint.text) : NULL;
}

static PyObject *Server_start(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    struct server *server = server_of(object);
    if (!server)
        return NULL;
    if (server->state != SERVER_NEW)
        return PyErr_SetString(PyExc_RuntimeError, "a server starts only once"), NULL;
    if (server_start(server) < 0)
        return PyErr_SetFromErrnoWithFilename(PyExc_OSError, server->endpoint.text);
    Py_RETURN_NONE;
}

static PyObject *Server_fileno(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    struct server *server = server_of(object);
    return server ? PyLong_FromLong(server->requests.event) : NULL;
}

static PyObject *new_request(ServerObject *server, struct request *request)
{
    struct module_state *state = PyType_GetModuleState(Py_TYPE(server));
    PyTypeObject *type = state->request_type;
    RequestObject *self = (RequestObject *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->request = request;
    self->server = (ServerObject *)Py_NewRef((PyObject *)server);
    return (PyObject *)self;
}

static PyObject *Server_drain(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    struct server *server = server_of(object);
    PyObject *list = server ? PyList_New(0) : NULL;
    if (!list)
        return NULL;
    struct request *request = server_drain(server);
    bool failed = false;
    while (request) {
        struct request *next = (struct request *)request->message.next;
        PyObject *item = failed ? NULL : new_request((ServerObject *)object, request);
        /* Once there is no memory the rest is dropped; their clients get 504 at the deadline. */
        if (!item)
            request_free(request);
        failed = !item || PyList_Append(list, item) < 0;
        Py_XDECREF(item);
        request = next;
    }
    if (failed)
        Py_CLEAR(list);
    return list;
}

/* Read `tag`, a str, as a place in the table of purges; false with an exception. */
static bool read_tag(PyObject *tag, uint32_t *place)
{
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(tag, &size);
    if (text)
        *place = purges_place(slice_of(text, (size_t)size));
    return text != NULL;
}

/* Read a sequence of str as places in the table of purges. Their number, or -1. */
static Py_ssize_t read_tags(PyObject *tags, uint32_t places[LIMIT_TAGS])
{
    PyObject *fast = PySequence_Fast(tags, "tags must be a sequence of str");
    if (!fast)
        return -1;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(fast), done = 0;
    if (count > LIMIT_TAGS)
        PyErr_Format(PyExc_ValueError, "an answer has at most %d tags", LIMIT_TAGS);
    else
        while (done < count && read_tag(PySequence_Fast_GET_ITEM(fast, done), &places[done]))
            done++;
    Py_DECREF(fast);
    return done == count ? count : -1;
}

static PyObject *Server_purge(PyObject *object, PyObject *tags)
{
    struct server *server = server_of(object);
    PyObject *fast = server ? PySequence_Fast(tags, "tags must be a sequence of str") : NULL;
    if (!fast)
        return NULL;
    uint32_t place;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(fast), done = 0;
    for (; done < count && read_tag(PySequence_Fast_GET_ITEM(fast, done), &place); done++)
        purges_add(&server->purges, place);
    Py_DECREF(fast);
    if (done < count)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *Server_stop(PyObject *object, PyObject *grace)
{
    struct server *server = server_of(object);
    double seconds = server ? PyFloat_AsDouble(grace) : -1;
    if (PyErr_Occurred())
        return NULL;
    if (!(seconds >= 0 && seconds <= 86400))
        return PyErr_SetString(PyExc_ValueError, "grace must be 0 to 86400 seconds"), NULL;
    server_stop(server, milliseconds(seconds));
    Py_RETURN_NONE;
}

static PyObject *Server_join(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    struct server *server = server_of(object);
    if (!server)
        return NULL;
    if (server->state == SERVER_RUNNING)
        return PyErr_SetString(PyExc_RuntimeError, "call stop before join"), NULL;
    Py_BEGIN_ALLOW_THREADS server_join(server);
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyObject *Server_stats(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    struct server *server = server_of(object);
    if (!server)
        return NULL;
    struct server_stats stats;
    server_read_stats(server, &stats);
    return Py_BuildValue("{sKsKsKsKsKsKsKsKsKsKsKsK}", "requests", stats.requests, "hits",
                         stats.hits, "misses", stats.misses, "refusals", stats.refusals, "accepted",
                         stats.accepted, "connections", stats.connections, "dropped", stats.dropped,
                         "stored", stats.stored, "stored_bytes", stats.stored_bytes, "evictions",
                         stats.evictions, "writes", stats.writes, "waiting", stats.waiting);
}

static PyMethodDef Server_methods[] = {
    {"start", Server_start, METH_NOARGS, NULL}, {"fileno", Server_fileno, METH_NOARGS, NULL},
    {"drain", Server_drain, METH_NOARGS, NULL}, {"purge", Server_purge, METH_O, NULL},
    {"stop", Server_stop, METH_O, NULL},        {"join", Server_join, METH_NOARGS, NULL},
    {"stats", Server_stats, METH_NOARGS, NULL}, {0},
};

static PyGetSetDef Server_getset[] = {{"address", Server_address, NULL, NULL, NULL}, {0}};

static PyType_Slot Server_slots[] = {
    {Py_tp_init, Server_init},     {Py_tp_dealloc, Server_dealloc}, {Py_tp_methods, Server_methods},
    {Py_tp_getset, Server_getset}, {Py_tp_new, PyType_GenericNew},  {0, NULL},
};

static PyType_Spec Server_spec = {
    .name = "commentsvc._core.Server",
    .basicsize = sizeof(ServerObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = Server_slots,
};

/* ---- Request ---- */

/* The envelope of a request not yet answered, else NULL with an exception. */
static struct request *request_of(PyObject *object)
{
    struct request *request = ((RequestObject *)object)->request;
    if (!request)
        PyErr_SetString(PyExc_RuntimeError, "the request is already answered");
    return request;
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

/* The target up to its first "?", or what is behind it: `which` is PATH or QUERY. */
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
    return request ? PyUnicode_FromString(request->peer) : NULL;
}

static PyObject *Request_header(PyObject *object, PyObject *name)
{
    struct request *request = request_of(object);
    if (!request)
        return NULL;
    PyObject *lower = PyObject_CallMethod(name, "lower", NULL);
    Py_ssize_t size;
    const char *text = lower ? PyUnicode_AsUTF8AndSize(lower, &size) : NULL;
    if (!text) {
        Py_XDECREF(lower);
        return NULL;
    }
    struct slice fields = request_fields(request), value;
    struct slice wanted = slice_of(text, (size_t)size);
    PyObject *result = NULL;
    while (parse_next_field(&fields, wanted, &value)) {
        PyObject *next = latin1(value);
        PyObject *joined =
            result && next ? PyUnicode_FromFormat("%U, %U", result, next) : Py_XNewRef(next);
        Py_XDECREF(result);
        Py_XDECREF(next);
        result = joined;
        if (!result)
            break;
    }
    Py_DECREF(lower);
    if (!result && !PyErr_Occurred())
        Py_RETURN_NONE;
    return result;
}

/* Append the line of one (name, value) pair; -1 with an exception. */
static int append_field(struct buffer *lines, PyObject *pair)
{
    const char *name_text, *value_text;
    Py_ssize_t name_size, value_size;
    if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2)
        return PyErr_SetString(PyExc_TypeError, "headers must be pairs of str"), -1;
    if (!(name_text = PyUnicode_AsUTF8AndSize(PyTuple_GET_ITEM(pair, 0), &name_size)) ||
        !(value_text = PyUnicode_AsUTF8AndSize(PyTuple_GET_ITEM(pair, 1), &value_size)))
        return -1;
    struct slice name = slice_of(name_text, (size_t)name_size);
    struct slice value = slice_of(value_text, (size_t)value_size);
    if (!render_may_send(name, value))
        return PyErr_Format(PyExc_ValueError, "the field %R cannot be sent", pair), -1;
    return render_field(lines, name, value) ? 0 : (PyErr_NoMemory(), -1);
}

static int read_fields(PyObject *headers, struct buffer *lines)
{
    PyObject *fast = PySequence_Fast(headers, "headers must be a sequence of pairs of str");
    if (!fast)
        return -1;
    int result = 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast) && result == 0; i++)
        result = append_field(lines, PySequence_Fast_GET_ITEM(fast, i));
    Py_DECREF(fast);
    return result;
}

/* Render the answer and send it; the object then holds no request any more. */
static int answer(RequestObject *self, const struct response *response)
{
    struct reply *reply = reply_new(self->request, response);
    if (!reply)
        return PyErr_NoMemory(), -1;
    server_send(self->server->server, reply);
    request_free(self->request);
    self->request = NULL;
    return 0;
}

static PyObject *Request_respond(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"status", "headers", "body", "tags", NULL};
    int status;
    PyObject *headers, *tags = NULL;
    const char *body;
    Py_ssize_t body_size, tag_count = 0;
    uint32_t places[LIMIT_TAGS];
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "iOy#|O:respond", names, &status, &headers,
                                     &body, &body_size, &tags) ||
        !request_of(object))
        return NULL;
    if (status < 200 || status > 599 || status == 304)
        return PyErr_SetString(PyExc_ValueError, "status must be 200 to 599, and not 304"), NULL;
    if (tags && (tag_count = read_tags(tags, places)) < 0)
        return NULL;
    struct buffer lines;
    buffer_init(&lines);
    int result = read_fields(headers, &lines);
    if (result == 0) {
        const struct response response = {
            .status = status,
            .fields = buffer_slice(&lines),
            .body = slice_of(body, (size_t)body_size),
            .tags = places,
            .tag_count = (size_t)tag_count,
        };
        result = answer((RequestObject *)object, &response);
    }
    buffer_fini(&lines);
    if (result < 0)
        return NULL;
    Py_RETURN_NONE;
}

static void Request_dealloc(PyObject *object)
{
    RequestObject *self = (RequestObject *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->request) {
        const struct response response = {
            .status = 500,
            .fields = SLICE("Content-Type: text/plain; charset=utf-8\r\n"
                            "Access-Control-Allow-Origin: *\r\nCache-Control: no-store\r\n"),
            .body = SLICE("The request was not answered. Try again in a moment.\n"),
        };
        /* Without memory the client gets 504 at its deadline. */
        if (answer(self, &response) < 0)
            PyErr_Clear();
        request_free(self->request);
    }
    Py_XDECREF(self->server);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyMethodDef Request_methods[] = {
    {"header", Request_header, METH_O, NULL},
    {"respond", (PyCFunction)(void (*)(void))Request_respond, METH_VARARGS | METH_KEYWORDS, NULL},
    {0},
};

static PyGetSetDef Request_getset[] = {
    {"method", Request_method, NULL, NULL, NULL}, {"path", Request_target, NULL, NULL, PATH},
    {"query", Request_target, NULL, NULL, QUERY}, {"body", Request_body, NULL, NULL, NULL},
    {"peer", Request_peer, NULL, NULL, NULL},     {0},
};

static PyType_Slot Request_slots[] = {
    {Py_tp_dealloc, Request_dealloc},
    {Py_tp_methods, Request_methods},
    {Py_tp_getset, Request_getset},
    {0, NULL},
};

static PyType_Spec Request_spec = {
    .name = "commentsvc._core.Request",
    .basicsize = sizeof(RequestObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = Request_slots,
};

/* ---- Module ---- */

static int module_exec(PyObject *module)
{
    struct module_state *state = PyModule_GetState(module);
    for (enum method method = METHOD_GET; method <= METHOD_OPTIONS; method++) {
        struct slice name = method_name(method);
        state->methods[method] = PyUnicode_FromStringAndSize(name.data, (Py_ssize_t)name.size);
        if (!state->methods[method])
            return -1;
        PyUnicode_InternInPlace(&state->methods[method]);
    }
    state->server_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &Server_spec, NULL);
    state->request_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &Request_spec, NULL);
    if (!state->server_type || !state->request_type ||
        PyModule_AddType(module, state->server_type) < 0)
        return -1;
    return PyModule_AddType(module, state->request_type);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct module_state *state = PyModule_GetState(module);
    Py_VISIT(state->server_type);
    Py_VISIT(state->request_type);
    return 0;
}

static int module_clear(PyObject *module)
{
    struct module_state *state = PyModule_GetState(module);
    Py_CLEAR(state->server_type);
    Py_CLEAR(state->request_type);
    for (enum method method = METHOD_GET; method <= METHOD_OPTIONS; method++)
        Py_CLEAR(state->methods[method]);
    return 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)(uintptr_t)module_exec},
    {0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,   .m_name = "commentsvc._core",  .m_size = sizeof(struct module_state),
    .m_slots = module_slots, .m_traverse = module_traverse, .m_clear = module_clear,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&module_definition);
}
