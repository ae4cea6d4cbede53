//! The programs whose SQL is written, and what each of them can do.
//!
//! A case is drawn for a rival, so that it contains nothing that the rival can't do or does in
//! another way by design; the table of those choices is [`crate::choices`].
//!
//! Callers: all of `generate`.

/// Whose words a text is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// Ours.
    Forebay,
    /// SQLite's.
    Sqlite,
    /// PostgreSQL's.
    Postgresql,
}

/// With whom Forebay is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rival {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgresql,
    /// Nobody but Forebay itself.
    Nobody,
}

impl Rival {
    /// The name in commands.
    pub fn name(self) -> &'static str {
        match self {
            Rival::Sqlite => "sqlite",
            Rival::Postgresql => "postgresql",
            Rival::Nobody => "nobody",
        }
    }

    /// The rival of this name.
    pub fn named(name: &str) -> Option<Rival> {
        [Rival::Sqlite, Rival::Postgresql, Rival::Nobody].into_iter().find(|it| it.name() == name)
    }

    /// The rival's dialect; ours if it is nobody.
    pub fn dialect(self) -> Dialect {
        match self {
            Rival::Sqlite => Dialect::Sqlite,
            Rival::Postgresql => Dialect::Postgresql,
            Rival::Nobody => Dialect::Forebay,
        }
    }

    /// Whether numbers and days at their limits are compared. SQLite has doubles behind 64 bits,
    /// and no days.
    pub(super) fn has_limits(self) -> bool {
        self != Rival::Sqlite
    }

    /// Whether its RIGHT and FULL JOIN can be compared with.
    pub(super) fn joins_right(self) -> bool {
        self != Rival::Sqlite
    }

    /// Whether it has INTERSECT ALL, EXCEPT ALL, ANY, ALL, LATERAL, and divides as we do.
    pub(super) fn is_complete(self) -> bool {
        self != Rival::Sqlite
    }
}
