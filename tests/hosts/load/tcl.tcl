# tclsh tcl.tcl PATH_OF_THE_LIBRARY, with the package sqlite3
package require sqlite3

sqlite3 database :memory:
database enable_load_extension 1
set library [lindex $argv 0]
database eval {SELECT load_extension($library)}
database eval {CREATE TABLE numbers AS WITH RECURSIVE c(i) AS
  (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 1000) SELECT i FROM c}
set f [database onecolumn {SELECT bloom_agg('key-' || i, 1000, 0.01) FROM numbers}]
set pipe [open "|md5sum" r+b]
puts -nonewline $pipe $f
close $pipe write
puts "md5 [lindex [read $pipe] 0]"
# @f binds a BLOB, where $f would bind TEXT: an error.
puts "found [database onecolumn {SELECT sum(bloom_check(@f, 'key-' || i)) || ' ' ||
  sum(bloom_check(@f, 'absent-' || i)) FROM numbers}]"
# What came from arithmetic is a number; what was read or typed is TEXT, and not found.
set key [expr {41 + 1}]
puts "integer [database onecolumn {SELECT bloom_check(bloom_agg(42), $key)}]"
catch {database onecolumn {SELECT bloom_check(NULL, 1)}} message
puts "error $message"
