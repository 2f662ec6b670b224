// Package sqlitebloom gives github.com/mattn/go-sqlite3 persistent Bloom filters: values,
// aggregates and tables, compiled in by cgo.
//
//	sqlitebloom.Register()
//	database, err := sql.Open("sqlite3", ":memory:")
//	// SELECT bloom_check(bloom_add(bloom_new(100), 'a'), 'a')
//
// Drivers without C (modernc.org/sqlite, ncruces/go-sqlite3) cannot take it; the README of
// ext/packages/go says how they read its filters.
package sqlitebloom

/*
#cgo CFLAGS: -std=c11 -O2 -fvisibility=hidden -DSQLITE_CORE
#cgo CFLAGS: -I${SRCDIR}/ext/packages/sqlite -I${SRCDIR}/ext
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
	"embed"
	"fmt"

	// The driver brings the SQLite that this package is linked with.
	_ "github.com/mattn/go-sqlite3"
)

// Makes go mod vendor copy the C sources, since it copies what Go code embeds. No program gets
// these files, because none uses them.
//
//go:embed ext/*.c ext/*.h ext/packages/sqlite
//go:embed ext/base ext/filter ext/foreign ext/hash ext/list ext/sqlite ext/table ext/url
var _ embed.FS

// Register gives every connection that is opened from now on the functions and tables of bloom.
// Calling it again changes nothing.
func Register() error {
	if code := C.register_bloom(); code != C.SQLITE_OK {
		return fmt.Errorf("bloom could not be registered: SQLite error %d", int(code))
	}
	return nil
}
