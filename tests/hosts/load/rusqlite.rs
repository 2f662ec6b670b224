// With rusqlite, features = ["bundled", "load_extension"], and the crate md5.
use rusqlite::{Connection, LoadExtensionGuard};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let database = Connection::open_in_memory()?;
    // Safety: the library is ours.
    unsafe {
        let _guard = LoadExtensionGuard::new(&database)?;
        database.load_extension(std::env::args().nth(1).unwrap(), None::<&str>)?;
    }
    database.execute_batch(
        "CREATE TABLE numbers AS WITH RECURSIVE c(i) AS
         (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 1000) SELECT i FROM c",
    )?;
    let f: Vec<u8> = database.query_row(
        "SELECT bloom_agg('key-' || i, 1000, 0.01) FROM numbers", [], |row| row.get(0))?;
    println!("md5 {:x}", md5::compute(&f));
    let found: String = database.query_row(
        "SELECT sum(bloom_check(?1, 'key-' || i)) || ' ' || sum(bloom_check(?1, 'absent-' || i))
         FROM numbers", [&f], |row| row.get(0))?;
    println!("found {found}");
    let integer: i64 =
        database.query_row("SELECT bloom_check(bloom_agg(42), ?1)", [42], |row| row.get(0))?;
    println!("integer {integer}");
    let answer: Result<i64, _> =
        database.query_row("SELECT bloom_check(NULL, 1)", [], |row| row.get(0));
    println!("error {}", answer.unwrap_err());
    Ok(())
}
