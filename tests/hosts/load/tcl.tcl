# tclsh tcl.tcl PATH_OF_THE_LIBRARY, with the package sqlite3
package require sqlite3

sqlite3 database :memory:
database enable_load_extension 1
set library [lindex $argv 0]
database eval {SELECT load_extension($library)}
set f [database onecolumn {SELECT bloom_agg(column1) FROM (VALUES ('a'), ('b'), (42))}]
set pipe [open "|md5sum" r+b]
puts -nonewline $pipe $f
close $pipe write
puts "md5 [lindex [read $pipe] 0]"
# @f binds a BLOB, where $f would bind TEXT: an error. What came from arithmetic is a number; what
# was read or typed is TEXT, and not found.
set key [expr {41 + 1}]
puts "found [database onecolumn {SELECT bloom_check(@f, 'a') || bloom_check(@f, 'c')
  || bloom_check(@f, $key)}]"
catch {database onecolumn {SELECT bloom_check(NULL, 1)}} message
puts "error $message"
