/* The module sqlite_bloom._filter: a filter in memory as a class of Python, on the filter library.
 * _filters.py, which has the names that users see, derives from it. A filter that threads can share
 * changes with the GIL only, and bytes of others are copied before they would change. columns.c
 * reads keys. */
#include "filter.h"

#include <string.h>

int raise_problem(const char *name, int status, const char *problem) {
    const char *text = problem;
    if (strncmp(text, "sqlite_bloom_", 13) == 0) /* the function of the library */
        text = strstr(text, ": ") + 2;
    if (strncmp(text, "the key is a filter", 19) == 0)
        text = FILTER_AS_KEY; /* instead of the name of a C function */
    const bool is_rate = strncmp(text, "p is ", 5) == 0;
    if (status == SQLITE_BLOOM_NO_MEMORY)
        PyErr_NoMemory();
    else
        PyErr_Format(PyExc_ValueError, "%s: %s%s", name, is_rate ? "fpr" : "", text + is_rate);
    return -1;
}

static void filter_release(PyObject *object) {
    struct filter *self = (struct filter *)object;
    PyTypeObject *type = Py_TYPE(object);
    void (*release)(void *);
    *(void **)&release = PyType_GetSlot(type, Py_tp_free);
    sqlite_bloom_filter_close(self->filter);
    sqlite_bloom_filter_close(self->before);
    Py_DecRef(self->owner);
    release(object);
    Py_DecRef((PyObject *)type);
}

/* The filter of an object, or NULL after raising. A class below has an __init__ of its own. */
static struct sqlite_bloom_filter *filter_of(PyObject *self) {
    struct sqlite_bloom_filter *filter = ((struct filter *)self)->filter;
    if (filter == NULL)
        PyErr_SetString(PyExc_ValueError, "sqlite_bloom.Filter: it was not made. Call"
                                          " super().__init__(capacity) first");
    return filter;
}

/* Fills a new object with what a function of the library has made. Returns None. */
static PyObject *fill(PyObject *self, const char *name, int status,
                      struct sqlite_bloom_filter *made, const char *problem) {
    if (status != SQLITE_BLOOM_OK) {
        raise_problem(name, status, problem);
        return NULL;
    }
    ((struct filter *)self)->filter = made;
    return Py_NewRef(Py_None);
}

static bool is_made(PyObject *self) {
    if (((struct filter *)self)->filter != NULL)
        PyErr_SetString(PyExc_ValueError,
                        "sqlite_bloom.Filter: it was made before. Make another one");
    return ((struct filter *)self)->filter != NULL;
}

/* _new(name, capacity or the text of a list, p, options) */
static PyObject *filter_new(PyObject *self, PyObject *arguments) {
    const char *name, *options;
    PyObject *source;
    double p;
    int status;
    struct sqlite_bloom_key key;
    struct sqlite_bloom_filter *made;
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    if (is_made(self) || !PyArg_ParseTuple(arguments, "sOdz", &name, &source, &p, &options))
        return NULL;
    if (!key_of_type(source, Py_TYPE(source), &key))
        return NULL;
    if (key.type == SQLITE_BLOOM_INTEGER)
        status =
            sqlite_bloom_filter_new(&made, (uint64_t)key.value.integer, p, options, NULL, problem);
    else
        status = sqlite_bloom_filter_from_list(&made, key.value.bytes, key.length, p, options, NULL,
                                               problem);
    return fill(self, name, status, made, problem);
}

/* _open(bytes): reads them in place. */
static PyObject *filter_open(PyObject *self, PyObject *bytes) {
    const void *data;
    size_t length;
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    PyObject *owner, *result = NULL;
    struct sqlite_bloom_filter *made;
    if (is_made(self))
        return NULL;
    if (read_buffer(bytes, &owner, &data, &length) == 0) {
        int status = sqlite_bloom_filter_open(&made, data, length, NULL, problem);
        result = fill(self, "sqlite_bloom.Filter", status, made, problem);
    }
    if (result != NULL)
        ((struct filter *)self)->owner = owner;
    else
        Py_DecRef(owner);
    return result;
}

/* Before the first change: makes the bytes its own. Those of the owner stay as long as they are in
 * use. */
static int filter_own(struct filter *self, const char *name) {
    struct sqlite_bloom_filter *own;
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    PyObject *owner = self->owner;
    if (self->filter != NULL && (owner == NULL || self->before != NULL))
        return 0;
    if (filter_of((PyObject *)self) == NULL)
        return -1;
    int status = sqlite_bloom_filter_copy(&own, self->filter, NULL, problem);
    if (status != SQLITE_BLOOM_OK)
        return raise_problem(name, status, problem);
    if (self->uses > 0) {
        self->before = self->filter;
    } else {
        sqlite_bloom_filter_close(self->filter);
        self->owner = NULL;
        Py_DecRef(owner);
    }
    self->filter = own;
    return 0;
}

static int filter_contains(PyObject *self, PyObject *object) {
    struct sqlite_bloom_key key;
    int found = key_of(object, &key, "sqlite_bloom.Filter", 0);
    if (found <= 0)
        return found;
    const struct sqlite_bloom_filter *filter = filter_of(self);
    found = filter != NULL ? sqlite_bloom_filter_check(filter, key) : -1;
    if (found == SQLITE_BLOOM_REFUSED)
        return raise_problem("sqlite_bloom.Filter", found, FILTER_AS_KEY);
    if (found == SQLITE_BLOOM_NO_MEMORY && filter != NULL)
        return raise_problem("", found, "");
    return found == SQLITE_BLOOM_NO_KEY ? 0 : found;
}

typedef int change_function(struct sqlite_bloom_filter *, struct sqlite_bloom_key, char *);

static PyObject *filter_change(PyObject *object, PyObject *changed, const char *name,
                               change_function *change) {
    struct filter *self = (struct filter *)object;
    struct sqlite_bloom_key key;
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    int status = key_of(changed, &key, name, 0);
    if (status > 0) {
        if (filter_own(self, name) != 0)
            return NULL;
        status = change(self->filter, key, problem);
        if (status != SQLITE_BLOOM_OK)
            raise_problem(name, status, problem);
    }
    return status == 0 ? Py_NewRef(Py_None) : NULL;
}

/* Most adds go the first way, without the calls of the others. */
static PyObject *filter_add(PyObject *object, PyObject *added) {
    static const char NAME[] = "sqlite_bloom.Filter.add";
    struct filter *self = (struct filter *)object;
    struct sqlite_bloom_key key;
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    if (self->owner != NULL || self->filter == NULL || !key_of_type(added, Py_TYPE(added), &key)) {
        PyErr_Clear(); /* the key is read again */
        return filter_change(object, added, NAME, sqlite_bloom_filter_add);
    }
    const int status = sqlite_bloom_filter_add(self->filter, key, problem);
    if (status == SQLITE_BLOOM_OK)
        return Py_NewRef(Py_None);
    raise_problem(NAME, status, problem);
    return NULL;
}

/* _remove(key, name) */
static PyObject *filter_remove(PyObject *self, PyObject *arguments) {
    PyObject *key;
    const char *name;
    return PyArg_ParseTuple(arguments, "Os", &key, &name)
               ? filter_change(self, key, name, sqlite_bloom_filter_remove)
               : NULL;
}

static const void *bytes_of(PyObject *self, size_t *length) {
    return sqlite_bloom_filter_bytes(((struct filter *)self)->filter, length);
}

/* The bytes can be read. They change with the filter. */
static int filter_get_buffer(PyObject *self, Py_buffer *view, int flags) {
    size_t length;
    view->obj = NULL;
    if (filter_of(self) == NULL)
        return -1;
    if (flags & PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError,
                        "sqlite_bloom.Filter: its bytes can only be read. Change it with add");
        return -1;
    }
    view->buf = (void *)(uintptr_t)bytes_of(self, &length);
    view->len = (Py_ssize_t)length;
    view->itemsize = view->readonly = view->ndim = 1;
    view->format = flags & PyBUF_FORMAT ? "B" : NULL;
    view->shape = flags & PyBUF_ND ? &view->len : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &view->itemsize : NULL;
    view->suboffsets = NULL;
    view->internal = NULL;
    view->obj = Py_NewRef(self);
    ((struct filter *)self)->uses++;
    return 0;
}

static void filter_release_buffer(PyObject *self, Py_buffer *view) {
    (void)view;
    ((struct filter *)self)->uses--;
}

/* Filters of Python classes below inherit the function. */
static bool is_filter(PyObject *object) {
    int (*get_buffer)(PyObject *, Py_buffer *, int);
    *(void **)&get_buffer = PyType_GetSlot(Py_TYPE(object), Py_bf_getbuffer);
    return get_buffer == filter_get_buffer;
}

static PyObject *filter_compare(PyObject *self, PyObject *other, int operation) {
    size_t length, length_of_other;
    if ((operation != Py_EQ && operation != Py_NE) || !is_filter(other))
        return Py_NewRef(Py_NotImplemented);
    if (filter_of(self) == NULL || filter_of(other) == NULL)
        return NULL;
    const void *bytes = bytes_of(self, &length), *others = bytes_of(other, &length_of_other);
    bool equal = length == length_of_other && memcmp(bytes, others, length) == 0;
    return PyBool_FromLong(equal == (operation == Py_EQ));
}

/* _merge(into, other, way): the union with another filter, the intersection or a copy, into a new
 * object or into itself. What is in use there keeps its place, so it must keep its length, too. */
static PyObject *filter_merge(PyObject *object, PyObject *arguments) {
    struct filter *self = (struct filter *)object;
    PyObject *result, *other;
    const char *way;
    struct sqlite_bloom_filter *made;
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    size_t length, needed;
    if (!PyArg_ParseTuple(arguments, "OOs", &result, &other, &way))
        return NULL;
    if (!is_filter(result) || !is_filter(other))
        return Py_NewRef(Py_NotImplemented);
    struct filter *into = (struct filter *)result;
    if (filter_of(object) == NULL || filter_of(other) == NULL ||
        (into == self ? filter_own(self, "sqlite_bloom.Filter") != 0 : is_made(result)))
        return NULL;
    const struct sqlite_bloom_filter *both[] = {self->filter, ((struct filter *)other)->filter};
    int status = way[0] == '|'   ? sqlite_bloom_filter_union(&made, both, 2, NULL, problem)
                 : way[0] == '&' ? sqlite_bloom_filter_intersect(&made, both, 2, NULL, problem)
                                 : sqlite_bloom_filter_copy(&made, both[0], NULL, problem);
    if (status != SQLITE_BLOOM_OK) {
        raise_problem("sqlite_bloom.Filter", status, problem);
        result = NULL;
    } else if (into->uses == 0) {
        sqlite_bloom_filter_close(into->filter);
        into->filter = made;
    } else {
        void *bytes = (void *)(uintptr_t)sqlite_bloom_filter_bytes(into->filter, &length);
        const void *merged = sqlite_bloom_filter_bytes(made, &needed);
        if (length == needed)
            memcpy(bytes, merged, length);
        else
            PyErr_SetString(PyExc_BufferError, "sqlite_bloom.Filter: its bytes are in use and"
                                               " cannot change their length. Write f = f | g");
        result = length == needed ? result : NULL;
        sqlite_bloom_filter_close(made);
    }
    Py_IncRef(result);
    return result;
}

/* _describe(): layout, key rule, whether salted, capacity, fpr, how many bytes it owns */
static PyObject *filter_describe(PyObject *object, PyObject *nothing) {
    struct sqlite_bloom_description is;
    size_t length;
    const struct filter *self = (const struct filter *)object;
    (void)nothing;
    if (filter_of(object) == NULL)
        return NULL;
    sqlite_bloom_filter_describe(self->filter, &is);
    sqlite_bloom_filter_bytes(self->filter, &length);
    return Py_BuildValue("ssiKdn", is.layout, is.key_rule, is.salted,
                         (unsigned long long)is.capacity, is.fpr,
                         self->owner == NULL || self->before != NULL ? (Py_ssize_t)length : 0);
}

/* _estimate(): the number of keys, and the rate of now */
static PyObject *filter_estimate(PyObject *self, PyObject *nothing) {
    struct sqlite_bloom_estimate is;
    (void)nothing;
    if (filter_of(self) == NULL)
        return NULL;
    sqlite_bloom_filter_estimate(((struct filter *)self)->filter, &is);
    return Py_BuildValue("dd", is.count, is.fpr_now);
}

/* _count(key): how often it was added, or None for NaN and NA. */
static PyObject *filter_count(PyObject *self, PyObject *object) {
    struct sqlite_bloom_key key;
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    int times = key_of(object, &key, "sqlite_bloom.Filter.count", 0);
    if (times < 0 || filter_of(self) == NULL)
        return NULL;
    if (times == 0)
        return Py_NewRef(Py_None);
    times = sqlite_bloom_filter_count(((struct filter *)self)->filter, key, problem);
    if (times >= 0 || times == SQLITE_BLOOM_NO_KEY) /* what its key rule has no key for is not in */
        return Py_BuildValue("i", times > 0 ? times : 0);
    raise_problem("sqlite_bloom.Filter.count", times, problem);
    return NULL;
}

/* The first arguments of what reads a column. */
#define SOURCE_OF(work) &(work).source, &(work).kind, &(work).name

/* _use(source, kind, name, progress, shared, answers): adds the keys of a column, or checks them if
 * answers are a bytearray. In it a byte for each value that is a key becomes 0 or 1. Returns the
 * number of keys. */
static PyObject *filter_use(PyObject *object, PyObject *arguments) {
    struct filter *self = (struct filter *)object;
    struct work work = {.shared = 1};
    PyObject *answers;
    if (!PyArg_ParseTuple(arguments, "OzsOpO", SOURCE_OF(work), &work.progress, &work.shared,
                          &answers))
        return NULL;
    if (answers == Py_None ? filter_own(self, work.name) != 0 : filter_of(object) == NULL)
        return NULL;
    if (answers != Py_None) {
        work.answers = (unsigned char *)PyByteArray_AsString(answers);
        work.room = (size_t)PyByteArray_Size(answers);
    }
    work.filter = self->filter;
    self->uses++;
    int result = read_source(&work);
    self->uses--;
    return result == 0 ? Py_BuildValue("K", (unsigned long long)work.done) : NULL;
}

/* _build(source, kind, name, progress, p, options): the number of keys. Without one, nothing
 * is made. */
static PyObject *filter_build(PyObject *self, PyObject *arguments) {
    struct work work = {.shared = 0};
    PyObject *result = NULL;
    const char *options;
    struct sqlite_bloom_filter *made = NULL;
    double p;
    if (is_made(self) ||
        !PyArg_ParseTuple(arguments, "OzsOdz", SOURCE_OF(work), &work.progress, &p, &options))
        return NULL;
    int status = sqlite_bloom_builder_open(&work.builder, p, options, NULL, work.problem);
    if (status != SQLITE_BLOOM_OK || read_source(&work) == 0) {
        PyThreadState *state = PyEval_SaveThread();
        if (work.done > 0)
            status = sqlite_bloom_builder_finish(work.builder, &made, work.problem);
        PyEval_RestoreThread(state);
        result = fill(self, work.name, status, made, work.problem);
    }
    sqlite_bloom_builder_close(work.builder);
    if (result == NULL)
        return NULL;
    Py_DecRef(result);
    return Py_BuildValue("K", (unsigned long long)work.done);
}

static PyMethodDef methods[] = {
    {"add", filter_add, METH_O,
     "add(key): adds a key: a str, bytes, int or float. None and NaN are not keys."},
    {"_remove", filter_remove, METH_VARARGS, ""},
    {"_merge", filter_merge, METH_VARARGS, ""},
    {"_new", filter_new, METH_VARARGS, ""},
    {"_open", filter_open, METH_O, ""},
    {"_build", filter_build, METH_VARARGS, ""},
    {"_use", filter_use, METH_VARARGS, ""},
    {"_describe", filter_describe, METH_NOARGS, ""},
    {"_estimate", filter_estimate, METH_NOARGS, ""},
    {"_count", filter_count, METH_O, ""},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_dealloc, (void *)(uintptr_t)filter_release},
                              {Py_tp_methods, methods},
                              {Py_tp_richcompare, (void *)(uintptr_t)filter_compare},
                              {Py_sq_contains, (void *)(uintptr_t)filter_contains},
                              {Py_bf_getbuffer, (void *)(uintptr_t)filter_get_buffer},
                              {Py_bf_releasebuffer, (void *)(uintptr_t)filter_release_buffer},
                              {0, NULL}};

static PyType_Spec spec = {"sqlite_bloom._filter.Filter", sizeof(struct filter), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

static int fill_module(PyObject *module) {
    PyObject *type = PyType_FromSpec(&spec);
    int result = type != NULL ? PyModule_AddObjectRef(module, "Filter", type) : -1;
    Py_DecRef(type);
    return result;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, (void *)(uintptr_t)fill_module}, {0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_filter", "",   0,   NULL,
                                 module_slots,          NULL,      NULL, NULL};

PyMODINIT_FUNC PyInit__filter(void) {
    return PyModuleDef_Init(&definition);
}
