/* What bloom uses of CPython's stable ABI, so that a module compiles where Python's own headers are
 * not installed, and for platforms whose Python is not here. All of it is in CPython 3.10 and every
 * release since then, and Python documents each name at docs.python.org/3/c-api. The slots and the
 * structure of buffers are part of the stable ABI from 3.11 on, and the same in 3.10.
 * tests/build/sources_test.py compares values, types and places with Python's headers. */
#ifndef PY_PYTHON_H
#define PY_PYTHON_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define SQLITE_BLOOM_IMPORTED __declspec(dllimport) extern
#define PyMODINIT_FUNC __declspec(dllexport) PyObject *
#else
#define SQLITE_BLOOM_IMPORTED extern
#define PyMODINIT_FUNC __attribute__((visibility("default"))) PyObject *
#endif

typedef intptr_t Py_ssize_t;
typedef struct _object PyObject;
typedef struct _typeobject PyTypeObject;
typedef struct _ts PyThreadState;
typedef PyObject *(*PyCFunction)(PyObject *, PyObject *);

struct _object {
    Py_ssize_t ob_refcnt;
    PyTypeObject *ob_type;
};
#define Py_TYPE(object) ((object)->ob_type)

typedef struct {
    void *buf;
    PyObject *obj;
    Py_ssize_t len, itemsize;
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void *internal;
} Py_buffer;

typedef struct {
    const char *ml_name;
    PyCFunction ml_meth;
    int ml_flags;
    const char *ml_doc;
} PyMethodDef;

typedef struct {
    int slot;
    void *pfunc;
} PyType_Slot;

typedef struct {
    const char *name;
    int basicsize, itemsize;
    unsigned flags;
    PyType_Slot *slots;
} PyType_Spec;

typedef struct {
    int slot;
    void *value;
} PyModuleDef_Slot;

typedef struct {
    PyObject ob_base;
    PyObject *(*m_init)(void);
    Py_ssize_t m_index;
    PyObject *m_copy;
} PyModuleDef_Base;
typedef struct {
    PyModuleDef_Base m_base;
    const char *m_name, *m_doc;
    Py_ssize_t m_size;
    PyMethodDef *m_methods;
    PyModuleDef_Slot *m_slots;
    void *m_traverse, *m_clear, *m_free;
} PyModuleDef;
#define PyModuleDef_HEAD_INIT                                                                      \
    { {1, NULL}, NULL, 0, NULL }

/* clang-format off */
enum {
    METH_VARARGS = 1, METH_NOARGS = 4, METH_O = 8, Py_bf_getbuffer = 1, Py_bf_releasebuffer = 2,
    Py_sq_contains = 41, Py_tp_dealloc = 52, Py_tp_free = 74, Py_tp_methods = 64,
    Py_tp_richcompare = 67, Py_mod_exec = 2, Py_EQ = 2, Py_NE = 3,
    PyBUF_WRITABLE = 1, PyBUF_FORMAT = 4, PyBUF_ND = 8, PyBUF_STRIDES = 24,
    Py_TPFLAGS_BASETYPE = 1 << 10, Py_TPFLAGS_DEFAULT = 0
};

/* The functions, F, and the objects, O. An import library for Windows is made of this list. */
#define SQLITE_BLOOM_PYTHON(F, O) \
    F(PyObject *, PyBool_FromLong, (long v)) \
    F(char *, PyByteArray_AsString, (PyObject *o)) F(Py_ssize_t, PyByteArray_Size, (PyObject *o)) \
    F(int, PyBytes_AsStringAndSize, (PyObject *o, char **v, Py_ssize_t *n)) \
    F(void *, PyCapsule_GetPointer, (PyObject *o, const char *name)) \
    F(int, PyErr_CheckSignals, (void)) F(void, PyErr_Clear, (void)) \
    F(void, PyErr_Fetch, (PyObject **t, PyObject **v, PyObject **b)) \
    F(PyObject *, PyErr_Format, (PyObject *e, const char *format, ...)) \
    F(PyObject *, PyErr_NoMemory, (void)) F(PyObject *, PyErr_Occurred, (void)) \
    F(void, PyErr_Restore, (PyObject *t, PyObject *v, PyObject *b)) \
    F(void, PyErr_SetString, (PyObject *e, const char *text)) \
    F(void, PyEval_RestoreThread, (PyThreadState *t)) \
    F(PyThreadState *, PyEval_SaveThread, (void)) \
    F(int, PyArg_ParseTuple, (PyObject *o, const char *format, ...)) \
    F(double, PyFloat_AsDouble, (PyObject *o)) F(PyObject *, PyIter_Next, (PyObject *o)) \
    F(PyObject *, PyImport_AddModule, (const char *name)) \
    F(PyObject *, PyList_GetItem, (PyObject *o, Py_ssize_t i)) \
    F(Py_ssize_t, PyList_Size, (PyObject *o)) \
    F(long long, PyLong_AsLongLongAndOverflow, (PyObject *o, int *overflow)) \
    F(PyObject *, PyMemoryView_FromObject, (PyObject *o)) \
    F(int, PyModule_AddObjectRef, (PyObject *m, const char *name, PyObject *o)) \
    F(PyObject *, PyModuleDef_Init, (PyModuleDef *d)) F(PyObject *, PyNumber_Index, (PyObject *o)) \
    F(int, PyObject_AsReadBuffer, (PyObject *o, const void **v, Py_ssize_t *n)) \
    F(PyObject *, PyObject_CallFunction, (PyObject *o, const char *format, ...)) \
    F(PyObject *, PyObject_CallMethod, (PyObject *o, const char *n, const char *format, ...)) \
    F(PyObject *, PyType_FromSpec, (PyType_Spec *s)) \
    F(void *, PyType_GetSlot, (PyTypeObject *t, int slot)) \
    F(int, PyType_IsSubtype, (PyTypeObject *t, PyTypeObject *of)) \
    F(const char *, PyUnicode_AsUTF8AndSize, (PyObject *o, Py_ssize_t *n)) \
    F(PyObject *, Py_BuildValue, (const char *format, ...)) \
    F(void, Py_DecRef, (PyObject *o)) F(void, Py_IncRef, (PyObject *o)) \
    F(PyObject *, Py_NewRef, (PyObject *o)) \
    O(PyTypeObject, PyBytes_Type) O(PyTypeObject, PyFloat_Type) O(PyTypeObject, PyList_Type) \
    O(PyTypeObject, PyLong_Type) O(PyTypeObject, PyUnicode_Type) \
    O(PyObject *, PyExc_BufferError) O(PyObject *, PyExc_NotImplementedError) \
    O(PyObject *, PyExc_RuntimeError) O(PyObject *, PyExc_ValueError) \
    O(PyObject, _Py_NoneStruct) O(PyObject, _Py_NotImplementedStruct)
/* clang-format on */

#define SQLITE_BLOOM_FUNCTION_OF_PYTHON(type, name, parameters)                                    \
    SQLITE_BLOOM_IMPORTED type name parameters;
#define SQLITE_BLOOM_OBJECT_OF_PYTHON(type, name) SQLITE_BLOOM_IMPORTED type name;
SQLITE_BLOOM_PYTHON(SQLITE_BLOOM_FUNCTION_OF_PYTHON, SQLITE_BLOOM_OBJECT_OF_PYTHON)

#define Py_None (&_Py_NoneStruct)
#define Py_NotImplemented (&_Py_NotImplementedStruct)

#endif
