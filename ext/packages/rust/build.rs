//! Compiles the extension into the program: the sources of the repository, in which this folder is
//! ext/packages/rust, or the one file that a published crate has beside this one.
use std::path::Path;

fn main() {
    let published = Path::new("sqlite-bloom.c").exists();
    let (sources, headers) = if published { (".", "sqlite") } else { ("../..", "../sqlite") };
    let source = format!("{sources}/sqlite-bloom.c");
    assert!(
        Path::new(&source).exists(),
        "sqlite-bloom: there is no {source}: take the whole repository, not this folder alone"
    );
    cc::Build::new()
        .include(headers)
        .include(sources)
        .file(source)
        .define("SQLITE_CORE", None)
        .flag_if_supported("-std=c11")
        .flag_if_supported("/std:c11")
        .flag_if_supported("-ffp-contract=off")
        .flag_if_supported("-fvisibility=hidden")
        .warnings(false)
        .compile("sqlite_bloom");
    println!("cargo:rerun-if-changed={sources}");
}
