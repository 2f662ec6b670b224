/* The state of each connection on which the extension is loaded, found by its sqlite3 pointer.
 *
 * It is counted by reference and not closed with the connection, because SQLite calls destructors
 * of pins and functions in any order, and some of them late. */
#include "sqlite/pins.h"

char bloom_pin_type[40];

static struct bloom_connection *connections; /* guarded by the lock */

struct bloom_connection *bloom_connection_open(sqlite3 *database) {
    bloom_lock();
    if (bloom_pin_type[0] == '\0') { /* an address in it tells the copies of the extension apart */
        const void *address = &connections;
        sqlite3_snprintf(sizeof bloom_pin_type, bloom_pin_type, "bloom_filter %p", address);
    }
    struct bloom_connection *connection = connections;
    while (connection != NULL && connection->database != database)
        connection = connection->next;
    if (connection != NULL)
        connection->references++;
    bloom_unlock();
    if (connection != NULL)
        return connection;
    connection = sqlite3_malloc(sizeof *connection);
    if (connection == NULL)
        return NULL;
    bloom_library_keep();
    bloom_lock();
    *connection =
        (struct bloom_connection){.database = database, .next = connections, .references = 1};
    connections = connection;
    bloom_unlock();
    return connection;
}

struct bloom_connection *bloom_connection_keep(struct bloom_connection *connection) {
    bloom_lock();
    connection->references++;
    bloom_unlock();
    return connection;
}

void bloom_connection_close(void *closed) {
    struct bloom_connection *connection = closed, **link = &connections;
    bloom_lock();
    bool last = --connection->references == 0;
    if (last) {
        while (*link != connection)
            link = &(*link)->next;
        *link = connection->next;
    }
    bloom_unlock();
    if (last) {
        sqlite3_free(connection);
        bloom_library_leave();
    }
}
