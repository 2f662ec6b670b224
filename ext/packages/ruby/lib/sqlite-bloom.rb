# What Bundler requires for a gem of this name.
require_relative "sqlite_bloom"
