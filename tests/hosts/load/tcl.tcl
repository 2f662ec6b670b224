# tclsh tcl.tcl PATH_OF_THE_LIBRARY, with Debian's libsqlite3-tcl. Filters are bound as @f, which is
# a BLOB. $k is TEXT after `set k 42`, so cast it: CAST($k AS INTEGER).
package require sqlite3

sqlite3 db :memory:
db enable_load_extension 1
set path [lindex $argv 0]
db eval {SELECT load_extension($path)}

set f [db onecolumn {SELECT bloom_agg(column1) FROM (VALUES ('a'), ('b'), (42))}]
set file [open |md5sum r+]
fconfigure $file -translation binary
puts -nonewline $file $f
close $file write
puts "md5 [lindex [gets $file] 0]"

set k 42
puts "found [db onecolumn {
    SELECT bloom_check(@f, 'a') || bloom_check(@f, 'c') || bloom_check(@f, CAST($k AS INTEGER))
}]"
if {[catch {db eval {SELECT bloom_check(NULL, 'a')}} message]} {
    puts "error $message"
}
