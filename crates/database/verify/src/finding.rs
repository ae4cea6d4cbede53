//! Findings of a check: one line each, which says where, what is wrong, and what to do (VF6).
//!
//! The advice can be followed. One data file can't be brought up to the others from an older copy,
//! since redo is kept for recovery after a crash only: so all files are restored from one copy,
//! made while the database was shut.
//!
//! Callers: the checks make findings; the caller of the check shows them.

use std::fmt;

use ids::Dba;

/// Declares the kinds; the sentences are the doc comments.
macro_rules! kinds {
    ($($(#[doc = $about:literal])+ $kind:ident = $name:literal, $advice:literal;)+) => {
        /// The kind of a fault, which decides the advice.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Kind {
            $($(#[doc = $about])+ $kind,)+
        }

        impl Kind {
            /// All of them.
            pub const ALL: &[Kind] = &[$(Kind::$kind),+];

            /// The name as it is shown.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kind::$kind => $name,)+
                }
            }

            /// The advice.
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
    Log = "log", "copy a good member of its group over it; without one, restore all files";
    /// A redo log group that recovery doesn't need is lost.
    LostLog = "lost log", "no redo of this group is needed: put the file back, or make the group \
        anew with forebay logs DIR --change clear_log_group=NUMBER";
    /// A redo log that recovery doesn't need has no header that can be read.
    FreeLog = "free log", "no redo of this group is needed: add another one and drop this, with \
        forebay logs DIR --change add_log_group=SIZE:PATH --change drop_log_group=NUMBER";
    /// The doublewrite file isn't there, or is too short.
    Doublewrite = "doublewrite", "put it back, or restore all files from one copy";
    /// Redo that opening needs isn't there, or is damaged.
    Redo = "redo", "until then the database can't be opened";
    /// A file is in use by a running instance, so it isn't checked.
    InUse = "in use", "leave this file as it is: this database seems to be a copy, and the file \
        the original's; verify the original when it is shut";
    /// A data file isn't there, or isn't the one that the control file means.
    File = "file", "restore all files from one copy";
    /// A block was changed later than the control file and the redo end.
    Ahead = "ahead", "restore all files from one copy";
    /// A block isn't what was written there: torn, rotted, lost or misdirected.
    Block = "block", "what it held is lost: restore all files from one copy";
    /// A block of a table has had rows, and is empty or another's now.
    Emptied = "emptied block", "its rows are lost: restore all files from one copy";
    /// A whole block contradicts itself.
    Structure = "structure", "restore all files from one copy, and report this";
    /// Directory, segment headers and extent maps don't agree.
    Space = "space", "restore all files from one copy, and report this";
    /// Transaction tables and undo blocks don't agree.
    Undo = "undo", "restore all files from one copy, and report this";
    /// A row's pieces don't hang together.
    Chain = "chain", "delete the row, or restore all files from one copy";
    /// The dictionary contradicts itself, or can't be read.
    Dictionary = "dictionary", "restore all files from one copy, and report this";
    /// A segment isn't there that has to be.
    Missing = "missing", "restore all files from one copy, and report this";
    /// A segment of a table or an index that no definition names: a crash has left it.
    Orphan = "orphan", "open the database, for instance with forebay recover DIR: that drops it";
    /// A row isn't what its table's columns are.
    Row = "row", "delete the row, or restore all files from one copy";
    /// A row breaks a CHECK of its table.
    Check = "check", "change the row, or delete it";
    /// A row refers to one that isn't there.
    ForeignKey = "foreign key", "insert the row that it refers to, or change or delete it";
    /// A sequence gives numbers again that rows have.
    Sequence = "sequence", "take its values until they are beyond, before rows get them";
    /// A tree's blocks don't hang together, or its entries aren't in order.
    Index = "index", "drop the index and create it again";
    /// A unique index has a key twice.
    Duplicate = "duplicate", "delete one of the rows, drop the index and create it again";
    /// An index has an entry whose row isn't there, or has another key.
    EntryWithoutRow = "entry without row", "drop the index and create it again";
    /// A row has no entry in an index.
    RowWithoutEntry = "row without entry", "drop the index and create it again";
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The kind.
    pub kind: Kind,
    /// The path of the file.
    pub file: String,
    /// The table, index or file with the fault, as messages name it (VF14).
    pub object: String,
    /// The block, if the fault is in a data file.
    pub block: Option<Dba>,
    /// The fault in words.
    pub what: String,
}

impl Finding {
    /// A fault of a file as a whole.
    pub(crate) fn of_file(kind: Kind, file: String, what: String) -> Finding {
        Finding { kind, object: file.clone(), file, block: None, what }
    }
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
