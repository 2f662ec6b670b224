/* cgo compiles the C files of this folder: this one is all of the extension. */
#include "../../sqlite-bloom.c"
