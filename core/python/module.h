/* The extension commentsvc._core, documented in commentsvc/_core.pyi.
 *
 * Each method converts its arguments, calls the server and converts the result, in a thread that
 * holds the GIL. A Request object owns its request until it is answered or the object is freed, and
 * holds a reference to its Server, so that the reply's mailbox outlives it. */
#ifndef CORE_PYTHON_MODULE_H
#define CORE_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Headers from 3.13 on have other names, by which 3.11 and 3.12 refuse "#" formats (PEP 384). */
#if PY_VERSION_HEX >= 0x030d0000
PyAPI_FUNC(int) _PyArg_ParseTuple_SizeT(PyObject *, const char *, ...);
PyAPI_FUNC(int)
    _PyArg_ParseTupleAndKeywords_SizeT(PyObject *, PyObject *, const char *, char **, ...);
PyAPI_FUNC(PyObject *) _Py_BuildValue_SizeT(const char *, ...);
#define PyArg_ParseTuple _PyArg_ParseTuple_SizeT
#define PyArg_ParseTupleAndKeywords _PyArg_ParseTupleAndKeywords_SizeT
#define Py_BuildValue _Py_BuildValue_SizeT
#endif

#include "server/server.h"

#include <stdbool.h>
#include <stdint.h>

struct module_state {
    PyTypeObject *server_type;
    PyTypeObject *request_type;
    PyObject *methods[METHOD_OPTIONS + 1]; /* interned names */
};

typedef struct {
    PyObject_HEAD struct server *server; /* owns */
    struct refusals refusals;            /* borrows from the next two */
    PyObject *refusal_type;              /* str */
    PyObject *refusal_bodies;            /* of int to bytes; a private copy */
    PyObject *refusal_page_type;         /* a str, or NULL */
    PyObject *refusal_pages;             /* the same; NULL: none */
    PyObject *targets;                   /* bytes, from which the server's limits borrow */
} ServerObject;

/* Read `tag`, a str, as its index in the table of purges; false with an exception. */
bool module_read_tag(PyObject *tag, uint32_t *slot);

/* Item `i` of what PySequence_Fast returned; borrowed. NULL with an exception if there is none. */
static inline PyObject *module_item(PyObject *fast, Py_ssize_t i)
{
    return PyList_Check(fast) ? PyList_GetItem(fast, i) : PyTuple_GetItem(fast, i);
}

/* Let `*slot` own `value`, and release what it had. */
static inline void module_replace(PyObject **slot, PyObject *value)
{
    PyObject *old = *slot;
    *slot = value;
    Py_XDECREF(old);
}

/* The types of both objects. */
extern PyType_Spec server_spec;
extern PyType_Spec request_spec;

/* Make a Request object, which takes `request`; NULL with an exception, and then it takes nothing.
 */
PyObject *request_object(ServerObject *server, struct request *request);

#endif
