/* The module object; see module.h. */
#include "python/module.h"

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
    state->server_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &server_spec, NULL);
    state->request_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &request_spec, NULL);
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
