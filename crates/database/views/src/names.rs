//! Names of what every database has one of, until there are users and schemas.
//!
//! Callers: all views; SQL's `current_user`, `current_database` and `current_schema` say the same.

/// The database.
pub const DATABASE: &str = "forebay";

/// The one user, who may do everything.
pub const USER: &str = "forebay";

/// The schema of all tables that users make.
pub const PUBLIC: &str = "public";

/// The owner of what the instance itself keeps: undo, the dictionary.
pub const SYS: &str = "sys";
