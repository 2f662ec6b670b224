/* SQLite's functions through the pointers that it passes to an extension. See sqlite3.h here. */
#ifndef SQLITE3EXT_H
#define SQLITE3EXT_H

#include "sqlite3.h"

typedef struct sqlite3_api_routines sqlite3_api_routines;

#define SQLITE_BLOOM_MEMBER(type, name, parameters, arguments) type(*name) parameters;
#define SQLITE_BLOOM_MEMBER_P(name, parameters, arguments) void(*name) parameters;
#define SQLITE_BLOOM_MEMBER_V(type, name, member, parameters) type(*member) parameters;
#define SQLITE_BLOOM_UNUSED(name, count) void (*before_##name[count])(void);
struct sqlite3_api_routines {
    SQLITE_BLOOM_FUNCTIONS(SQLITE_BLOOM_MEMBER, SQLITE_BLOOM_MEMBER_P, SQLITE_BLOOM_MEMBER_V,
                           SQLITE_BLOOM_UNUSED)
};

#define SQLITE_EXTENSION_INIT3
#ifdef SQLITE_CORE /* the linker finds them */
#define SQLITE_EXTENSION_INIT1
#else
extern const sqlite3_api_routines *sqlite3_api;
#define SQLITE_EXTENSION_INIT1 const sqlite3_api_routines *sqlite3_api = 0;

#define SQLITE_BLOOM_CALL(type, name, parameters, arguments)                                       \
    static inline type sqlite3_##name parameters {                                                 \
        return sqlite3_api->name arguments;                                                        \
    }
#define SQLITE_BLOOM_CALL_P(name, parameters, arguments)                                           \
    static inline void sqlite3_##name parameters {                                                 \
        sqlite3_api->name arguments;                                                               \
    }
#define SQLITE_BLOOM_CALL_V(type, name, member, parameters)
SQLITE_BLOOM_FUNCTIONS(SQLITE_BLOOM_CALL, SQLITE_BLOOM_CALL_P, SQLITE_BLOOM_CALL_V,
                       SQLITE_BLOOM_NOTHING)
#define sqlite3_db_config sqlite3_api->db_config
#define sqlite3_log sqlite3_api->log
#define sqlite3_mprintf sqlite3_api->mprintf
#define sqlite3_snprintf sqlite3_api->xsnprintf
#define sqlite3_str_appendf sqlite3_api->str_appendf
#define sqlite3_vtab_config sqlite3_api->vtab_config
#endif

#endif
