# Compiles the extension of the repository, in which this folder is ext/packages/ruby. RubyGems and
# Bundler run this, and then make, when they install the gem from there. Ruby's headers are not
# needed, so mkmf is not, either.
require "fileutils"
require "rbconfig"
require "shellwords"

ext = File.expand_path("../..", __dir__)
source = File.join(ext, "sqlite-bloom.c")
abort "sqlite-bloom: there is no #{source}. Take the gem from a clone of the whole repository" \
  unless File.exist?(source)
file = { "darwin" => "bloom.dylib", "mswin" => "bloom.dll", "mingw" => "bloom.dll" }
       .fetch(RbConfig::CONFIG["host_os"][/darwin|mswin|mingw/], "bloom.so")
library = File.join(__dir__, "lib/sqlite_bloom/compiled", file)
FileUtils.mkdir_p(File.dirname(library))
compiler = Shellwords.split(ENV["CC"] || "cc")
flags = %w[-std=c11 -O2 -ffp-contract=off -fvisibility=hidden -fPIC -shared]
system(*compiler, *flags, "-I#{ext}/packages/sqlite", "-I#{ext}", source, "-o", library, "-lm") ||
  abort("sqlite-bloom: #{compiler.join(' ')} failed. Install gcc or clang, or set CC to one")
File.write("Makefile", "all install clean:\n")
