# ruby ruby.rb PATH_OF_THE_LIBRARY, with the gem sqlite3
require "digest"
require "sqlite3"

database = SQLite3::Database.new(":memory:")
database.enable_load_extension(true)
database.load_extension(ARGV[0])
database.execute("CREATE TABLE numbers AS WITH RECURSIVE c(i) AS
  (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 1000) SELECT i FROM c")
f = database.get_first_value("SELECT bloom_agg('key-' || i, 1000, 0.01) FROM numbers")
puts "md5 #{Digest::MD5.hexdigest(f)}"
found = database.get_first_value("SELECT sum(bloom_check(?1, 'key-' || i)) || ' ' ||
  sum(bloom_check(?1, 'absent-' || i)) FROM numbers", [SQLite3::Blob.new(f)])
puts "found #{found}"
puts "integer #{database.get_first_value("SELECT bloom_check(bloom_agg(42), ?)", [42])}"
begin
  database.get_first_value("SELECT bloom_check(NULL, 1)")
rescue SQLite3::Exception => error
  puts "error #{error.message}"
end
