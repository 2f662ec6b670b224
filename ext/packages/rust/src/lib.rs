//! Persistent Bloom filters for SQLite: values, aggregates and tables, for rusqlite and whatever
//! else links SQLite in.
//!
//! ```
//! sqlite_bloom::register().unwrap();
//! let connection = rusqlite::Connection::open_in_memory().unwrap();
//! let found: bool = connection
//!     .query_row("SELECT bloom_check(bloom_add(bloom_new(100), 'a'), 'a')", [], |row| row.get(0))
//!     .unwrap();
//! assert!(found);
//! ```
#![warn(missing_docs)]

use std::os::raw::{c_char, c_int, c_void};

// The crate whose build script compiles or finds SQLite; it must be linked behind this one.
use libsqlite3_sys as _;

extern "C" {
    fn sqlite3_auto_extension(
        entry: Option<unsafe extern "C" fn(*mut c_void, *mut *mut c_char, *const c_void) -> c_int>,
    ) -> c_int;

    /// The entry point of the extension, as SQLite calls it: connection, error message, API. For
    /// one connection alone call it with its handle and two null pointers.
    pub fn sqlite3_bloom_init(
        database: *mut c_void,
        error: *mut *mut c_char,
        api: *const c_void,
    ) -> c_int;
}

/// Why the extension could not be registered: out of memory, as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Error {
    /// SQLite's code.
    pub code: c_int,
}

impl std::fmt::Display for Error {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "bloom could not be registered: SQLite error {}", self.code)
    }
}

impl std::error::Error for Error {}

/// Gives every connection that is opened from now on the functions and tables of bloom. Calling it
/// again changes nothing.
pub fn register() -> Result<(), Error> {
    // Safety: SQLite calls the entry point with what it declares; both live as long as the program.
    match unsafe { sqlite3_auto_extension(Some(sqlite3_bloom_init)) } {
        0 => Ok(()),
        code => Err(Error { code }),
    }
}
