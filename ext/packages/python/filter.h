/* What the files of the module share: a filter as an object of Python, and the reading of keys. */
#ifndef SQLITE_BLOOM_PYTHON_FILTER_H
#define SQLITE_BLOOM_PYTHON_FILTER_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdbool.h>

#include "sqlite-bloom-filter.h"

struct filter {
    PyObject ob_base;
    struct sqlite_bloom_filter *filter;
    PyObject *owner; /* a memoryview of the bytes, which are read in place; NULL: it owns them */
    struct sqlite_bloom_filter *before; /* of the owner, if it was in use when a change copied it */
    size_t uses;                        /* memoryviews of the filter, and columns that it reads */
};

/* A column, what is done with its keys, and how far it is. */
struct work {
    PyObject *source;                     /* a list, a tuple, an iterator, or by kind */
    const char *kind;                     /* NULL; "A": a capsule of Arrow; "l8": a buffer */
    const char *name;                     /* of the function, for messages */
    int shared;                           /* other threads may have the filter that is changed */
    struct sqlite_bloom_filter *filter;   /* that is changed or checked */
    struct sqlite_bloom_builder *builder; /* or NULL */
    unsigned char *answers;               /* of a check; NULL: keys are added */
    size_t room;                          /* answers */
    PyObject *progress;
    size_t read, done, reported; /* values, keys among them, keys that progress was told */
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
};

/* Adds or checks the keys of a column. An answer is set for each value that is a key. Returns 0, or
 * -1 after raising. */
int read_source(struct work *work);

/* Reads an object as a key. It is of a type, or of one below, that most keys have, so no code of
 * Python runs. Returns false for other types, and for what SQLite cannot have. Then it may have
 * raised. */
static inline bool key_of_type(PyObject *object, const PyTypeObject *type,
                               struct sqlite_bloom_key *key) {
    Py_ssize_t length;
    if (type == &PyUnicode_Type) {
        const char *text = PyUnicode_AsUTF8AndSize(object, &length);
        if (text != NULL)
            *key = sqlite_bloom_text_key(text, (size_t)length);
        return text != NULL;
    }
    if (type == &PyLong_Type) {
        int overflow;
        *key = sqlite_bloom_integer_key(PyLong_AsLongLongAndOverflow(object, &overflow));
        return overflow == 0;
    }
    if (type == &PyBytes_Type) {
        char *bytes;
        PyBytes_AsStringAndSize(object, &bytes, &length);
        *key = sqlite_bloom_bytes_key(bytes, (size_t)length);
        return true;
    }
    return false;
}

/* Reads an object that the former has not read, as key_of does. */
int key_of_other(PyObject *object, struct sqlite_bloom_key *key, const char *name, size_t number);

/* Reads an object as a key, which holds as long as the object. Returns 0 for None, NaN and NA,
 * which are not keys, and -1 after raising. number: of the key in its column, from 1; 0: it is by
 * itself. */
static inline int key_of(PyObject *object, struct sqlite_bloom_key *key, const char *name,
                         size_t number) {
    return key_of_type(object, Py_TYPE(object), key) ? 1 : key_of_other(object, key, name, number);
}

/* Keeps a buffer in a memoryview, and sets where it is and how long. */
int read_buffer(PyObject *object, PyObject **kept, const void **data, size_t *length);

/* What is said of bytes that are a filter. */
#define FILTER_AS_KEY                                                                              \
    "the key is a filter. Merge filters with |, or pass its hex() if the bytes are meant"

/* Raises what a function of the library reports, and returns -1. */
int raise_problem(const char *name, int status, const char *problem);

#endif
