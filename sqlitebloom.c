/* cgo compiles the C files beside sqlitebloom.go, each once. */
#include "sqlite-bloom.c"
