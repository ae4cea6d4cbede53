//! Precautions that a test may leave out.
//!
//! Callers: `foreign`.

/// Precautions that a test may leave out, one at a time, to see that it would notice. Outside of
/// tests there is only `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sabotage {
    /// All precautions are taken.
    #[default]
    None,
    /// Who deletes a row doesn't look for rows that refer to it.
    #[cfg(feature = "sabotage")]
    SkipChildren,
    /// What others have written and not committed is taken for nothing.
    #[cfg(feature = "sabotage")]
    IgnoreHolders,
    /// Foreign keys are checked as of the statement's snapshot.
    #[cfg(feature = "sabotage")]
    LookAtSnapshot,
}

/// What is done only to be safe.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precaution {
    ChildrenAreSought,
    HoldersAreWaitedFor,
    LooksAtNow,
}

impl Sabotage {
    /// Whether a test leaves this out.
    #[inline]
    pub(crate) fn leaves_out(self, precaution: Precaution) -> bool {
        let left_out = match self {
            Sabotage::None => None,
            #[cfg(feature = "sabotage")]
            Sabotage::SkipChildren => Some(Precaution::ChildrenAreSought),
            #[cfg(feature = "sabotage")]
            Sabotage::IgnoreHolders => Some(Precaution::HoldersAreWaitedFor),
            #[cfg(feature = "sabotage")]
            Sabotage::LookAtSnapshot => Some(Precaution::LooksAtNow),
        };
        left_out == Some(precaution)
    }
}
