/* The module sqlite_bloom._filter: a filter in memory as a class of Python, on the filter library.
 * _filters.py, which has the names that users see, derives from it. Changes take turns where
 * threads share a filter, and bytes of others are copied before they would change. columns.c reads
 * keys. */
#include "filter.h"

#include <string.h>

enum { MISSING = 2 };

int raise_problem(const char *name, int status, const char *problem) {
    const char *text = problem;
    if (strncmp(text, "sqlite_bloom_", 13) == 0) /* the function of the library */
        text = strstr(text, ": ") + 2;
    const bool is_rate = strncmp(text, "p is ", 5) == 0;
    if (status == SQLITE_BLOOM_NO_MEMORY)
        PyErr_NoMemory();
    else
        PyErr_Format(PyExc_ValueError, "%s: %s%s", name, is_rate ? "fpr" : "", text + is_rate);
    return -1;
}

static PyObject *none(void) {
    Py_IncRef(Py_None);
    return Py_None;
}

static PyObject *filter_made(PyTypeObject *type, struct sqlite_bloom_filter *filter) {
    PyObject *(*allocate)(PyTypeObject *, Py_ssize_t);
    *(void **)&allocate = PyType_GetSlot(type, Py_tp_alloc);
    struct filter *self = (struct filter *)allocate(type, 0);
    if (self == NULL)
        sqlite_bloom_filter_close(filter);
    else
        self->filter = filter;
    return (PyObject *)self;
}

static void filter_release(PyObject *object) {
    struct filter *self = (struct filter *)object;
    PyTypeObject *type = Py_TYPE(object);
    void (*release)(void *);
    *(void **)&release = PyType_GetSlot(type, Py_tp_free);
    sqlite_bloom_filter_close(self->filter);
    sqlite_bloom_filter_close(self->before);
    if (self->lock != NULL)
        PyThread_free_lock(self->lock);
    if (self->turn != NULL)
        PyThread_free_lock(self->turn);
    Py_DecRef(self->owner);
    release(object);
    Py_DecRef((PyObject *)type);
}

/* _new(n, p, options) */
static PyObject *filter_new(PyObject *type, PyObject *arguments) {
    long long n;
    double p;
    const char *options;
    struct sqlite_bloom_filter *made;
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    if (!PyArg_ParseTuple(arguments, "Ldz", &n, &p, &options))
        return NULL;
    int status = sqlite_bloom_filter_new(&made, (uint64_t)n, p, options, NULL, problem);
    if (status != SQLITE_BLOOM_OK) {
        raise_problem("sqlite_bloom.Filter", status, problem);
        return NULL;
    }
    return filter_made((PyTypeObject *)type, made);
}

/* _open(bytes): reads them in place. */
static PyObject *filter_open(PyObject *type, PyObject *bytes) {
    const void *data;
    size_t length;
    struct sqlite_bloom_filter *made;
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    PyObject *self = NULL, *owner;
    if (read_buffer(bytes, &owner, &data, &length) == 0) {
        int status = sqlite_bloom_filter_open(&made, data, length, NULL, problem);
        if (status != SQLITE_BLOOM_OK)
            raise_problem("sqlite_bloom.Filter", status, problem);
        else if ((self = filter_made((PyTypeObject *)type, made)) != NULL)
            ((struct filter *)self)->owner = owner;
    }
    if (self == NULL)
        Py_DecRef(owner);
    return self;
}

void filter_take_lock(struct filter *self) {
    PyThread_acquire_lock(self->turn, 1);
    PyThread_acquire_lock(self->lock, 1);
    PyThread_release_lock(self->turn);
}

bool filter_lock(struct filter *self) {
    if (self->updates == 0)
        return false;
    PyThreadState *state = PyEval_SaveThread();
    filter_take_lock(self);
    PyEval_RestoreThread(state);
    return true;
}

/* Before the first change: makes the bytes its own. */
static int filter_own(struct filter *self, const char *name) {
    struct sqlite_bloom_filter *own;
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    if (self->owner == NULL || self->before != NULL)
        return 0;
    int status = sqlite_bloom_filter_copy(&own, self->filter, NULL, problem);
    if (status != SQLITE_BLOOM_OK)
        return raise_problem(name, status, problem);
    if (self->uses > 0) {
        self->before = self->filter;
    } else {
        PyObject *owner = self->owner;
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
    found = sqlite_bloom_filter_check(((struct filter *)self)->filter, key);
    if (found == SQLITE_BLOOM_NO_MEMORY)
        return raise_problem("", found, "");
    return found == SQLITE_BLOOM_NO_KEY ? 0 : found;
}

static PyObject *filter_change(PyObject *object, PyObject *added, const char *name,
                               int change(struct sqlite_bloom_filter *, struct sqlite_bloom_key,
                                          char *)) {
    struct filter *self = (struct filter *)object;
    struct sqlite_bloom_key key;
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    int status = key_of(added, &key, name, 0);
    if (status > 0) {
        if (filter_own(self, name) != 0)
            return NULL;
        bool locked = filter_lock(self);
        status = change(self->filter, key, problem);
        if (locked)
            PyThread_release_lock(self->lock);
        if (status != SQLITE_BLOOM_OK)
            raise_problem(name, status, problem);
    }
    return status == 0 ? none() : NULL;
}

static PyObject *filter_add(PyObject *self, PyObject *key) {
    return filter_change(self, key, "sqlite_bloom.Filter.add", sqlite_bloom_filter_add);
}

static PyObject *filter_discard(PyObject *self, PyObject *key) {
    return filter_change(self, key, "sqlite_bloom.Filter.discard", sqlite_bloom_filter_remove);
}

static const void *bytes_of(PyObject *self, size_t *length) {
    return sqlite_bloom_filter_bytes(((struct filter *)self)->filter, length);
}

/* The bytes can be read. They change with the filter. */
static int filter_get_buffer(PyObject *self, Py_buffer *view, int flags) {
    size_t length;
    view->obj = NULL;
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
    view->obj = self;
    Py_IncRef(self);
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
    if ((operation != Py_EQ && operation != Py_NE) || !is_filter(other)) {
        Py_IncRef(Py_NotImplemented);
        return Py_NotImplemented;
    }
    const void *bytes = bytes_of(self, &length), *others = bytes_of(other, &length_of_other);
    bool equal = length == length_of_other && memcmp(bytes, others, length) == 0;
    return PyBool_FromLong(equal == (operation == Py_EQ));
}

/* The union, or the intersection, of two filters, or a copy of one. */
static PyObject *filter_merged(PyObject *self, PyObject *other,
                               int merge(struct sqlite_bloom_filter **,
                                         const struct sqlite_bloom_filter *const *, size_t,
                                         const struct sqlite_bloom_memory *, char *)) {
    struct sqlite_bloom_filter *made;
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    if (!is_filter(self) || !is_filter(other)) { /* Python asks for set() | filter, too */
        Py_IncRef(Py_NotImplemented);
        return Py_NotImplemented;
    }
    const struct sqlite_bloom_filter *filters[] = {((struct filter *)self)->filter,
                                                   ((struct filter *)other)->filter};
    int status = merge != NULL ? merge(&made, filters, 2, NULL, problem)
                               : sqlite_bloom_filter_copy(&made, filters[0], NULL, problem);
    if (status != SQLITE_BLOOM_OK) {
        raise_problem("sqlite_bloom.Filter", status, problem);
        return NULL;
    }
    return filter_made(Py_TYPE(self), made);
}

static PyObject *filter_union(PyObject *self, PyObject *other) {
    return filter_merged(self, other, sqlite_bloom_filter_union);
}

static PyObject *filter_intersection(PyObject *self, PyObject *other) {
    return filter_merged(self, other, sqlite_bloom_filter_intersect);
}

static PyObject *filter_copy(PyObject *self, PyObject *nothing) {
    (void)nothing;
    return filter_merged(self, self, NULL);
}

/* _describe(): layout, key rule, whether salted, capacity, fpr */
static PyObject *filter_describe(PyObject *self, PyObject *nothing) {
    struct sqlite_bloom_description is;
    (void)nothing;
    sqlite_bloom_filter_describe(((struct filter *)self)->filter, &is);
    return Py_BuildValue("ssiKd", is.layout, is.key_rule, is.salted,
                         (unsigned long long)is.capacity, is.fpr);
}

/* _estimate(): the number of keys */
static PyObject *filter_estimate(PyObject *self, PyObject *nothing) {
    struct sqlite_bloom_estimate is;
    (void)nothing;
    sqlite_bloom_filter_estimate(((struct filter *)self)->filter, &is);
    return Py_BuildValue("d", is.count);
}

/* _update(source, kind, mask, name, progress): the number of keys */
static PyObject *filter_update(PyObject *object, PyObject *arguments) {
    struct filter *self = (struct filter *)object;
    struct work work = {.changed = self};
    if (!PyArg_ParseTuple(arguments, "OzOsO", &work.source, &work.kind, &work.mask, &work.name,
                          &work.progress) ||
        filter_own(self, work.name) != 0)
        return NULL;
    if ((self->lock == NULL && (self->lock = PyThread_allocate_lock()) == NULL) ||
        (self->turn == NULL && (self->turn = PyThread_allocate_lock()) == NULL))
        return PyErr_NoMemory();
    work.filter = self->filter;
    return read_source(&work) == 0 ? Py_BuildValue("K", (unsigned long long)work.done) : NULL;
}

/* _build(source, kind, mask, name, progress, p, options): None if there is no key */
static PyObject *filter_build(PyObject *type, PyObject *arguments) {
    struct work work = {.changed = NULL};
    PyObject *made = NULL;
    const char *options;
    struct sqlite_bloom_filter *filter;
    double p;
    if (!PyArg_ParseTuple(arguments, "OzOsOdz", &work.source, &work.kind, &work.mask, &work.name,
                          &work.progress, &p, &options))
        return NULL;
    int status = sqlite_bloom_builder_open(&work.builder, p, options, NULL, work.problem);
    if (status == SQLITE_BLOOM_OK && read_source(&work) == 0) {
        PyThreadState *state = PyEval_SaveThread();
        if (work.done > 0)
            status = sqlite_bloom_builder_finish(work.builder, &filter, work.problem);
        PyEval_RestoreThread(state);
        if (status == SQLITE_BLOOM_OK)
            made = work.done == 0 ? none() : filter_made((PyTypeObject *)type, filter);
    }
    if (status != SQLITE_BLOOM_OK)
        raise_problem(work.name, status, work.problem);
    sqlite_bloom_builder_close(work.builder);
    return made;
}

/* _check(source, kind, mask, name, length): a byte for each value: 0, 1 or MISSING */
static PyObject *filter_check(PyObject *object, PyObject *arguments) {
    struct filter *self = (struct filter *)object;
    struct work work = {.filter = self->filter, .progress = Py_None};
    struct sqlite_bloom_description description;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(arguments, "OzOsn", &work.source, &work.kind, &work.mask, &work.name,
                          &length))
        return NULL;
    PyObject *answers = PyBytes_FromStringAndSize(NULL, length);
    if (answers == NULL)
        return NULL;
    sqlite_bloom_filter_describe(self->filter, &description);
    work.ruled = description.key_rule != NULL;
    work.answers = (unsigned char *)PyBytes_AsString(answers);
    work.room = (size_t)length;
    memset(work.answers, MISSING, work.room);
    self->uses++;
    int result = read_source(&work);
    self->uses--;
    if (result == 0)
        return answers;
    Py_DecRef(answers);
    return NULL;
}

/* answers(bytes of _check): a list of True, False and None */
static PyObject *list_of_answers(PyObject *module, PyObject *answers) {
    PyObject *values[] = {PyBool_FromLong(0), PyBool_FromLong(1), Py_None};
    const Py_ssize_t length = PyBytes_Size(answers);
    PyObject *list = length < 0 ? NULL : PyList_New(length);
    (void)module;
    for (Py_ssize_t i = 0; list != NULL && i < length; i++) {
        PyObject *value = values[(unsigned char)PyBytes_AsString(answers)[i] % 3];
        Py_IncRef(value);
        PyList_SetItem(list, i, value);
    }
    Py_DecRef(values[0]);
    Py_DecRef(values[1]);
    return list;
}

static PyMethodDef methods[] = {
    {"add", filter_add, METH_O,
     "add(key): adds a key: a str, bytes, int or float. None and NaN are not keys."},
    {"discard", filter_discard, METH_O,
     "discard(key): removes a key once, if it is in a filter of layout counting."},
    {"copy", filter_copy, METH_NOARGS, "copy(): a filter of its own with the same keys."},
    {"_new", filter_new, METH_VARARGS | METH_CLASS, ""},
    {"_open", filter_open, METH_O | METH_CLASS, ""},
    {"_build", filter_build, METH_VARARGS | METH_CLASS, ""},
    {"_update", filter_update, METH_VARARGS, ""},
    {"_check", filter_check, METH_VARARGS, ""},
    {"_describe", filter_describe, METH_NOARGS, ""},
    {"_estimate", filter_estimate, METH_NOARGS, ""},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_dealloc, (void *)(uintptr_t)filter_release},
                              {Py_tp_methods, methods},
                              {Py_tp_richcompare, (void *)(uintptr_t)filter_compare},
                              {Py_sq_contains, (void *)(uintptr_t)filter_contains},
                              {Py_nb_or, (void *)(uintptr_t)filter_union},
                              {Py_nb_and, (void *)(uintptr_t)filter_intersection},
                              {Py_bf_getbuffer, (void *)(uintptr_t)filter_get_buffer},
                              {Py_bf_releasebuffer, (void *)(uintptr_t)filter_release_buffer},
                              {0, NULL}};

static PyType_Spec spec = {
    "sqlite_bloom._filter.Filter", sizeof(struct filter), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

static int fill_module(PyObject *module) {
    PyObject *type = PyType_FromSpec(&spec);
    int result = type != NULL ? PyModule_AddObjectRef(module, "Filter", type) : -1;
    Py_DecRef(type);
    return result;
}

static PyMethodDef functions[] = {{"answers", list_of_answers, METH_O, ""}, {NULL, NULL, 0, NULL}};
static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, (void *)(uintptr_t)fill_module}, {0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_filter", "",   0,   functions,
                                 module_slots,          NULL,      NULL, NULL};

PyMODINIT_FUNC PyInit__filter(void) {
    return PyModuleDef_Init(&definition);
}
