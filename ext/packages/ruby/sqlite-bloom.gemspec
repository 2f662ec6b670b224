# In the repository the gem compiles the library for this machine. build.py puts those of all
# platforms into lib/sqlite_bloom instead.
Gem::Specification.new do |gem|
  gem.name = "sqlite-bloom"
  gem.version = "1.1.0"
  gem.summary = "Persistent Bloom filters for SQLite: values, aggregates and tables"
  gem.authors = ["The bloom contributors"]
  gem.email = "bloom@bloom.example"
  gem.homepage = "https://bloom.example/sqlite-bloom"
  gem.license = "MIT"
  gem.metadata = { "source_code_uri" => "https://bloom.example/sqlite-bloom.git",
                   "bug_tracker_uri" => "https://bloom.example/sqlite-bloom/issues" }
  gem.required_ruby_version = ">= 2.7"
  gem.files = Dir.chdir(__dir__) { Dir["lib/**/*", "extconf.rb", "README.md", "LICENSE"] }
  gem.extensions = ["extconf.rb"] unless
    Dir.exist?(File.join(__dir__, "lib/sqlite_bloom/linux-x86_64"))
end
