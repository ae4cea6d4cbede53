//! What callers were told, while the disk failed them.

use std::collections::BTreeMap;

use sim::Outside;
use stop::{RefusalKind, Stop};

/// How far something came that somebody asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Came {
    /// It was refused, or taken back: it isn't there.
    Not,
    /// The instance halted meanwhile: it may be there, wholly.
    InDoubt,
    /// It is there.
    There,
}

/// What callers were told.
#[derive(Clone, Default, Debug)]
pub(crate) struct Told {
    /// The database itself; none if it was there before.
    pub(crate) created: Option<Came>,
    /// Transactions: the table, and how far it came.
    pub(crate) transactions: Vec<(&'static str, Option<Came>)>,
    /// Tables, the tablespace, the added file, the sequence.
    pub(crate) made: BTreeMap<&'static str, Came>,
    /// The last number of the sequence, and of the identity column of each table, that a
    /// transaction has committed: what isn't committed may be given again after a crash (rule
    /// catalog/DC7).
    pub(crate) numbers: BTreeMap<&'static str, i64>,
    pub(crate) errors: Vec<String>,
    /// An instance was found halted.
    pub(crate) halted: bool,
    /// Lives that came to their end.
    pub(crate) ended: bool,
}

impl Told {
    /// Whether the database has to open.
    pub(crate) fn is_there(&self) -> bool {
        matches!(self.created, None | Some(Came::There))
    }
}

#[derive(Clone, Default)]
pub(crate) struct Journal(pub(crate) Outside<Told>);

impl Journal {
    /// What came of a call; none if the instance has halted.
    pub(crate) fn hear<T>(&self, what: Result<T, Stop>) -> Option<Result<T, ()>> {
        match what {
            Ok(value) => Some(Ok(value)),
            Err(stop) => {
                let halts = matches!(stop, Stop::Halted(_));
                self.0.with(|told| {
                    told.errors.push(stop.to_string());
                    told.halted |= halts;
                });
                (!halts).then_some(Err(()))
            }
        }
    }

    /// Asks for something that is to be there from then on. None if the instance has halted.
    pub(crate) fn make(
        &self,
        name: &'static str,
        ask: impl FnOnce() -> Result<(), Stop>,
    ) -> Option<()> {
        let before = self.0.with(|told| told.made.insert(name, Came::InDoubt));
        let what = ask();
        let kind = what.as_ref().err().and_then(Stop::refusal);
        if kind == Some(RefusalKind::AlreadyExists) {
            self.0.with(|told| told.made.insert(name, Came::There));
            return Some(());
        }
        let heard = self.hear(what);
        let came = match heard {
            Some(Ok(())) => Came::There,
            // An earlier life may have made it; only a refusal that says so tells more of that.
            Some(Err(())) => before.unwrap_or(Came::Not),
            None => Came::InDoubt,
        };
        self.0.with(|told| told.made.insert(name, came));
        heard.map(|_| ())
    }

    /// A transaction is committed that has these numbers of a sequence or an identity column: all
    /// that were committed before, in whatever life, are below.
    pub(crate) fn numbers(&self, committed: &[(&'static str, i64)]) {
        for (of, number) in committed {
            let last = self.0.with(|told| told.numbers.insert(of, *number));
            let is_higher = last.is_none_or(|last| last < *number);
            assert!(is_higher, "{of} gave {last:?}, and then {number}");
        }
    }
}
