<?php // php -d sqlite3.extension_dir=FOLDER php.php, with the library in that folder
$database = new SQLite3(':memory:');
$database->enableExceptions(true);
$database->loadExtension('bloom.so');
$database->exec('CREATE TABLE numbers AS WITH RECURSIVE c(i) AS
  (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 1000) SELECT i FROM c');
$f = $database->querySingle("SELECT bloom_agg('key-' || i, 1000, 0.01) FROM numbers");
echo 'md5 ', md5($f), "\n";
$found = $database->prepare("SELECT sum(bloom_check(?1, 'key-' || i)) || ' ' ||
  sum(bloom_check(?1, 'absent-' || i)) FROM numbers");
$found->bindValue(1, $f, SQLITE3_BLOB); // without SQLITE3_BLOB it would be TEXT: an error
echo 'found ', $found->execute()->fetchArray()[0], "\n";
$integer = $database->prepare('SELECT bloom_check(bloom_agg(42), ?)');
$integer->bindValue(1, 42);
echo 'integer ', $integer->execute()->fetchArray()[0], "\n";
try {
    $database->querySingle('SELECT bloom_check(NULL, 1)');
} catch (Exception $error) {
    echo 'error ', $error->getMessage(), "\n";
}
