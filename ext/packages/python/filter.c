/* Filters in memory for Python: the module sqlite_bloom._filter, on the filter library.
 *
 * Keys come as objects of Python, 256 at a time, or as columns in memory, which are read without
 * the GIL: buffers of numpy and array, and streams of Arrow's C interface. _filters.py, which
 * has the names that users see, passes them with their kind. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sqlite-bloom-filter.h"

enum { TOGETHER = 256, WITHOUT_GIL = 1 << 16, PROGRESS = 100000, MISSING = 2 };

struct filter {
    PyObject ob_base;
    struct sqlite_bloom_filter *filter;
    PyObject *owner; /* a memoryview of the bytes, which are read in place; NULL: it owns them */
    struct sqlite_bloom_filter *before; /* of the owner, if it was in use when a change copied it */
    size_t uses;                        /* memoryviews of the filter, and checks that run */
    size_t updates;                     /* that run, or wait to run, without the GIL */
    PyThread_type_lock lock;            /* held by whatever changes the filter while there are */
    PyThread_type_lock turn;            /* held by whatever is next to have the lock */
};

/* What is done with the keys of a column, and how far it is. */
struct work {
    const char *name; /* of the function, for messages */
    struct filter *to;
    struct sqlite_bloom_filter *filter;   /* of `to` */
    struct sqlite_bloom_builder *builder; /* or NULL */
    unsigned char *answers;               /* of a check; NULL: keys are added */
    size_t room;                          /* answers */
    bool ruled;                           /* the filter has a key rule */
    PyObject *progress;
    size_t read, done; /* values, and keys among them */
    size_t yielded;    /* read / WITHOUT_GIL when other threads were last let run */
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
};

/* Raises what a function of the library reports, under the names that users know. */
static int raise_problem(const char *name, int status, const char *problem) {
    static const char *const words[][2] = {{"n is", "capacity is"}, {"p is", "fpr is"}};
    const char *text = problem, *first = "";
    if (strncmp(text, "sqlite_bloom_", 13) == 0)
        text = strstr(text, ": ") + 2;
    for (size_t i = 0; i < 2; i++)
        if (strncmp(text, words[i][0], 4) == 0) {
            text += 4;
            first = words[i][1];
        }
    if (status == SQLITE_BLOOM_NO_MEMORY)
        PyErr_NoMemory();
    else
        PyErr_Format(PyExc_ValueError, "%s: %s%s", name, first, text);
    return -1;
}

static int raise_size(const char *name) {
    PyErr_Format(PyExc_RuntimeError, "%s: the column changed its size. Pass a copy of it", name);
    return -1;
}

/* --- Keys that are objects --- */

static bool is_named(PyTypeObject *type, const char *name) {
    PyObject *own = PyObject_GetAttrString((PyObject *)type, "__name__");
    bool same = own != NULL && PyUnicode_CompareWithASCIIString(own, name) == 0;
    Py_DecRef(own);
    PyErr_Clear();
    return same;
}

/* number: of the key in its column, from 1; 0: it is by itself. */
static int raise_key(PyObject *object, const char *name, size_t number, bool is_too_large) {
    char which[32] = "the key";
    if (number > 0)
        snprintf(which, sizeof which, "key %zu", number);
    PyErr_Clear();
    PyObject *type = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__qualname__");
    if (is_too_large)
        PyErr_Format(PyExc_ValueError,
                     "%s: %s is %.60R, which SQLite cannot store. Pass an int of at most 64 bits,"
                     " or a str of valid Unicode",
                     name, which, object);
    else if (type != NULL)
        PyErr_Format(PyExc_TypeError, "%s: %s is a %U. Pass %s as a str, bytes, int or float", name,
                     which, type, number > 0 ? "each key" : "it");
    Py_DecRef(type);
    return -1;
}

static bool is_a(PyObject *object, PyTypeObject *type) {
    return Py_TYPE(object) == type || PyType_IsSubtype(Py_TYPE(object), type);
}

/* Reads an object as a key, which holds as long as the object. Returns 0 for None, NaN and NA,
 * which are not keys, and -1 after raising. */
static int key_of(PyObject *object, struct sqlite_bloom_key *key, const char *name, size_t number) {
    Py_ssize_t length;
    int overflow;
    if (Py_TYPE(object) == &PyUnicode_Type ||
        (Py_TYPE(object) != &PyLong_Type && is_a(object, &PyUnicode_Type))) {
        const char *text = PyUnicode_AsUTF8AndSize(object, &length);
        if (text == NULL)
            return PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)
                       ? raise_key(object, name, number, true)
                       : -1;
        *key = sqlite_bloom_text_key(text, (size_t)length);
    } else if (is_a(object, &PyLong_Type)) {
        *key = sqlite_bloom_integer_key(PyLong_AsLongLongAndOverflow(object, &overflow));
        if (overflow != 0)
            return raise_key(object, name, number, true);
    } else if (is_a(object, &PyBytes_Type)) {
        *key = sqlite_bloom_bytes_key(PyBytes_AsString(object), (size_t)PyBytes_Size(object));
    } else if (is_a(object, &PyFloat_Type)) {
        *key = sqlite_bloom_real_key(PyFloat_AsDouble(object));
        return key->value.real == key->value.real;
    } else if (object == Py_None || is_named(Py_TYPE(object), "NAType") ||
               is_named(Py_TYPE(object), "NaTType")) { /* of pandas */
        return 0;
    } else {
        PyObject *whole = PyNumber_Index(object);
        if (whole == NULL)
            return PyErr_ExceptionMatches(PyExc_TypeError) ? raise_key(object, name, number, false)
                                                           : -1;
        int found = key_of(whole, key, name, number);
        Py_DecRef(whole);
        return found;
    }
    return 1;
}

/* --- A filter --- */

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
    Py_ssize_t length;
    struct sqlite_bloom_filter *made;
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    PyObject *self = NULL, *owner = PyMemoryView_FromObject(bytes);
    /* The pointer holds as long as the memoryview. */
    if (owner == NULL || PyObject_AsReadBuffer(owner, &data, &length) != 0) {
        Py_DecRef(owner);
        return NULL;
    }
    int status = sqlite_bloom_filter_open(&made, data, (size_t)length, NULL, problem);
    if (status != SQLITE_BLOOM_OK)
        raise_problem("sqlite_bloom.Filter", status, problem);
    else if ((self = filter_made((PyTypeObject *)type, made)) != NULL)
        ((struct filter *)self)->owner = owner;
    if (self == NULL)
        Py_DecRef(owner);
    return self;
}

/* Without the GIL. */
static void filter_take_lock(struct filter *self) {
    PyThread_acquire_lock(self->turn, 1);
    PyThread_acquire_lock(self->lock, 1);
    PyThread_release_lock(self->turn);
}

/* Before a change with the GIL. Returns whether the lock is to be released after it. */
static bool filter_lock(struct filter *self) {
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

/* _describe(): layout, key rule, whether salted, n, p */
static PyObject *filter_describe(PyObject *self, PyObject *nothing) {
    struct sqlite_bloom_description is;
    (void)nothing;
    sqlite_bloom_filter_describe(((struct filter *)self)->filter, &is);
    return Py_BuildValue("ssiKd", is.layout, is.key_rule, is.salted, (unsigned long long)is.n,
                         is.p);
}

/* _estimate(): the number of keys */
static PyObject *filter_estimate(PyObject *self, PyObject *nothing) {
    struct sqlite_bloom_estimate is;
    (void)nothing;
    sqlite_bloom_filter_estimate(((struct filter *)self)->filter, &is);
    return Py_BuildValue("d", is.count);
}

/* --- Keys of a column --- */

/* Adds or checks keys, whose places in the column are counted from work->read. */
static int work_on(struct work *work, const struct sqlite_bloom_key *keys,
                   const unsigned char *places, size_t count) {
    unsigned char found[TOGETHER];
    int status = SQLITE_BLOOM_OK;
    if (work->answers == NULL && work->done == 0 && count > 0) {
        size_t ended = 0, empty = 0;
        for (size_t i = 0; i < count; i++) {
            bool text = keys[i].type == SQLITE_BLOOM_TEXT || keys[i].type == SQLITE_BLOOM_BYTES;
            const char *bytes = text ? keys[i].value.bytes : NULL;
            empty += text && keys[i].length == 0;
            ended += text && keys[i].length > 0 &&
                     (bytes[keys[i].length - 1] == '\n' || bytes[keys[i].length - 1] == '\r');
        }
        if (ended > 1 && ended + empty + 1 >= count) { /* the last line may have none */
            snprintf(work->problem, sizeof work->problem,
                     "each key ends in a line end, which would be part of it. Pass the open file"
                     " itself, or text.splitlines()");
            return SQLITE_BLOOM_REFUSED;
        }
    }
    if (work->answers == NULL && work->builder == NULL)
        status = sqlite_bloom_filter_add_many(work->filter, keys, count, NULL, work->problem);
    for (size_t i = 0; work->builder != NULL && i < count && status == SQLITE_BLOOM_OK; i++)
        status = sqlite_bloom_builder_add(work->builder, keys[i], work->problem);
    if (work->answers != NULL) {
        unsigned char *answers = work->answers + work->read;
        if (!work->ruled)
            sqlite_bloom_filter_check_many(work->filter, keys, count, found);
        for (size_t i = 0; i < count && status == SQLITE_BLOOM_OK; i++) {
            int answer = work->ruled ? sqlite_bloom_filter_check(work->filter, keys[i]) : found[i];
            if (answer == SQLITE_BLOOM_NO_MEMORY)
                status = answer;
            else if (answer >= 0)
                answers[places[i]] = (unsigned char)answer;
        }
    }
    work->done += status == SQLITE_BLOOM_OK ? count : 0;
    return status;
}

/* With the GIL, after keys were processed. Raises what stops the work. */
static int settle(struct work *work, int status, size_t done_before) {
    if (status != SQLITE_BLOOM_OK)
        return raise_problem(work->name, status, work->problem);
    if (work->progress != Py_None && done_before / PROGRESS < work->done / PROGRESS) {
        PyObject *said = PyObject_CallFunction(
            work->progress, "K", (unsigned long long)(work->done / PROGRESS * PROGRESS));
        Py_DecRef(said);
        if (said == NULL)
            return -1;
    }
    if (work->read / WITHOUT_GIL != work->yielded) { /* lets other threads run */
        work->yielded = work->read / WITHOUT_GIL;
        PyEval_RestoreThread(PyEval_SaveThread());
    }
    return PyErr_CheckSignals();
}

/* A new reference to the value at a place, or NULL at the end and after raising. */
static PyObject *value_at(PyObject *source, size_t place) {
    PyObject *value = NULL;
    if (Py_TYPE(source) == &PyList_Type) {
        if ((Py_ssize_t)place < PyList_Size(source))
            value = PyList_GetItem(source, (Py_ssize_t)place);
    } else if (Py_TYPE(source) == &PyTuple_Type) {
        if ((Py_ssize_t)place < PyTuple_Size(source))
            value = PyTuple_GetItem(source, (Py_ssize_t)place);
    } else {
        return PyIter_Next(source);
    }
    Py_IncRef(value);
    return value;
}

static int read_objects(struct work *work, PyObject *source) {
    struct sqlite_bloom_key keys[TOGETHER];
    PyObject *values[TOGETHER], *type, *value, *trace;
    unsigned char places[TOGETHER];
    size_t read, count, most = TOGETHER;
    do {
        int found = 0, status = SQLITE_BLOOM_OK;
        if (work->answers != NULL && work->room - work->read < most)
            most = work->room - work->read;
        for (read = count = 0; found >= 0 && read < most; read++) {
            if ((values[read] = value_at(source, work->read + read)) == NULL)
                break;
            found = key_of(values[read], &keys[count], work->name, work->read + read + 1);
            places[count] = (unsigned char)read;
            count += found > 0;
        }
        /* As by a set, the keys before one that cannot be a key are added. */
        const size_t done = work->done;
        PyErr_Fetch(&type, &value, &trace);
        bool locked = work->filter != NULL && work->answers == NULL && filter_lock(work->to);
        if (type == NULL || work->answers == NULL)
            status = work_on(work, keys, places, count);
        if (locked)
            PyThread_release_lock(work->to->lock);
        work->read += read;
        for (size_t i = 0; i < read; i++)
            Py_DecRef(values[i]);
        PyErr_Restore(type, value, trace);
        if (type != NULL || settle(work, status, done) != 0)
            return -1;
    } while (read == TOGETHER);
    return 0;
}

/* --- Columns in memory --- */

/* A column in the form of Arrow. kind: a letter of its formats for numbers (cCsSiIlLfg) and bits
 * (b), for bytes with offsets of 32 and 64 bits (u, U) and for nothing (n); and v for views of
 * bytes. */
struct column {
    char kind;
    bool text; /* the bytes are text */
    size_t length, offset;
    const unsigned char *valid; /* bits, or NULL */
    const unsigned char *mask;  /* bytes that are 1 where a value is missing, or NULL */
    const void *const *buffers; /* the first is not used */
    const struct column *dictionary;
};

/* Reads a value as a key. Returns 0 if it is missing, and -1 if SQLite cannot have it. */
static int column_key(const struct column *column, size_t row, struct sqlite_bloom_key *key) {
    const size_t i = column->offset + row;
    const void *data = column->kind != 'n' ? column->buffers[1] : NULL;
    const int32_t *ends = data;
    const int64_t *long_ends = data;
    const char *bytes = NULL;
    int64_t whole = 0, length = 0;
    if (data == NULL || (column->mask != NULL && column->mask[row] != 0) ||
        (column->valid != NULL && (column->valid[i / 8] >> i % 8 & 1) == 0))
        return 0;
#define WHOLE(letter, type)                                                                        \
    case letter:                                                                                   \
        whole = (int64_t)((const type *)data)[i];                                                  \
        break;
    switch (column->kind) {
        WHOLE('c', int8_t)
        WHOLE('C', uint8_t)
        WHOLE('s', int16_t)
        WHOLE('S', uint16_t)
        WHOLE('i', int32_t)
        WHOLE('I', uint32_t)
        WHOLE('l', int64_t)
        WHOLE('L', uint64_t)
#undef WHOLE
    case 'b':
        whole = ((const uint8_t *)data)[i / 8] >> i % 8 & 1;
        break;
    case 'f':
    case 'g':
        *key = sqlite_bloom_real_key(column->kind == 'f' ? (double)((const float *)data)[i]
                                                         : ((const double *)data)[i]);
        return key->value.real == key->value.real;
    case 'u':
        bytes = (const char *)column->buffers[2] + ends[i];
        length = ends[i + 1] - ends[i];
        break;
    case 'U':
        bytes = (const char *)column->buffers[2] + long_ends[i];
        length = long_ends[i + 1] - long_ends[i];
        break;
    default: /* The length, then the bytes, or their beginning, their buffer and their place. */
        ends += 4 * i;
        length = ends[0];
        bytes = length <= 12 ? (const char *)(ends + 1)
                             : (const char *)column->buffers[2 + ends[2]] + ends[3];
    }
    if (column->kind == 'u' || column->kind == 'U' || column->kind == 'v') {
        *key = sqlite_bloom_bytes_key(bytes, (size_t)length);
        key->type = column->text ? SQLITE_BLOOM_TEXT : SQLITE_BLOOM_BYTES;
        return 1;
    }
    if (column->dictionary != NULL)
        return column_key(column->dictionary, (size_t)whole, key);
    *key = sqlite_bloom_integer_key(whole);
    return column->kind != 'L' || whole >= 0 ? 1 : -1;
}

/* Without the GIL. */
static int read_rows(struct work *work, const struct column *column, size_t from, size_t to) {
    struct sqlite_bloom_key keys[TOGETHER];
    unsigned char places[TOGETHER];
    int status = SQLITE_BLOOM_OK, found = 0;
    uint64_t refused = 0;
    while (from < to && status == SQLITE_BLOOM_OK && found >= 0) {
        size_t read = 0, count = 0;
        for (; found >= 0 && read < TOGETHER && from + read < to; read++) {
            found = column_key(column, from + read, &keys[count]);
            refused = found < 0 ? (uint64_t)keys[count].value.integer : 0;
            places[count] = (unsigned char)read;
            count += found > 0;
        }
        status = work_on(work, keys, places, count);
        from += read;
        work->read += read;
    }
    if (status != SQLITE_BLOOM_OK || found >= 0)
        return status;
    snprintf(work->problem, sizeof work->problem,
             "key %zu is %llu, which SQLite cannot store. Pass an int of at most 64 bits, or a str"
             " of valid Unicode",
             work->read, (unsigned long long)refused);
    return SQLITE_BLOOM_REFUSED;
}

static int read_column(struct work *work, const struct column *column) {
    struct filter *changed = work->builder == NULL && work->answers == NULL ? work->to : NULL;
    for (size_t from = 0; from < column->length; from += WITHOUT_GIL) {
        const size_t to = column->length - from < WITHOUT_GIL ? column->length : from + WITHOUT_GIL;
        const size_t done = work->done;
        if (work->answers != NULL && work->room - work->read < to - from) {
            return raise_size(work->name);
        }
        if (changed != NULL) {
            if ((changed->lock == NULL && (changed->lock = PyThread_allocate_lock()) == NULL) ||
                (changed->turn == NULL && (changed->turn = PyThread_allocate_lock()) == NULL))
                return raise_problem("", SQLITE_BLOOM_NO_MEMORY, "");
            changed->updates++;
        }
        PyThreadState *state = PyEval_SaveThread();
        if (changed != NULL)
            filter_take_lock(changed);
        int status = read_rows(work, column, from, to);
        if (changed != NULL)
            PyThread_release_lock(changed->lock);
        PyEval_RestoreThread(state);
        if (changed != NULL)
            changed->updates--;
        if (settle(work, status, done) != 0)
            return -1;
    }
    return 0;
}

/* Arrow's C data interface, as it publishes it. */
struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

/* Sets kind to 0 for a format that is not read here. */
static void read_format(struct column *column, const char *format) {
    const char *formats[] = {"u", "z", "U", "Z", "vu", "vz"};
    *column = (struct column){.kind = 0};
    if (format[0] != 0 && format[1] == 0 && strchr("nbcCsSiIlLfg", format[0]) != NULL)
        column->kind = format[0];
    for (int i = 0; i < 6; i++)
        if (strcmp(format, formats[i]) == 0) {
            column->kind = "uUv"[i / 2];
            column->text = i % 2 == 0;
        }
}

static void read_array(struct column *column, const struct ArrowArray *array) {
    column->length = (size_t)array->length;
    column->offset = (size_t)array->offset;
    column->valid = array->n_buffers > 0 ? array->buffers[0] : NULL;
    column->buffers = array->buffers;
}

static int read_arrow(struct work *work, PyObject *capsule) {
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    struct ArrowSchema schema;
    struct ArrowArray array = {.release = NULL};
    struct column column, dictionary = {.kind = 'n'};
    if (stream == NULL)
        return -1;
    if (stream->release == NULL) {
        PyErr_Format(PyExc_ValueError, "%s: the stream of Arrow has been read", work->name);
        return -1;
    }
    int status = stream->get_schema(stream, &schema);
    if (status == 0) {
        read_format(&column, schema.format);
        if (schema.dictionary != NULL) {
            read_format(&dictionary, schema.dictionary->format);
            column.dictionary = &dictionary;
        }
        bool known = column.kind != 0 && dictionary.kind != 0 &&
                     (schema.dictionary == NULL || schema.dictionary->dictionary == NULL);
        schema.release(&schema);
        if (!known) {
            PyErr_SetString(PyExc_NotImplementedError, "format of Arrow");
            return -1;
        }
    }
    while (status == 0 && (status = stream->get_next(stream, &array)) == 0 &&
           array.release != NULL) {
        read_array(&column, &array);
        if (column.dictionary != NULL)
            read_array(&dictionary, array.dictionary);
        int result = read_column(work, &column);
        array.release(&array);
        if (result != 0)
            return -1;
    }
    if (status == 0)
        return 0;
    const char *error = stream->get_last_error(stream);
    PyErr_Format(PyExc_ValueError, "%s: the column cannot be read: %s", work->name,
                 error != NULL ? error : strerror(status));
    return -1;
}

/* Keeps a buffer, and sets where it is and how long. */
static int read_buffer(PyObject *object, PyObject **kept, const void **data, size_t *length) {
    Py_ssize_t bytes;
    *kept = PyMemoryView_FromObject(object);
    if (*kept == NULL || PyObject_AsReadBuffer(*kept, data, &bytes) != 0)
        return -1;
    *length = (size_t)bytes;
    return 0;
}

static int read_numbers(struct work *work, PyObject *source, const char *kind, PyObject *mask) {
    const void *buffers[2], *missing = NULL;
    PyObject *kept = NULL, *kept_mask = NULL;
    struct column column = {.kind = kind[0], .buffers = buffers};
    size_t masks = 0;
    if (kind[0] == 0 || strchr("cCsSiIlLfg", kind[0]) == NULL) {
        PyErr_Format(PyExc_ValueError, "%s: kind is %s", work->name, kind);
        return -1;
    }
    int result = read_buffer(source, &kept, &buffers[1], &column.length);
    if (result == 0 && mask != Py_None)
        result = read_buffer(mask, &kept_mask, &missing, &masks);
    if (result == 0) {
        column.length /= strchr("cC", kind[0])    ? 1
                         : strchr("sS", kind[0])  ? 2
                         : strchr("iIf", kind[0]) ? 4
                                                  : 8;
        column.mask = missing;
        if (missing != NULL && masks != column.length) {
            PyErr_Format(PyExc_ValueError, "%s: the mask has another length", work->name);
            result = -1;
        } else {
            result = read_column(work, &column);
        }
    }
    Py_DecRef(kept);
    Py_DecRef(kept_mask);
    return result;
}

/* source: a list, a tuple or an iterator; with kind "A" a capsule of Arrow; with another kind of
 * struct column a buffer, and mask its mask or None. */
static int read_source(struct work *work, PyObject *source, const char *kind, PyObject *mask) {
    int result = kind == NULL     ? read_objects(work, source)
                 : kind[0] == 'A' ? read_arrow(work, source)
                                  : read_numbers(work, source, kind, mask);
    if (result == 0 && work->progress != Py_None && work->done % PROGRESS != 0) {
        PyObject *said = PyObject_CallFunction(work->progress, "K", (unsigned long long)work->done);
        Py_DecRef(said);
        result = said != NULL ? 0 : -1;
    }
    return result;
}

/* _update(source, kind, mask, name, progress) */
static PyObject *filter_update(PyObject *self, PyObject *arguments) {
    struct work work = {.to = (struct filter *)self};
    PyObject *source, *mask;
    const char *kind;
    if (!PyArg_ParseTuple(arguments, "OzOsO", &source, &kind, &mask, &work.name, &work.progress) ||
        filter_own(work.to, work.name) != 0)
        return NULL;
    work.filter = work.to->filter;
    return read_source(&work, source, kind, mask) == 0
               ? Py_BuildValue("K", (unsigned long long)work.done)
               : NULL;
}

/* _build(source, kind, mask, name, progress, p, options): None if there is no key */
static PyObject *filter_build(PyObject *type, PyObject *arguments) {
    struct work work = {.to = NULL};
    PyObject *source, *mask, *made = NULL;
    const char *kind, *options;
    struct sqlite_bloom_filter *filter;
    double p;
    if (!PyArg_ParseTuple(arguments, "OzOsOdz", &source, &kind, &mask, &work.name, &work.progress,
                          &p, &options))
        return NULL;
    int status = sqlite_bloom_builder_open(&work.builder, p, options, NULL, work.problem);
    if (status != SQLITE_BLOOM_OK) {
        raise_problem(work.name, status, work.problem);
        return NULL;
    }
    if (read_source(&work, source, kind, mask) == 0) {
        PyThreadState *state = PyEval_SaveThread();
        status = work.done == 0 ? SQLITE_BLOOM_OK
                                : sqlite_bloom_builder_finish(work.builder, &filter, work.problem);
        PyEval_RestoreThread(state);
        if (status != SQLITE_BLOOM_OK)
            raise_problem(work.name, status, work.problem);
        else
            made = work.done == 0 ? none() : filter_made((PyTypeObject *)type, filter);
    }
    sqlite_bloom_builder_close(work.builder);
    return made;
}

/* _check(source, kind, mask, name, length): a byte for each value: 0, 1 or MISSING */
static PyObject *filter_check(PyObject *object, PyObject *arguments) {
    struct filter *self = (struct filter *)object;
    struct work work = {.to = self, .filter = self->filter, .progress = Py_None};
    struct sqlite_bloom_description description;
    PyObject *source, *mask;
    const char *kind;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(arguments, "OzOsn", &source, &kind, &mask, &work.name, &length))
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
    int result = read_source(&work, source, kind, mask);
    self->uses--;
    PyObject *more = result == 0 && kind == NULL ? value_at(source, work.read) : NULL;
    if (more == NULL && PyErr_Occurred() != NULL) {
        result = -1;
    } else if (work.read != work.room || more != NULL) {
        result = raise_size(work.name);
    }
    Py_DecRef(more);
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
