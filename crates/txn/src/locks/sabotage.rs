//! Precautions that a test may leave out.

/// Precautions that a test may leave out, one at a time, to see that it would notice. Outside of
/// tests there is only `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sabotage {
    /// All precautions are taken.
    #[default]
    None,
    /// Nobody looks for circles.
    #[cfg(feature = "sabotage")]
    SkipCircles,
    /// Who ends doesn't wake those who wait for it.
    #[cfg(feature = "sabotage")]
    SkipWake,
    /// Weak modes are kept at the seat, also of a table that is watched.
    #[cfg(feature = "sabotage")]
    IgnoreWatch,
    /// Who watches a table doesn't ask the seats who has it.
    #[cfg(feature = "sabotage")]
    SkipSweep,
    /// Who comes last goes past the queue, if it can.
    #[cfg(feature = "sabotage")]
    Overtake,
    /// Who gives up doesn't look whom it held up.
    #[cfg(feature = "sabotage")]
    SkipServe,
}

/// What is done only to be safe.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Precaution {
    Circles,
    Wake,
    Watch,
    Sweep,
    Order,
    Serve,
}

impl Sabotage {
    /// Whether a test leaves this out.
    #[inline]
    pub(super) fn leaves_out(self, precaution: Precaution) -> bool {
        let left_out = match self {
            Sabotage::None => None,
            #[cfg(feature = "sabotage")]
            Sabotage::SkipCircles => Some(Precaution::Circles),
            #[cfg(feature = "sabotage")]
            Sabotage::SkipWake => Some(Precaution::Wake),
            #[cfg(feature = "sabotage")]
            Sabotage::IgnoreWatch => Some(Precaution::Watch),
            #[cfg(feature = "sabotage")]
            Sabotage::SkipSweep => Some(Precaution::Sweep),
            #[cfg(feature = "sabotage")]
            Sabotage::Overtake => Some(Precaution::Order),
            #[cfg(feature = "sabotage")]
            Sabotage::SkipServe => Some(Precaution::Serve),
        };
        left_out == Some(precaution)
    }
}
