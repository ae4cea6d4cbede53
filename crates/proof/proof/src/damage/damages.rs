//! The list of damages, and what each has to be told as.
//!
//! What can't be noticed isn't in it; the README of the crate says what, and why.
//!
//! Callers: `mod`; `tally`, which asks that each was tried.

use rand_xoshiro::Xoshiro256PlusPlus;
use verify::Kind;

use super::image::Image;
use super::made::Made;
use super::rows::Below;
use super::{blocks, entries, older, rows};

/// What was done, and as what it may be told.
#[derive(Clone, Debug)]
pub(super) struct Done {
    pub(super) what: String,
    pub(super) expects: &'static [Kind],
}

/// Changes blocks of a database that is shut; none if there is no place for the damage.
pub(super) type ActOnBytes = fn(&Made, &mut Image, &mut Xoshiro256PlusPlus) -> Option<Done>;
/// Changes rows, past everything that would refuse it.
pub(super) type ActOnRows = fn(&Below<'_>, &mut Xoshiro256PlusPlus) -> Option<Done>;

/// How a damage is done.
#[derive(Clone, Copy)]
pub(super) enum How {
    Bytes(ActOnBytes),
    Rows(ActOnRows),
}

macro_rules! damages {
    ($($(#[doc = $about:literal])+ $damage:ident = $name:literal, $how:ident($act:path);)+) => {
        /// What is done to a database.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub(super) enum Damage {
            $($(#[doc = $about])+ $damage,)+
        }

        impl Damage {
            /// All of them.
            pub(super) const ALL: &[Damage] = &[$(Damage::$damage),+];

            pub(super) const fn name(self) -> &'static str {
                match self {
                    $(Damage::$damage => $name,)+
                }
            }

            pub(super) const fn how(self) -> How {
                match self {
                    $(Damage::$damage => How::$how($act),)+
                }
            }
        }
    };
}

damages! {
    /// A data file is a copy of an earlier time, header and all.
    OlderFile = "an older data file", Bytes(older::file);
    /// Some blocks of a segment, one behind the other, are of an earlier time.
    OlderRun = "older neighbours", Bytes(older::run);
    /// A write was lost: one block is of an earlier time.
    LostWrite = "a lost write", Bytes(older::block);
    /// A write went to another place.
    Misdirected = "a misdirected write", Bytes(blocks::misdirected);
    /// A block was changed later than anything that the redo knows of.
    Ahead = "a block ahead", Bytes(blocks::ahead);
    /// A block is zeros.
    Zeroed = "a zeroed block", Bytes(blocks::zeroed);
    /// A block of rows names a place in the map of another segment.
    OthersMap = "another's map", Bytes(blocks::others_map);
    /// An undo block isn't in its ring.
    UndoOut = "an undo block out of its ring", Bytes(blocks::undo_out);
    /// Two segments have an extent.
    ExtentTwice = "an extent given twice", Bytes(blocks::extent_twice);
    /// The map has an extent free that a segment has.
    ExtentFree = "an extent in use and free", Bytes(blocks::extent_free);
    /// The map has an extent in use that no segment has.
    ExtentLost = "an extent of nobody", Bytes(blocks::extent_lost);
    /// An index lacks an entry.
    EntryLacks = "an entry too few", Bytes(entries::lacks);
    /// An index has an entry that was deleted.
    EntryAgain = "an entry too many", Bytes(entries::again);
    /// Two entries lead to each other's row.
    EntrySwapped = "an entry of another row", Bytes(entries::swapped);
    /// A row isn't in the one form that its values have.
    Form = "another form of a row", Bytes(entries::form);
    /// A row isn't there, and its entries are.
    RowGone = "a row gone", Rows(rows::gone);
    /// A row has no entries.
    RowAlone = "a row without entries", Rows(rows::alone);
    /// A row breaks a CHECK.
    Check = "a broken CHECK", Rows(rows::check);
    /// A row that others refer to isn't there.
    Orphan = "a parent deleted", Rows(rows::orphan);
    /// A row refers to nothing.
    Astray = "a reference to nothing", Rows(rows::astray);
    /// NULL is where it may not be.
    Null = "a broken NOT NULL", Rows(rows::null);
    /// A text is longer than its column's type.
    TooLong = "a text too long", Rows(rows::too_long);
    /// A CHAR has blanks at its end.
    Blanks = "a CHAR with blanks", Rows(rows::blanks);
    /// A sequence gives numbers again that rows have.
    Sequence = "a sequence behind its rows", Rows(rows::sequence);
}

impl Damage {
    /// Whether the database can't be opened with it.
    pub(super) const fn keeps_shut(self) -> bool {
        matches!(self, Damage::OlderFile)
    }

    /// Whether a check of the open database, if it can be opened, tells it as well. It doesn't know
    /// the newest SCN, and a block may be another by then: the opening itself changes some.
    pub(super) const fn is_told_open(self) -> bool {
        !matches!(self, Damage::Ahead)
    }
}
