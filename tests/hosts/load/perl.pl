# perl perl.pl PATH_OF_THE_LIBRARY, with DBD::SQLite
use strict;
use warnings;
use DBI qw(:sql_types);
use Digest::MD5 qw(md5_hex);

my $database =
    DBI->connect("dbi:SQLite:dbname=:memory:", "", "", { RaiseError => 1, PrintError => 0 });
$database->sqlite_enable_load_extension(1);
$database->sqlite_load_extension($ARGV[0]);
$database->do("CREATE TABLE numbers AS WITH RECURSIVE c(i) AS
  (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 1000) SELECT i FROM c");
my ($f) = $database->selectrow_array("SELECT bloom_agg('key-' || i, 1000, 0.01) FROM numbers");
print "md5 ", md5_hex($f), "\n";
my $found = $database->prepare("SELECT sum(bloom_check(?1, 'key-' || i)) || ' ' ||
  sum(bloom_check(?1, 'absent-' || i)) FROM numbers");
$found->bind_param(1, $f, SQL_BLOB);     # without a type it would be TEXT: an error
$found->execute;
print "found ", $found->fetchrow_array, "\n";
my $integer = $database->prepare("SELECT bloom_check(bloom_agg(42), ?)");
$integer->bind_param(1, 42, SQL_INTEGER);    # without a type it would be TEXT: not found
$integer->execute;
print "integer ", $integer->fetchrow_array, "\n";
eval { $database->selectrow_array("SELECT bloom_check(NULL, 1)") };
print "error $@";
