/* The Server object; see module.h. */
#include "python/module.h"

#include "http/response.h"
#include "http/scan.h"
#include "server/stats.h"

#include <stdio.h>
#include <unistd.h>

static int64_t milliseconds(double seconds)
{
    return (int64_t)(seconds * 1000 + 0.5);
}

/* The field that makes browsers use TLS in future (RFC 6797 section 6.1). */
static const char HSTS[] = "Strict-Transport-Security";

/* The arguments of __init__, before they are checked. */
struct options {
    int workers;
    Py_ssize_t cache_bytes;
    int connections;
    int waiting;
    int trace_lines;
    int streams;
    Py_ssize_t body_bytes;
    Py_ssize_t client_bytes;
    double seconds[5]; /* keep_alive, head_deadline, body_deadline, handler_deadline, beat */
    int proxy_protocol;
    const char *hsts;
};

static int read_limits(const struct options *options, struct limits *limits)
{
    int64_t times[5];
    for (int i = 0; i < 5; i++) {
        if (!(options->seconds[i] >= 0.001 && options->seconds[i] <= 86400))
            return PyErr_SetString(PyExc_ValueError, "times must be 0.001 to 86400 seconds"), -1;
        times[i] = milliseconds(options->seconds[i]);
    }
    if (options->workers < 1 || options->workers > LIMIT_WORKERS || options->cache_bytes < 0 ||
        options->connections < 1 || options->waiting < 1 || options->trace_lines < 0 ||
        options->streams < 0 || options->body_bytes < 0 || options->client_bytes < 0)
        return PyErr_Format(PyExc_ValueError,
                            "workers must be 1 to %d, connections and waiting at least 1, "
                            "cache_bytes, trace_lines, streams, body_bytes and client_bytes at "
                            "least 0",
                            LIMIT_WORKERS),
               -1;
    *limits = (struct limits){
        .body = (size_t)options->body_bytes,
        .cache_bytes = (size_t)options->cache_bytes,
        .client_bytes = (size_t)options->client_bytes,
        .connections = (uint32_t)options->connections,
        .waiting = (uint32_t)options->waiting,
        .trace_lines = (uint32_t)options->trace_lines,
        .streams = (uint32_t)options->streams,
        .keep_alive = times[0],
        .head_deadline = times[1],
        .body_deadline = times[2],
        .handler_deadline = times[3],
        .heartbeat = times[4],
        .proxy_protocol = options->proxy_protocol,
    };
    struct slice value = slice_of(options->hsts, strlen(options->hsts));
    if (value.size == 0)
        return 0;
    size_t room = sizeof limits->secure_fields;
    int size = snprintf(limits->secure_fields, room, "%s: %s\r\n", HSTS, options->hsts);
    if (size < 0 || (size_t)size >= room || !scan_is_field_value(value))
        return PyErr_SetString(PyExc_ValueError, "hsts is no value of a field, or too long"), -1;
    return 0;
}

/* Read the body of the refusal with this status; false with an exception. */
static bool read_refusal(PyObject *bodies, int status, struct slice *body)
{
    PyObject *key = PyLong_FromLong(status);
    PyObject *value = key ? PyDict_GetItemWithError(bodies, key) : NULL;
    Py_XDECREF(key);
    if (value && PyBytes_Check(value)) {
        *body = slice_of(PyBytes_AsString(value), (size_t)PyBytes_Size(value));
        return true;
    }
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "refusals must have bytes for %d", status);
    return false;
}

/* Read the pages of refusals, if there are any, into `self`; false with an exception. */
static bool read_pages(ServerObject *self, PyObject *type, PyObject *pages)
{
    struct refusals *refusals = &self->refusals;
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(type, &size);
    if (!text)
        return false;
    if (PyDict_Size(pages) == 0)
        return true;
    refusals->page_field = slice_of(text, (size_t)size);
    if (size > LIMIT_REFUSAL_TYPE || !scan_is_field_value(refusals->page_field))
        return PyErr_SetString(PyExc_ValueError, "refusal_page_type is no media type, or too long"),
               false;
    refusals->page_type = slice_of(text, strcspn(text, ";"));
    module_replace(&self->refusal_page_type, Py_NewRef(type));
    module_replace(&self->refusal_pages, PyDict_Copy(pages));
    if (!self->refusal_pages || !read_refusal(self->refusal_pages, 500, &refusals->unanswered_page))
        return false;
    for (size_t i = 0; i < REFUSALS; i++)
        if (!read_refusal(self->refusal_pages, response_refusal_status(i), &refusals->pages[i]))
            return false;
    return true;
}

/* Read the bodies of refusals into `self`, which keeps the objects alive; -1 with an exception. */
static int read_refusals(ServerObject *self, PyObject *type, PyObject *bodies)
{
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(type, &size);
    if (!text)
        return -1;
    struct refusals *refusals = &self->refusals;
    refusals->type = slice_of(text, (size_t)size);
    if (size == 0 || size > LIMIT_REFUSAL_TYPE || !scan_is_field_value(refusals->type))
        return PyErr_SetString(PyExc_ValueError, "refusal_type is no media type, or too long"), -1;
    module_replace(&self->refusal_type, Py_NewRef(type));
    module_replace(&self->refusal_bodies, PyDict_Copy(bodies));
    if (!self->refusal_bodies || !read_refusal(self->refusal_bodies, 500, &refusals->unanswered))
        return -1;
    for (size_t i = 0; i < REFUSALS; i++)
        if (!read_refusal(self->refusal_bodies, response_refusal_status(i), &refusals->bodies[i]))
            return -1;
    return 0;
}

static int Server_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"listen",
                            "workers",
                            "cache_bytes",
                            "connections",
                            "waiting",
                            "trace_lines",
                            "streams",
                            "body_bytes",
                            "client_bytes",
                            "keep_alive",
                            "head_deadline",
                            "body_deadline",
                            "handler_deadline",
                            "heartbeat",
                            "proxy_protocol",
                            "hsts",
                            "refusal_type",
                            "refusals",
                            "refusal_page_type",
                            "refusal_pages",
                            NULL};
    ServerObject *self = (ServerObject *)object;
    const char *listen;
    PyObject *refusal_type, *refusals, *page_type, *pages;
    struct options options;
    double *seconds = options.seconds;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "s$iniiiinndddddpsUO!UO!:Server", names, &listen, &options.workers,
            &options.cache_bytes, &options.connections, &options.waiting, &options.trace_lines,
            &options.streams, &options.body_bytes, &options.client_bytes, &seconds[0], &seconds[1],
            &seconds[2], &seconds[3], &seconds[4], &options.proxy_protocol, &options.hsts,
            &refusal_type, &PyDict_Type, &refusals, &page_type, &PyDict_Type, &pages))
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
    if (read_refusals(self, refusal_type, refusals) < 0 || !read_pages(self, page_type, pages))
        return -1;
    limits.refusals = &self->refusals;
    self->server = server_new(&endpoint, (uint32_t)options.workers, &limits);
    return self->server ? 0 : (PyErr_SetFromErrno(PyExc_OSError), -1);
}

static void Server_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    ServerObject *self = (ServerObject *)object;
    Py_BEGIN_ALLOW_THREADS server_free(self->server);
    Py_END_ALLOW_THREADS Py_XDECREF(self->refusal_type);
    Py_XDECREF(self->refusal_bodies);
    Py_XDECREF(self->refusal_page_type);
    Py_XDECREF(self->refusal_pages);
    Py_XDECREF(self->targets);
    PyObject_Free(object);
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

/* Read a sequence of descriptors into a new array, the caller's to free; NULL with an exception. */
static int *read_descriptors(PyObject *numbers, uint32_t *count)
{
    PyObject *fast = PySequence_Fast(numbers, "descriptors must be a sequence of int");
    if (!fast)
        return NULL;
    Py_ssize_t size = PySequence_Size(fast);
    int *descriptors = PyMem_New(int, (size_t)size + 1); /* so that an empty array is not NULL */
    if (!descriptors)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; descriptors && i < size; i++) {
        PyObject *item = module_item(fast, i); /* NULL once fileno() made the list shorter */
        descriptors[i] = item ? PyObject_AsFileDescriptor(item) : -1;
        if (descriptors[i] < 0) {
            PyMem_Free(descriptors);
            descriptors = NULL;
        }
    }
    Py_DECREF(fast);
    *count = (uint32_t)size;
    return descriptors;
}

/* Read a sequence of (descriptor, note) into a new array, the caller's to free; NULL with an
 * exception. */
static struct handed_over *read_connections(PyObject *pairs, uint32_t *count)
{
    PyObject *fast = PySequence_Fast(pairs, "connections must be a sequence of (int, str)");
    if (!fast)
        return NULL;
    Py_ssize_t size = PySequence_Size(fast);
    struct handed_over *handed_over = PyMem_New(struct handed_over, (size_t)size + 1);
    if (!handed_over)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; handed_over && i < size; i++) {
        const char *note;
        PyObject *pair = module_item(fast, i);
        if (pair && !PyTuple_Check(pair)) {
            PyErr_SetString(PyExc_TypeError, "connections must be pairs of int and str");
        } else if (pair && PyArg_ParseTuple(pair, "is:connection", &handed_over[i].fd, &note)) {
            /* One that is too long is invalid, and stays so when it is cut. */
            snprintf(handed_over[i].note, sizeof handed_over[i].note, "%s", note);
            continue;
        }
        PyMem_Free(handed_over);
        handed_over = NULL;
    }
    Py_DECREF(fast);
    *count = (uint32_t)size;
    return handed_over;
}

static PyObject *start(struct server *server, const struct sockets *sockets)
{
    if (sockets->listener_count > LIMIT_LISTENERS)
        return PyErr_Format(PyExc_ValueError, "there are at most %d listeners", LIMIT_LISTENERS);
    if (server->state != SERVER_NEW)
        return PyErr_SetString(PyExc_RuntimeError, "a server starts only once"), NULL;
    if (server_start(server, sockets) < 0)
        return PyErr_SetFromErrnoWithFilename(PyExc_OSError, server->endpoint.text);
    Py_RETURN_NONE;
}

static PyObject *Server_start(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"listeners", "connections", "borrowed", NULL};
    struct server *server = server_of(object);
    PyObject *listeners = NULL, *connections = NULL, *result = NULL;
    int borrowed = 0;
    if (!server || !PyArg_ParseTupleAndKeywords(args, kwargs, "|OO$p:start", names, &listeners,
                                                &connections, &borrowed))
        return NULL;
    struct sockets sockets = {.borrowed = borrowed};
    int *first = NULL;
    struct handed_over *second = NULL;
    if ((!listeners || (first = read_descriptors(listeners, &sockets.listener_count))) &&
        (!connections || (second = read_connections(connections, &sockets.connection_count)))) {
        sockets.listeners = first;
        sockets.connections = second;
        result = start(server, &sockets);
    }
    PyMem_Free(first);
    PyMem_Free(second);
    return result;
}

static PyObject *Server_set_targets(PyObject *object, PyObject *rules)
{
    struct server *server = server_of(object);
    if (!server)
        return NULL;
    if (server->state != SERVER_NEW)
        return PyErr_SetString(PyExc_RuntimeError, "the server has started"), NULL;
    if (!PyBytes_Check(rules))
        return PyErr_SetString(PyExc_TypeError, "the rules must be bytes"), NULL;
    module_replace(&((ServerObject *)object)->targets, Py_NewRef(rules));
    server->limits.targets = slice_of(PyBytes_AsString(rules), (size_t)PyBytes_Size(rules));
    Py_RETURN_NONE;
}

static PyObject *Server_balance(PyObject *object, PyObject *args)
{
    struct server *server = server_of(object);
    int fd, own, size;
    if (!server || !PyArg_ParseTuple(args, "iii:balance", &fd, &own, &size))
        return NULL;
    if (server->state != SERVER_NEW)
        return PyErr_SetString(PyExc_RuntimeError, "the server has started"), NULL;
    if (own < 0 || size < 0)
        return PyErr_SetString(PyExc_ValueError, "there are no negative slots"), NULL;
    if (server_balance(server, fd, (uint32_t)own, (uint32_t)size) < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    Py_RETURN_NONE;
}

static PyObject *Server_fileno(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    struct server *server = server_of(object);
    return server ? PyLong_FromLong(server->requests.event) : NULL;
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
        PyObject *item = failed ? NULL : request_object((ServerObject *)object, request);
        /* Without memory the rest is dropped; their clients get 504 at the deadline. */
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

bool module_read_tag(PyObject *tag, uint32_t *slot)
{
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(tag, &size);
    if (text)
        *slot = tag_index(slice_of(text, (size_t)size));
    return text != NULL;
}

static PyObject *Server_cork(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    struct server *server = server_of(object);
    if (!server)
        return NULL;
    server_cork(server);
    Py_RETURN_NONE;
}

static PyObject *Server_uncork(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    struct server *server = server_of(object);
    if (!server)
        return NULL;
    server_uncork(server);
    Py_RETURN_NONE;
}

static PyObject *Server_purge(PyObject *object, PyObject *tags)
{
    struct server *server = server_of(object);
    PyObject *fast = server ? PySequence_Fast(tags, "tags must be a sequence of str") : NULL;
    if (!fast)
        return NULL;
    uint32_t slot;
    Py_ssize_t count = PySequence_Size(fast), done = 0;
    for (; done < count && module_read_tag(module_item(fast, done), &slot); done++)
        purge_add(&server->purges, slot);
    Py_DECREF(fast);
    if (done < count)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *Server_purge_all(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    struct server *server = server_of(object);
    if (!server)
        return NULL;
    purge_all(&server->purges);
    Py_RETURN_NONE;
}

static PyObject *Server_set_lease(PyObject *object, PyObject *until)
{
    struct server *server = server_of(object);
    double seconds = server ? PyFloat_AsDouble(until) : -1;
    if (!server || (seconds == -1 && PyErr_Occurred()))
        return NULL;
    if (!(seconds >= 0.001 && seconds <= 1e12))
        return PyErr_SetString(PyExc_ValueError, "a lease ends at 0.001 to 1e12 seconds"), NULL;
    purge_set_lease(&server->purges, (int64_t)(seconds * 1000)); /* rounded down */
    Py_RETURN_NONE;
}

static PyObject *Server_is_followed(PyObject *object, PyObject *tag)
{
    struct server *server = server_of(object);
    uint32_t slot;
    if (!server || !module_read_tag(tag, &slot))
        return NULL;
    return PyBool_FromLong(subscribers_exist(&server->subscribers, slot));
}

static PyObject *Server_publish(PyObject *object, PyObject *args)
{
    struct server *server = server_of(object);
    const char *tag, *data;
    Py_ssize_t tag_size, data_size;
    if (!server || !PyArg_ParseTuple(args, "s#y#:publish", &tag, &tag_size, &data, &data_size))
        return NULL;
    if (data_size < 1 || data_size > LIMIT_EVENT)
        return PyErr_Format(PyExc_ValueError, "an event has 1 to %d bytes", LIMIT_EVENT);
    return PyBool_FromLong(
        server_publish(server, slice_of(tag, (size_t)tag_size), slice_of(data, (size_t)data_size)));
}

static PyObject *Server_stop(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"grace", "for_handover", NULL};
    struct server *server = server_of(object);
    double seconds;
    int for_handover = 0;
    if (!server ||
        !PyArg_ParseTupleAndKeywords(args, kwargs, "d|$p:stop", names, &seconds, &for_handover))
        return NULL;
    if (!(seconds >= 0 && seconds <= 86400))
        return PyErr_SetString(PyExc_ValueError, "grace must be 0 to 86400 seconds"), NULL;
    server_stop(server, milliseconds(seconds), for_handover);
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

/* Append `item`, an object for `fd`, to a list; take both. NULL for either, with an exception. */
static PyObject *append(PyObject *list, PyObject *item, int fd)
{
    if (!item || PyList_Append(list, item) < 0) {
        close(fd);
        Py_CLEAR(list);
    }
    Py_XDECREF(item);
    return list;
}

static PyObject *list_listeners(struct server *server)
{
    PyObject *list = PyList_New(0);
    for (int fd; list && (fd = server_take_listener(server)) >= 0;)
        list = append(list, PyLong_FromLong(fd), fd);
    return list;
}

static PyObject *list_connections(struct server *server)
{
    PyObject *list = PyList_New(0);
    for (struct handed_over handed_over;
         list && (handed_over = server_take_connection(server)).fd >= 0;)
        list =
            append(list, Py_BuildValue("(is)", handed_over.fd, handed_over.note), handed_over.fd);
    return list;
}

static PyObject *Server_release(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    struct server *server = server_of(object);
    if (!server)
        return NULL;
    PyObject *listeners = list_listeners(server);
    PyObject *connections = listeners ? list_connections(server) : NULL;
    PyObject *pair = connections ? PyTuple_Pack(2, listeners, connections) : NULL;
    Py_XDECREF(listeners);
    Py_XDECREF(connections);
    return pair;
}

static PyObject *Server_stats(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    struct server *server = server_of(object);
    if (!server)
        return NULL;
    struct stats sum;
    struct stats_item items[STATS_ITEMS];
    server_stats(server, &sum);
    size_t count = stats_list(&sum, items);
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < count; i++) {
        PyObject *value = PyLong_FromUnsignedLongLong(items[i].value);
        if (!value || PyDict_SetItemString(dict, items[i].name, value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

/* Bytes of the trace read at once: a line of each worker, for the greatest number of workers. */
enum { TRACE_TAKEN = LIMIT_WORKERS * TRACE_LINE };

static PyObject *Server_take_trace(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    struct server *server = server_of(object);
    char *text = server ? PyMem_Malloc(TRACE_TAKEN) : NULL;
    if (!text)
        return server ? PyErr_NoMemory() : NULL;
    /* With the GIL held, so that there is one reader. */
    size_t size = server_read_trace(server, text, TRACE_TAKEN);
    PyObject *bytes = PyBytes_FromStringAndSize(text, (Py_ssize_t)size);
    PyMem_Free(text);
    return bytes;
}

static PyMethodDef Server_methods[] = {
    {"balance", Server_balance, METH_VARARGS, NULL},
    {"start", (PyCFunction)(void (*)(void))Server_start, METH_VARARGS | METH_KEYWORDS, NULL},
    {"set_targets", Server_set_targets, METH_O, NULL},
    {"fileno", Server_fileno, METH_NOARGS, NULL},
    {"drain", Server_drain, METH_NOARGS, NULL},
    {"cork", Server_cork, METH_NOARGS, NULL},
    {"uncork", Server_uncork, METH_NOARGS, NULL},
    {"purge", Server_purge, METH_O, NULL},
    {"purge_all", Server_purge_all, METH_NOARGS, NULL},
    {"set_lease", Server_set_lease, METH_O, NULL},
    {"is_followed", Server_is_followed, METH_O, NULL},
    {"publish", Server_publish, METH_VARARGS, NULL},
    {"stop", (PyCFunction)(void (*)(void))Server_stop, METH_VARARGS | METH_KEYWORDS, NULL},
    {"join", Server_join, METH_NOARGS, NULL},
    {"release", Server_release, METH_NOARGS, NULL},
    {"stats", Server_stats, METH_NOARGS, NULL},
    {"take_trace", Server_take_trace, METH_NOARGS, NULL},
    {0},
};

static PyGetSetDef Server_getset[] = {{"address", Server_address, NULL, NULL, NULL}, {0}};

static PyType_Slot Server_slots[] = {
    {Py_tp_init, Server_init},     {Py_tp_dealloc, Server_dealloc}, {Py_tp_methods, Server_methods},
    {Py_tp_getset, Server_getset}, {Py_tp_new, PyType_GenericNew},  {0, NULL},
};

PyType_Spec server_spec = {
    .name = "commentsvc._core.Server",
    .basicsize = sizeof(ServerObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = Server_slots,
};
