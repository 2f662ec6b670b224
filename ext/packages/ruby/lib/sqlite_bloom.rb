# Persistent Bloom filters for SQLite: finds the library for this machine and loads it.
require "rbconfig"

module SqliteBloom
  VERSION = "1.1.0"

  # The path of the library. The gem sqlite3 asks for it as to_path, from 2.4 on, when SqliteBloom
  # is among the `extensions:` of a database.
  def self.loadable_path
    cpu = RbConfig::CONFIG["host_cpu"]
    cpu = { "arm64" => "aarch64", "x64" => "x86_64" }.fetch(cpu, cpu)
    system, file = case RbConfig::CONFIG["host_os"]
                   when /musl/ then ["musl", "bloom.so"]
                   when /linux/ then ["linux", "bloom.so"]
                   when /darwin/ then ["macos", "bloom.dylib"]
                   when /mswin|mingw/ then ["windows", "bloom.dll"]
                   end
    # In the repository a C compiler has made it: Bundler's, or make.
    folders = ["sqlite_bloom/#{system}-#{cpu}", "sqlite_bloom/compiled", "../../../.."]
    path = folders.map { |folder| File.expand_path("#{folder}/#{file}", __dir__) }
                  .find { |path| file && File.file?(path) }
    path || raise(LoadError, "sqlite-bloom has no library for #{RUBY_PLATFORM}. If this is the " \
                             "repository, run make there. Otherwise build bloom from its source, " \
                             "and load it with load_extension")
  end

  def self.to_path
    loadable_path
  end

  # Loads the functions and tables into a SQLite3::Database.
  def self.load(database)
    unless database.respond_to?(:load_extension)
      raise TypeError, "SqliteBloom.load: the database is #{database.inspect[0, 60]}. Pass a " \
                       "SQLite3::Database"
    end
    database.enable_load_extension(true)
    database.load_extension(loadable_path)
  ensure
    database.enable_load_extension(false) if database.respond_to?(:enable_load_extension)
  end
end
