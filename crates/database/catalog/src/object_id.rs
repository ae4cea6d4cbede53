//! Names of objects by kind and number, and the schema that they are in.
//!
//! Tables are numbered as their first segments are; sequences, views and external tables share
//! another series. So a number alone names nothing.
//!
//! Callers: `dictionary`, `texts`; SQL, whose plans remember which objects they read.

use ids::ObjectNo;

/// The schema of all objects. Names aren't qualified yet: this is the only one.
pub const SCHEMA: &str = "public";

/// An object whose name is in the one name space of the schema: its kind, and its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ObjectId {
    /// A table.
    Table(ObjectNo),
    /// A view.
    View(ObjectNo),
    /// A sequence.
    Sequence(ObjectNo),
    /// An external table.
    External(ObjectNo),
}

impl ObjectId {
    /// The word for its kind.
    pub fn kind(self) -> &'static str {
        match self {
            ObjectId::Table(_) => "table",
            ObjectId::View(_) => "view",
            ObjectId::Sequence(_) => "sequence",
            ObjectId::External(_) => "external table",
        }
    }

    /// Its number, among those of its kind.
    pub fn number(self) -> ObjectNo {
        let (ObjectId::Table(number)
        | ObjectId::View(number)
        | ObjectId::Sequence(number)
        | ObjectId::External(number)) = self;
        number
    }

    /// The number of its kind in the dictionary.
    pub(crate) fn stored_kind(self) -> u8 {
        match self {
            ObjectId::Table(_) => 1,
            ObjectId::View(_) => 2,
            ObjectId::Sequence(_) => 3,
            ObjectId::External(_) => 4,
        }
    }

    /// The object with this kind and this number; none if there is no such kind, or no such number.
    pub(crate) fn from_stored(kind: u8, number: u32) -> Option<ObjectId> {
        let number = (number > 0).then(|| ObjectNo::new(number))?;
        Some(match kind {
            1 => ObjectId::Table(number),
            2 => ObjectId::View(number),
            3 => ObjectId::Sequence(number),
            4 => ObjectId::External(number),
            _ => return None,
        })
    }
}
