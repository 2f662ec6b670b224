# Filled in by build.py, which puts the libraries of all platforms into lib/sqlite_bloom.
Gem::Specification.new do |gem|
  gem.name = "sqlite-bloom"
  gem.version = "@RELEASE@"
  gem.summary = "@SUMMARY@"
  gem.authors = ["@MAINTAINER@"]
  gem.email = "@EMAIL@"
  gem.homepage = "@HOMEPAGE@"
  gem.license = "MIT"
  gem.metadata = { "source_code_uri" => "@REPOSITORY@", "bug_tracker_uri" => "@ISSUES@" }
  gem.required_ruby_version = ">= 2.7"
  gem.files = Dir["lib/**/*", "README.md", "LICENSE"]
end
