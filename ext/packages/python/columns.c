/* Reads columns, and adds or checks their keys. Objects of Python are read 256 at a time. Columns
 * in memory, which are buffers of numpy and array and streams of Arrow's C interface, are read
 * without a copy and without the GIL. */
#include "filter.h"

#include <stdio.h>
#include <string.h>

enum { TOGETHER = 256, WITHOUT_GIL = 1 << 16, PROGRESS = 100000 };

static bool is_a(PyObject *object, const PyTypeObject *type) {
    return PyType_IsSubtype(Py_TYPE(object), (PyTypeObject *)(uintptr_t)type);
}

int key_of_other(PyObject *object, struct sqlite_bloom_key *key, const char *name, size_t number) {
    const PyTypeObject *const types[] = {&PyUnicode_Type, &PyLong_Type, &PyBytes_Type};
    *key = (struct sqlite_bloom_key){.length = 0}; /* not a key */
    for (int i = 0; i < 3; i++)
        if (is_a(object, types[i]) && PyErr_Occurred() == NULL &&
            key_of_type(object, types[i], key))
            return 1;
    if (is_a(object, &PyFloat_Type)) {
        *key = sqlite_bloom_real_key(PyFloat_AsDouble(object));
        return key->value.real == key->value.real;
    }
    if (object == Py_None)
        return 0;
    PyObject *plain = PyErr_Occurred() == NULL ? PyNumber_Index(object) : NULL;
    const bool is_whole = plain != NULL && key_of_type(plain, &PyLong_Type, key);
    Py_DecRef(plain);
    if (is_whole)
        return 1;
    PyErr_Clear(); /* Python finds out why it cannot be read */
    plain = PyObject_CallMethod(PyImport_AddModule("sqlite_bloom._columns"), "plain", "Osn", object,
                                name, (Py_ssize_t)number);
    Py_DecRef(plain);
    return plain == NULL      ? -1
           : plain == Py_None ? 0
                              : raise_problem(name, SQLITE_BLOOM_NO_MEMORY, "");
}

/* Returns true if the keys look like lines, or like texts of lines: each is text with a line end in
 * it, except perhaps the last one. Bytes do not count, because a digest may have such a byte. */
static bool are_lines(const struct sqlite_bloom_key *keys, size_t count) {
    size_t ended = 0;
    bool is_ended = true;
    for (size_t i = 0; i < count && (is_ended || i < 2); i++) {
        const size_t length = keys[i].type == SQLITE_BLOOM_TEXT ? keys[i].length : 0;
        is_ended = length > 0 && (memchr(keys[i].value.bytes, '\n', length) != NULL ||
                                  memchr(keys[i].value.bytes, '\r', length) != NULL);
        ended += is_ended;
    }
    return ended > 0 && ended + !is_ended >= count;
}

/* Adds the keys of the next `read` values, or checks all of these, where what is not a key has no
 * type. */
static int work_on(struct work *work, const struct sqlite_bloom_key *keys, size_t count,
                   size_t read) {
    int status = SQLITE_BLOOM_OK;
    if (work->answers != NULL) {
        const bool has_room = work->read + read <= work->room; /* or read_source raises */
        const int64_t in = has_room ? sqlite_bloom_filter_check_many(work->filter, keys, read,
                                                                     work->answers + work->read)
                                    : 0;
        status = in < 0 ? (int)in : SQLITE_BLOOM_OK;
        if (status == SQLITE_BLOOM_REFUSED)
            snprintf(work->problem, sizeof work->problem, "%s", FILTER_AS_KEY);
    } else if (work->done == 0 && are_lines(keys, count)) {
        snprintf(work->problem, sizeof work->problem,
                 "each key has a line end, which would be part of it. Pass the open file itself,"
                 " or text.splitlines(). If the keys are longer texts, pass them as bytes");
        status = SQLITE_BLOOM_REFUSED;
    } else if (work->builder == NULL) {
        status = sqlite_bloom_filter_add_many(work->filter, keys, count, NULL, work->problem);
    }
    for (size_t i = 0; work->builder != NULL && i < count && status == SQLITE_BLOOM_OK; i++)
        status = sqlite_bloom_builder_add(work->builder, keys[i], work->problem);
    work->done += status == SQLITE_BLOOM_OK ? count : 0;
    work->read += read;
    return status;
}

/* Tells progress the number of keys, unless it knows it. */
static int report(struct work *work, size_t keys) {
    if (work->progress == Py_None || keys == work->reported)
        return 0;
    work->reported = keys;
    PyObject *said = PyObject_CallFunction(work->progress, "K", (unsigned long long)keys);
    Py_DecRef(said);
    return said != NULL ? 0 : -1;
}

/* With the GIL, after keys were processed. Raises what stops the work. */
static int settle(struct work *work, int status) {
    if (status != SQLITE_BLOOM_OK)
        return raise_problem(work->name, status, work->problem);
    if (report(work, work->done / PROGRESS * PROGRESS) != 0)
        return -1;
    if (work->read % WITHOUT_GIL == 0) /* lets other threads run */
        PyEval_RestoreThread(PyEval_SaveThread());
    return PyErr_CheckSignals();
}

/* How many values to read together. A list may have become shorter. */
static Py_ssize_t next_values(const struct work *work, bool is_list) {
    const Py_ssize_t left = is_list ? PyList_Size(work->source) - (Py_ssize_t)work->read : TOGETHER;
    return left < TOGETHER ? left : TOGETHER;
}

/* Reads values of a list as long as key_of_type does, in a small loop, which is the fastest. */
static Py_ssize_t read_plain(PyObject *list, Py_ssize_t from, Py_ssize_t end, PyObject **values,
                             struct sqlite_bloom_key *keys) {
    Py_ssize_t read = 0;
    for (; read < end; read++) {
        values[read] = PyList_GetItem(list, from + read);
        if (!key_of_type(values[read], Py_TYPE(values[read]), &keys[read]))
            break;
    }
    PyErr_Clear(); /* that one is read again */
    return read;
}

/* Adds or checks the next values of a list or an iterator. Those of a list are kept before code of
 * Python runs, which may take them out of the list. Returns how many, or -1 after raising. */
static Py_ssize_t read_objects(struct work *work, bool is_list) {
    struct sqlite_bloom_key keys[TOGETHER], *key = keys;
    PyObject *values[TOGETHER], *type, *error, *trace;
    Py_ssize_t read = 0, kept = 0, end = next_values(work, is_list);
    int status = SQLITE_BLOOM_OK;
    if (is_list)
        read = read_plain(work->source, (Py_ssize_t)work->read, end, values, keys);
    key += read;
    while (read < end) {
        PyObject *value = is_list ? PyList_GetItem(work->source, (Py_ssize_t)work->read + read)
                                  : PyIter_Next(work->source);
        if (value == NULL)
            break;
        values[read++] = value;
        if (key_of_type(value, Py_TYPE(value), key)) {
            key++;
            continue;
        }
        for (; is_list && kept < read; kept++)
            Py_IncRef(values[kept]);
        int found = key_of_other(value, key, work->name, work->read + (size_t)read);
        key += found > 0 || work->answers != NULL;
        end = found < 0 ? 0 : next_values(work, is_list);
    }
    /* As by a set, the keys before one that cannot be a key are added. */
    PyErr_Fetch(&type, &error, &trace);
    if (type == NULL || work->answers == NULL)
        status = work_on(work, keys, (size_t)(key - keys), (size_t)read);
    for (kept = is_list ? kept : read; kept > 0;)
        Py_DecRef(values[--kept]);
    PyErr_Restore(type, error, trace);
    return type == NULL && settle(work, status) == 0 ? read : -1;
}

/* --- Columns in memory --- */

/* A column in the form of Arrow. kind: a letter of its formats for numbers (cCsSiIlLfg), for bytes
 * with offsets of 32 and 64 bits (u, U) and for nothing (n); and v for views of bytes. */
struct column {
    char kind;
    bool text; /* the bytes are text */
    size_t length, offset;
    const unsigned char *valid; /* bits, or NULL */
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
    *key = (struct sqlite_bloom_key){.length = 0};
    if (data == NULL || (column->valid != NULL && (column->valid[i / 8] >> i % 8 & 1) == 0))
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

static int read_rows(struct work *work, const struct column *column, size_t from, size_t to) {
    struct sqlite_bloom_key keys[TOGETHER];
    int status = SQLITE_BLOOM_OK, found = 0;
    uint64_t refused = 0;
    while (from < to && status == SQLITE_BLOOM_OK && found >= 0) {
        size_t read = 0, count = 0;
        for (; found >= 0 && read < TOGETHER && from + read < to; read++) {
            found = column_key(column, from + read, &keys[count]);
            refused = found < 0 ? (uint64_t)keys[count].value.integer : 0;
            count += found > 0 || work->answers != NULL;
        }
        status = work_on(work, keys, count, read);
        from += read;
    }
    if (status != SQLITE_BLOOM_OK || found >= 0)
        return status;
    snprintf(work->problem, sizeof work->problem,
             "key %zu is %llu, which SQLite cannot store. Pass an int of at most 64 bits, or a str"
             " of valid Unicode",
             work->read, (unsigned long long)refused);
    return SQLITE_BLOOM_REFUSED;
}

/* Without the GIL, unless it guards what is changed. */
static int read_column(struct work *work, const struct column *column) {
    for (size_t from = 0; from < column->length; from += WITHOUT_GIL) {
        const size_t to = column->length - from < WITHOUT_GIL ? column->length : from + WITHOUT_GIL;
        PyThreadState *state = work->shared ? NULL : PyEval_SaveThread();
        int status = read_rows(work, column, from, to);
        if (state != NULL)
            PyEval_RestoreThread(state);
        if (settle(work, status) != 0)
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
    if (format[0] != 0 && format[1] == 0 && strchr("ncCsSiIlLfg", format[0]) != NULL)
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

static int read_arrow(struct work *work) {
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(work->source, "arrow_array_stream");
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

int read_buffer(PyObject *object, PyObject **kept, const void **data, size_t *length) {
    Py_ssize_t bytes;
    *kept = PyMemoryView_FromObject(object);
    if (*kept == NULL || PyObject_AsReadBuffer(*kept, data, &bytes) != 0)
        return -1;
    *length = (size_t)bytes;
    return 0;
}

/* kind is a letter and the bytes of a number. */
static int read_numbers(struct work *work) {
    const void *buffers[2];
    PyObject *kept = NULL;
    struct column column = {.kind = work->kind[0], .buffers = buffers};
    int result = read_buffer(work->source, &kept, &buffers[1], &column.length);
    column.length /= (size_t)(work->kind[1] - '0');
    if (result == 0)
        result = read_column(work, &column);
    Py_DecRef(kept);
    return result;
}

int read_source(struct work *work) {
    Py_ssize_t result = 1;
    while (work->kind == NULL && result > 0)
        result = read_objects(work, Py_TYPE(work->source) == &PyList_Type);
    if (work->kind != NULL)
        result = work->kind[0] == 'A' ? read_arrow(work) : read_numbers(work);
    if (result == 0 && (work->answers == NULL || work->read == work->room))
        return report(work, work->done);
    if (result == 0)
        PyErr_Format(PyExc_RuntimeError, "%s: the column changed its size. Pass a copy of it",
                     work->name);
    return -1;
}
