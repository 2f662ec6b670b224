//! Compiles the amalgamation into the program, against the headers of the SQLite that
//! libsqlite3-sys brings, or its own copy.
use std::{env, path::Path};

fn main() {
    let mut build = cc::Build::new();
    if let Some(bundled) = env::var_os("DEP_SQLITE3_INCLUDE") {
        if Path::new(&bundled).join("sqlite3ext.h").exists() {
            build.include(bundled);
        }
    }
    build
        .include("sqlite")
        .file("sqlite-bloom.c")
        .define("SQLITE_CORE", None)
        .flag_if_supported("-std=c11")
        .flag_if_supported("/std:c11")
        .flag_if_supported("-ffp-contract=off")
        .warnings(false)
        .compile("sqlite_bloom");
    println!("cargo:rerun-if-changed=sqlite-bloom.c");
}
