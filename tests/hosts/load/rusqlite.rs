// With rusqlite, features = ["bundled", "load_extension"], and the crate md5.
use rusqlite::{params, Connection, LoadExtensionGuard};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let database = Connection::open_in_memory()?;
    // Safety: the library is ours.
    unsafe {
        let _guard = LoadExtensionGuard::new(&database)?;
        database.load_extension(std::env::args().nth(1).unwrap(), None::<&str>)?;
    }
    let f: Vec<u8> = database.query_row(
        "SELECT bloom_agg(column1) FROM (VALUES ('a'), ('b'), (42))", [], |row| row.get(0))?;
    println!("md5 {:x}", md5::compute(&f));
    let found: String = database.query_row(
        "SELECT bloom_check(?1, 'a') || bloom_check(?1, 'c') || bloom_check(?1, ?2)",
        params![f, 42], |row| row.get(0))?;
    println!("found {found}");
    let answer: Result<i64, _> =
        database.query_row("SELECT bloom_check(NULL, 1)", [], |row| row.get(0));
    println!("error {}", answer.unwrap_err());
    Ok(())
}
