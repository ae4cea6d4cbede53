//! What a check finds: one line that says where, what is wrong, and what to do.
//!
//! Callers: the checks make them; whoever asked for the check shows them.

use std::fmt;

use ids::Dba;

/// Declares the kinds; the sentences are the doc comments.
macro_rules! kinds {
    ($($(#[doc = $about:literal])+ $kind:ident = $name:literal, $advice:literal;)+) => {
        /// What is wrong, and so what to do.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Kind {
            $($(#[doc = $about])+ $kind,)+
        }

        impl Kind {
            /// All of them.
            pub const ALL: &[Kind] = &[$(Kind::$kind),+];

            /// As it is shown.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kind::$kind => $name,)+
                }
            }

            /// What to do.
            pub const fn advice(self) -> &'static str {
                match self {
                    $(Kind::$kind => $advice,)+
                }
            }
        }
    };
}

kinds! {
    /// A copy of the control file can't be used.
    Control = "control", "copy the good control file over it";
    /// A member of a redo log group isn't what the control file says.
    Log = "log", "drop the member and add it again";
    /// A data file isn't there, or isn't the one that the control file means.
    File = "file", "restore the file from a good copy";
    /// A block isn't what was written there: torn, rotted, lost or misdirected.
    Block = "block", "restore the file from a good copy";
    /// A whole block contradicts itself.
    Structure = "structure", "restore the file from a good copy, and report this";
    /// Directory, segment headers and extent maps don't agree.
    Space = "space", "unload what can be read, and restore";
    /// Transaction tables and undo blocks don't agree.
    Undo = "undo", "restore from a good copy, and report this";
    /// A row's pieces don't hang together.
    Chain = "chain", "restore the table, or delete the row";
    /// The dictionary contradicts itself, or can't be read.
    Dictionary = "dictionary", "restore from a good copy, and report this";
    /// A segment isn't there that has to be.
    Missing = "missing", "restore from a good copy, and report this";
    /// A segment of a table or an index is nobody's: a crash has left it.
    Orphan = "orphan", "open the database with its catalog: that drops it";
    /// A row isn't what its table's columns are.
    Row = "row", "restore the table, or delete the row";
    /// A row breaks a CHECK of its table.
    Check = "check", "change the row, or delete it";
    /// A row refers to one that isn't there.
    ForeignKey = "foreign key", "insert the row that it refers to, or change or delete it";
    /// A sequence gives numbers again that rows have.
    Sequence = "sequence", "take its values until they are beyond, before rows get them";
    /// A tree's blocks don't hang together, or its entries aren't in order.
    Index = "index", "rebuild the index";
    /// A unique index has a key twice.
    Duplicate = "duplicate", "delete one of the rows, and rebuild the index";
    /// An index has an entry whose row isn't there, or has another key.
    EntryWithoutRow = "entry without row", "rebuild the index";
    /// A row has no entry in an index.
    RowWithoutEntry = "row without entry", "rebuild the index";
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Of which kind.
    pub kind: Kind,
    /// The file: its path.
    pub file: String,
    /// The block, if it is one of a data file.
    pub block: Option<Dba>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.file)?;
        if let Some(block) = self.block {
            write!(f, " block {}", block.block)?;
        }
        write!(f, " {}; {}", self.what, self.kind.advice())
    }
}
