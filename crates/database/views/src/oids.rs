//! Oids: numbers by which PostgreSQL's catalogue and its clients name things.
//!
//! ```text
//!   below 10000          what PostgreSQL itself names so: types, its tables of the catalogue
//!   10000 to 16383       the other views of this room, by their place in the list
//!   16384 + 4 n          a table or an index of number n       (one series of numbers)
//!   16384 + 4 n + 1      a sequence, view or external table    (another series)
//!   16384 + 4 n + 2      the constraint of index n
//!   2^31 and above       another constraint, by a hash of its table's number and its name
//! ```
//!
//! Invariants
//!   * an oid of an object stays as long as the object does, over restarts too; that of a CHECK or
//!     a FOREIGN KEY changes when it is renamed (VW8)
//!   * an object's oid is never another object's, but two of these constraints may have one oid,
//!     with a chance of one in two billion
//!
//! Callers: `pg`, `lookup`.

use catalog::ObjectId;
use ids::ObjectNo;
use value::Type;

use crate::list::place_of;
use crate::objects::Constraint;
use crate::view::{Schema, View};

/// The first oid of what users make.
const FIRST: i64 = 16_384;
/// The first oid of views that PostgreSQL doesn't number.
const FIRST_VIEW: i64 = 10_000;
/// The first oid of constraints that are numbered by a hash.
const FIRST_HASHED: i64 = 1 << 31;

pub(crate) const PG_CATALOG: i64 = 11;
pub(crate) const PUBLIC: i64 = 2_200;
pub(crate) const INFORMATION_SCHEMA: i64 = 13_000;
/// The one user.
pub(crate) const USER: i64 = 10;
/// The one database.
pub(crate) const DATABASE: i64 = 5;
/// The access methods.
pub(crate) const HEAP: i64 = 2;
pub(crate) const BTREE: i64 = 403;
/// The collation of all texts: by their bytes.
pub(crate) const COLLATION_C: i64 = 950;
/// `pg_class`, in which comments on tables and columns say that they are.
pub(crate) const PG_CLASS: i64 = 1_259;

/// Tables of the catalogue that PostgreSQL numbers.
const NUMBERED: &[(&str, i64)] = &[
    ("pg_am", 2_601),
    ("pg_attrdef", 2_604),
    ("pg_attribute", 1_249),
    ("pg_class", PG_CLASS),
    ("pg_collation", 3_456),
    ("pg_constraint", 2_606),
    ("pg_database", 1_262),
    ("pg_depend", 2_608),
    ("pg_description", 2_609),
    ("pg_enum", 3_501),
    ("pg_index", 2_610),
    ("pg_inherits", 2_611),
    ("pg_namespace", 2_615),
    ("pg_policy", 3_256),
    ("pg_proc", 1_255),
    ("pg_publication", 6_104),
    ("pg_range", 3_541),
    ("pg_rewrite", 2_618),
    ("pg_statistic_ext", 3_381),
    ("pg_tablespace", 1_213),
    ("pg_trigger", 2_620),
    ("pg_type", 1_247),
];

/// The oid of a table or an index: both are numbered in one series.
pub(crate) fn of_object(object: ObjectNo) -> i64 {
    of_number(object.get())
}

/// The oid of a table or an index of this number, as locks know it.
pub(crate) fn of_number(number: u32) -> i64 {
    FIRST + 4 * i64::from(number)
}

/// The oid of a sequence.
pub(crate) fn of_sequence(object: ObjectNo) -> i64 {
    FIRST + 4 * i64::from(object.get()) + 1
}

/// The oid of an object of any kind.
pub(crate) fn of_id(id: ObjectId) -> i64 {
    match id {
        ObjectId::Table(object) => of_object(object),
        ObjectId::View(object) | ObjectId::Sequence(object) | ObjectId::External(object) => {
            of_sequence(object)
        }
    }
}

/// The oid of a constraint.
pub(crate) fn of_constraint(constraint: &Constraint<'_>) -> i64 {
    if let Some(index) = constraint.index {
        return FIRST + 4 * i64::from(index.object.get()) + 2;
    }
    let table = constraint.table.object.get().to_le_bytes();
    let hash = fnv(table.iter().copied().chain(constraint.name.bytes()));
    FIRST_HASHED + i64::from(hash & (u32::MAX >> 1))
}

/// The oid of the DEFAULT of a table's column.
pub(crate) fn of_default(table: ObjectNo, place: usize) -> i64 {
    let (table, place) = (table.get().to_le_bytes(), place.to_le_bytes());
    FIRST_HASHED + i64::from(fnv(table.into_iter().chain(place)) & (u32::MAX >> 1))
}

/// The oid of a tablespace: that of the system tablespace is PostgreSQL's `pg_default`.
pub(crate) fn of_tablespace(number: u16) -> i64 {
    1_662 + i64::from(number)
}

/// The same, and 0 for the system tablespace and for what has none, as `pg_class` has it.
pub(crate) fn of_tablespace_or_default(number: u16) -> i64 {
    if number <= 1 { 0 } else { of_tablespace(number) }
}

/// A hash of bytes (Fowler, Noll, Vo; 1a with 32 bits).
fn fnv(bytes: impl Iterator<Item = u8>) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(16_777_619);
    bytes.fold(2_166_136_261, step)
}

/// The oid of a view of this room.
pub(crate) fn of_view(view: &View) -> i64 {
    let numbered = NUMBERED.iter().find(|(name, _)| *name == view.name);
    match numbered {
        Some((_, oid)) if view.schema == Schema::PgCatalog => *oid,
        _ => FIRST_VIEW + i64::try_from(place_of(view)).expect("there are hundreds at most"),
    }
}

/// The oid of a schema of views.
pub(crate) fn of_schema(schema: Schema) -> i64 {
    match schema {
        Schema::PgCatalog => PG_CATALOG,
        Schema::InformationSchema => INFORMATION_SCHEMA,
    }
}

/// The oid of a type, as PostgreSQL has it.
pub(crate) fn of_type(kind: Type) -> i64 {
    match kind {
        Type::SmallInt => 21,
        Type::Integer => 23,
        Type::BigInt => 20,
        Type::Number(_) => 1_700,
        Type::Double => 701,
        Type::Varchar(_) => 1_043,
        Type::Char(_) => 1_042,
        Type::Text => 25,
        Type::Bytea => 17,
        Type::Boolean => 16,
        Type::Date => 1_082,
        Type::Timestamp => 1_114,
    }
}

/// The length, or precision and scale, as PostgreSQL packs it; -1 for a type without.
pub(crate) fn modifier(kind: Type) -> i64 {
    /// The bytes before a value of varying length, which PostgreSQL counts.
    const HEAD: i64 = 4;
    match kind {
        Type::Varchar(chars) | Type::Char(chars) => i64::from(chars.get()) + HEAD,
        Type::Number(Some(digits)) => {
            let scale = i64::from(digits.scale()) & 0x7ff;
            (i64::from(digits.precision()) << 16 | scale) + HEAD
        }
        _ => -1,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::list::all;

    /// No two views have one oid, and none has that of an object that a user made.
    #[test]
    fn views_have_oids_of_their_own() {
        let mut oids = BTreeSet::new();
        for view in all() {
            let oid = of_view(view);
            assert!(oids.insert(oid), "{} has the oid of another view", view.name);
            assert!(oid < FIRST, "{} has the oid of an object", view.name);
        }
        for (name, _) in NUMBERED {
            assert!(all().any(|view| view.name == *name), "there is no view {name}");
        }
    }

    /// Objects of all kinds with one number have different oids.
    #[test]
    fn kinds_of_objects_have_oids_of_their_own() {
        let numbers = [1, 2, 57, u32::MAX].map(ObjectNo::new);
        let oids: BTreeSet<i64> =
            numbers.iter().flat_map(|of| [of_object(*of), of_sequence(*of)]).collect();
        assert_eq!(oids.len(), 8);
    }

    #[test]
    fn lengths_are_packed_as_in_postgresql() {
        let number = Type::number(10, 2).expect("may be declared");
        assert_eq!(modifier(number), 655_366);
        assert_eq!(modifier(Type::varchar(20).expect("may be declared")), 24);
        assert_eq!(modifier(Type::Text), -1);
    }
}
