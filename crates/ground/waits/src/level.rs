//! The level of recording of the wait interface.

/// The level of a session's account. It can be switched while the session runs; a wait in progress
/// keeps the level at which it began.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Level {
    /// Nothing is timed or counted; the time account can't be closed.
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
