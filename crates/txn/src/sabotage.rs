//! Promises of isolation that a test may have broken.
//!
//! Callers: `Transactions`, and layers that change rows.

/// A promise of isolation that a test may have broken, one at a time, to see that it would notice.
/// Outside of tests there is only `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IsolationSabotage {
    /// All are kept.
    #[default]
    None,
    /// What active transactions have done is seen.
    #[cfg(feature = "sabotage")]
    SeeActive,
    /// A commit is seen from its call on, block by block.
    #[cfg(feature = "sabotage")]
    SeeCommitting,
    /// A consistent read takes back one undo record and no more.
    #[cfg(feature = "sabotage")]
    SkipUndoRecord,
    /// A row that another has locked is given to whoever asks.
    #[cfg(feature = "sabotage")]
    IgnoreRowLock,
    /// A statement of read committed changes rows that were changed since its snapshot.
    #[cfg(feature = "sabotage")]
    SkipRestart,
    /// And so does a transaction that has one snapshot.
    #[cfg(feature = "sabotage")]
    IgnoreFirstUpdater,
    /// Snapshots see commits that aren't durable.
    #[cfg(feature = "sabotage")]
    SeeBeforeDurable,
    /// Going back to a savepoint leaves one change.
    #[cfg(feature = "sabotage")]
    SkipSavepointRecord,
    /// Undo is overwritten though a snapshot needs it.
    #[cfg(feature = "sabotage")]
    ForgetSnapshots,
    /// Leaves of indexes are taken out though a snapshot sees entries in them.
    #[cfg(feature = "sabotage")]
    TakeOutEarly,
}

impl IsolationSabotage {
    /// Whether a test has this promise broken. Named as the variants are.
    #[inline]
    pub fn breaks(self, promise: Promise) -> bool {
        let broken = match self {
            IsolationSabotage::None => None,
            #[cfg(feature = "sabotage")]
            IsolationSabotage::SeeActive => Some(Promise::ActiveUnseen),
            #[cfg(feature = "sabotage")]
            IsolationSabotage::SeeCommitting => Some(Promise::CommittingUnseen),
            #[cfg(feature = "sabotage")]
            IsolationSabotage::SkipUndoRecord => Some(Promise::AllTakenBack),
            #[cfg(feature = "sabotage")]
            IsolationSabotage::IgnoreRowLock => Some(Promise::RowsLocked),
            #[cfg(feature = "sabotage")]
            IsolationSabotage::SkipRestart => Some(Promise::Restart),
            #[cfg(feature = "sabotage")]
            IsolationSabotage::IgnoreFirstUpdater => Some(Promise::FirstUpdater),
            #[cfg(feature = "sabotage")]
            IsolationSabotage::SeeBeforeDurable => Some(Promise::DurableOnly),
            #[cfg(feature = "sabotage")]
            IsolationSabotage::SkipSavepointRecord => Some(Promise::WholeSavepoint),
            #[cfg(feature = "sabotage")]
            IsolationSabotage::ForgetSnapshots => Some(Promise::UndoKept),
            #[cfg(feature = "sabotage")]
            IsolationSabotage::TakeOutEarly => Some(Promise::LeavesKept),
        };
        broken == Some(promise)
    }
}

/// What is promised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Promise {
    /// Nobody sees what an active transaction has done.
    ActiveUnseen,
    /// Nor one that is being committed, unless its SCN says so.
    CommittingUnseen,
    /// A read takes back whatever its snapshot doesn't see.
    AllTakenBack,
    /// A row is changed by one active transaction.
    RowsLocked,
    /// A statement changes rows only as it saw them.
    Restart,
    /// So does a transaction with one snapshot.
    FirstUpdater,
    /// What is seen is durable.
    DurableOnly,
    /// All since a savepoint is taken back.
    WholeSavepoint,
    /// Undo is kept while a snapshot may need it.
    UndoKept,
    /// And a leaf of an index, while one may see an entry in it.
    LeavesKept,
}
