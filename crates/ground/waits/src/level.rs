//! The level of recording of the wait interface.

/// The level of a session's books, for waits only: statistics are counted at every level. It can be
/// switched at any time (rule W7): the level at a wait's begin decides whether the wait is
/// recorded, and the level at its end whether the sink gets it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Level {
    /// No wait is timed or counted: in a time account the time slept in waits is unaccounted.
    Off = 0,
    /// Every wait is timed and counted (the default).
    Stats = 1,
    /// As `Stats`, and every ended wait is handed to the session's sink.
    Trace = 2,
}

impl Level {
    pub(crate) const fn from_u8(value: u8) -> Level {
        match value {
            0 => Level::Off,
            1 => Level::Stats,
            _ => Level::Trace,
        }
    }
}
