<?php // php -d sqlite3.extension_dir=FOLDER php.php, with the library in that folder
$database = new SQLite3(':memory:');
$database->enableExceptions(true);
$database->loadExtension('bloom.so');
$f = $database->querySingle("SELECT bloom_agg(column1) FROM (VALUES ('a'), ('b'), (42))");
echo 'md5 ', md5($f), "\n";
$found = $database->prepare(
    "SELECT bloom_check(?1, 'a') || bloom_check(?1, 'c') || bloom_check(?1, ?2)");
$found->bindValue(1, $f, SQLITE3_BLOB); // without SQLITE3_BLOB it would be TEXT: an error
$found->bindValue(2, 42);
echo 'found ', $found->execute()->fetchArray()[0], "\n";
try {
    $database->querySingle('SELECT bloom_check(NULL, 1)');
} catch (Exception $error) {
    echo 'error ', $error->getMessage(), "\n";
}
