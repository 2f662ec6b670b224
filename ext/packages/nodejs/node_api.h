/* What bloom uses of Node-API, version 8, so that an addon compiles where Node's own headers are
 * not installed, and for platforms whose Node is not here. All of it is in Node 18 and later
 * releases, in Bun and in Electron, and nodejs.org/api/n-api.html documents each name.
 * tests/build/sources_test.py compares values, types and places with Node's headers. */
#ifndef SQLITE_BLOOM_NODE_API_H
#define SQLITE_BLOOM_NODE_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
#define NAPI_MODULE_EXPORT __declspec(dllexport)
#else
#define NAPI_MODULE_EXPORT __attribute__((visibility("default")))
#endif

typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_ref__ *napi_ref;
typedef struct napi_handle_scope__ *napi_handle_scope;
typedef struct napi_callback_info__ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env, napi_callback_info);
typedef void (*napi_finalize)(napi_env, void *, void *);

/* clang-format off */
typedef enum { napi_ok } napi_status;
typedef enum { napi_uint8_array = 1 } napi_typedarray_type;
typedef enum { napi_configurable = 4, napi_default_method = 5 } napi_property_attributes;
/* clang-format on */

typedef struct {
    const char *utf8name;
    napi_value name;
    napi_callback method, getter, setter;
    napi_value value;
    napi_property_attributes attributes;
    void *data;
} napi_property_descriptor;

#define NAPI_AUTO_LENGTH SIZE_MAX

/* The functions. */
/* clang-format off */
#define SQLITE_BLOOM_NODE(F) \
    F(napi_call_function, (napi_env e, napi_value self, napi_value f, size_t n, \
        const napi_value *given, napi_value *result)) \
    F(napi_close_handle_scope, (napi_env e, napi_handle_scope scope)) \
    F(napi_create_buffer_copy, (napi_env e, size_t n, const void *from, void **data, \
        napi_value *result)) \
    F(napi_create_double, (napi_env e, double v, napi_value *result)) \
    F(napi_create_function, (napi_env e, const char *name, size_t n, napi_callback f, \
        void *data, napi_value *result)) \
    F(napi_create_reference, (napi_env e, napi_value v, uint32_t count, napi_ref *result)) \
    F(napi_create_string_utf8, (napi_env e, const char *text, size_t n, napi_value *result)) \
    F(napi_define_class, (napi_env e, const char *name, size_t length, napi_callback make, \
        void *data, size_t n, const napi_property_descriptor *properties, napi_value *result)) \
    F(napi_get_array_length, (napi_env e, napi_value v, uint32_t *n)) \
    F(napi_get_arraybuffer_info, (napi_env e, napi_value v, void **data, size_t *n)) \
    F(napi_get_boolean, (napi_env e, bool v, napi_value *result)) \
    F(napi_get_cb_info, (napi_env e, napi_callback_info info, size_t *n, napi_value *given, \
        napi_value *self, void **data)) \
    F(napi_get_element, (napi_env e, napi_value v, uint32_t i, napi_value *result)) \
    F(napi_get_instance_data, (napi_env e, void **data)) \
    F(napi_get_reference_value, (napi_env e, napi_ref reference, napi_value *result)) \
    F(napi_get_typedarray_info, (napi_env e, napi_value v, napi_typedarray_type *type, \
        size_t *n, void **data, napi_value *buffer, size_t *offset)) \
    F(napi_get_value_bigint_int64, (napi_env e, napi_value v, int64_t *result, bool *lossless)) \
    F(napi_get_value_double, (napi_env e, napi_value v, double *result)) \
    F(napi_get_value_uint32, (napi_env e, napi_value v, uint32_t *result)) \
    F(napi_get_value_string_utf8, (napi_env e, napi_value v, char *to, size_t room, size_t *n)) \
    F(napi_is_exception_pending, (napi_env e, bool *is)) \
    F(napi_open_handle_scope, (napi_env e, napi_handle_scope *scope)) \
    F(napi_set_instance_data, (napi_env e, void *data, napi_finalize finalize, void *hint)) \
    F(napi_throw_error, (napi_env e, const char *code, const char *text))
/* clang-format on */

/* Programs in which Node is embedded have other names, and Windows binds a function to the file
 * that has it. So there SQLITE_BLOOM_FIND_NODE() finds the functions in the program that runs. */
#ifdef _WIN32
#include <windows.h>
#define SQLITE_BLOOM_FUNCTION_OF_NODE(name, parameters) static napi_status(*name) parameters;
#define SQLITE_BLOOM_FIND(name, parameters)                                                        \
    *(FARPROC *)&name = GetProcAddress(GetModuleHandleA(NULL), #name);                             \
    found = found && name != NULL;
SQLITE_BLOOM_NODE(SQLITE_BLOOM_FUNCTION_OF_NODE)
static inline bool SQLITE_BLOOM_FIND_NODE(void) {
    bool found = true;
    SQLITE_BLOOM_NODE(SQLITE_BLOOM_FIND)
    return found;
}
#else
#define SQLITE_BLOOM_FUNCTION_OF_NODE(name, parameters) extern napi_status name parameters;
#define SQLITE_BLOOM_FIND_NODE() true
SQLITE_BLOOM_NODE(SQLITE_BLOOM_FUNCTION_OF_NODE)
#endif

#endif
