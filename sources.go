// Package sources makes go mod vendor copy what ext/packages/go compiles: it copies folders with Go
// code, and files that Go code embeds. No program gets these files, because none uses them.
package sources

import "embed"

//go:embed ext/*.c ext/*.h ext/packages/sqlite
//go:embed ext/base ext/filter ext/foreign ext/hash ext/list ext/sqlite ext/table ext/url
var files embed.FS
