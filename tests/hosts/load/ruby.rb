# ruby ruby.rb PATH_OF_THE_LIBRARY, with the gem sqlite3
require "digest"
require "sqlite3"

database = SQLite3::Database.new(":memory:")
database.enable_load_extension(true)
database.load_extension(ARGV[0])
f = database.get_first_value("SELECT bloom_agg(column1) FROM (VALUES ('a'), ('b'), (42))")
puts "md5 #{Digest::MD5.hexdigest(f)}"
found = database.get_first_value(
  "SELECT bloom_check(?1, 'a') || bloom_check(?1, 'c') || bloom_check(?1, ?2)",
  [SQLite3::Blob.new(f), 42])
puts "found #{found}"
begin
  database.get_first_value("SELECT bloom_check(NULL, 1)")
rescue SQLite3::Exception => error
  puts "error #{error.message}"
end
