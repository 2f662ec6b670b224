// Package bloom gives github.com/mattn/go-sqlite3 persistent Bloom filters: values, aggregates and
// tables, compiled in by cgo.
//
//	bloom.Register()
//	database, err := sql.Open("sqlite3", ":memory:")
//	// SELECT bloom_check(bloom_add(bloom_new(100), 'a'), 'a')
//
// Drivers without C (modernc.org/sqlite, ncruces/go-sqlite3) cannot take it; the README says how
// they read its filters.
package bloom

/*
#cgo CFLAGS: -std=c11 -O2 -fvisibility=hidden -DSQLITE_CORE
#cgo CFLAGS: -I${SRCDIR}/../sqlite -I${SRCDIR}/../..
#cgo linux LDFLAGS: -lm
#cgo freebsd LDFLAGS: -lm
#cgo darwin LDFLAGS: -Wl,-undefined,dynamic_lookup
#include "sqlite-bloom.h"

static int register_bloom(void) {
    return sqlite3_auto_extension((void (*)(void))sqlite3_bloom_init);
}
*/
import "C"

import (
	"fmt"

	// So that go mod vendor finds the C sources.
	_ "bloom.example/sqlite-bloom"
	// The driver brings the SQLite that this package is linked with.
	_ "github.com/mattn/go-sqlite3"
)

// Register gives every connection that is opened from now on the functions and tables of bloom.
// Calling it again changes nothing.
func Register() error {
	if code := C.register_bloom(); code != C.SQLITE_OK {
		return fmt.Errorf("bloom could not be registered: SQLite error %d", int(code))
	}
	return nil
}
