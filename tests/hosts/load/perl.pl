# perl perl.pl PATH_OF_THE_LIBRARY, with DBD::SQLite
use strict;
use warnings;
use DBI qw(:sql_types);
use Digest::MD5 qw(md5_hex);

my $database =
    DBI->connect("dbi:SQLite:dbname=:memory:", "", "", { RaiseError => 1, PrintError => 0 });
$database->sqlite_enable_load_extension(1);
$database->sqlite_load_extension($ARGV[0]);
my ($f) = $database->selectrow_array(
    "SELECT bloom_agg(column1) FROM (VALUES ('a'), ('b'), (42))");
print "md5 ", md5_hex($f), "\n";
my $found = $database->prepare(
    "SELECT bloom_check(?1, 'a') || bloom_check(?1, 'c') || bloom_check(?1, ?2)");
$found->bind_param(1, $f, SQL_BLOB);        # without a type it would be TEXT: an error
$found->bind_param(2, 42, SQL_INTEGER);     # without a type it would be TEXT: not found
$found->execute;
print "found ", $found->fetchrow_array, "\n";
eval { $database->selectrow_array("SELECT bloom_check(NULL, 1)") };
print "error $@";
