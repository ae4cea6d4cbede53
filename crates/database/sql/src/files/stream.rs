//! The client's end of a COPY: bytes that the caller gives, or takes.
//!
//! Invariant: the client is asked between rows and between batches, while the statement holds
//! locks of rows and tables, and no latch (rule SQ80).
//!
//! Callers: `database`, which lends one for a call; `input`, `output`.

use std::cell::RefCell;

use os::Session;
use stop::{SqlState, Stop};

use crate::refuse::refuse;

/// Gives bytes to COPY FROM STDIN.
pub trait CopySource {
    /// Puts the next bytes into `into`, which is empty. If it stays empty, the data has ended. A
    /// source that waits names its wait by the session. An error takes the COPY back, and is told
    /// to its caller.
    fn read(&mut self, into: &mut Vec<u8>, session: &Session) -> Result<(), String>;
}

/// Takes bytes from COPY TO STDOUT.
pub trait CopySink {
    /// Takes these bytes, which end with a line's end. An error ends the COPY.
    fn write(&mut self, bytes: &[u8], session: &Session) -> Result<(), String>;
}

/// A source of bytes that is held in memory.
impl CopySource for &[u8] {
    fn read(&mut self, into: &mut Vec<u8>, _: &Session) -> Result<(), String> {
        let (now, later) = self.split_at(self.len().min(PIECE_BYTES));
        into.extend_from_slice(now);
        *self = later;
        Ok(())
    }
}

/// The bytes that a source in memory gives at once.
const PIECE_BYTES: usize = 64 << 10;

impl CopySink for Vec<u8> {
    fn write(&mut self, bytes: &[u8], _: &Session) -> Result<(), String> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

/// The client's end, as a statement that runs sees it.
pub trait ClientEnd {
    /// Puts the next bytes into `into`, which is empty.
    fn read(&self, into: &mut Vec<u8>, session: &Session) -> Result<(), Stop>;

    /// Takes bytes.
    fn write(&self, bytes: &[u8], session: &Session) -> Result<(), Stop>;
}

/// A client that gives bytes.
pub struct FromSource<'s>(RefCell<&'s mut dyn CopySource>);

impl<'s> FromSource<'s> {
    /// The client's end of one COPY FROM STDIN.
    pub fn new(source: &'s mut dyn CopySource) -> FromSource<'s> {
        FromSource(RefCell::new(source))
    }
}

impl ClientEnd for FromSource<'_> {
    fn read(&self, into: &mut Vec<u8>, session: &Session) -> Result<(), Stop> {
        self.0.borrow_mut().read(into, session).map_err(|said| broken_off("FROM STDIN", &said))
    }

    fn write(&self, _: &[u8], _: &Session) -> Result<(), Stop> {
        Err(no_client("TO STDOUT", "copy_out"))
    }
}

/// A client that takes bytes.
pub struct ToSink<'s>(RefCell<&'s mut dyn CopySink>);

impl<'s> ToSink<'s> {
    /// The client's end of one COPY TO STDOUT.
    pub fn new(sink: &'s mut dyn CopySink) -> ToSink<'s> {
        ToSink(RefCell::new(sink))
    }
}

impl ClientEnd for ToSink<'_> {
    fn read(&self, _: &mut Vec<u8>, _: &Session) -> Result<(), Stop> {
        Err(no_client("FROM STDIN", "copy_in"))
    }

    fn write(&self, bytes: &[u8], session: &Session) -> Result<(), Stop> {
        self.0.borrow_mut().write(bytes, session).map_err(|said| broken_off("TO STDOUT", &said))
    }
}

/// The client has ended a COPY.
#[cold]
fn broken_off(direction: &str, said: &str) -> Stop {
    refuse(SqlState::QUERY_CANCELED, format!("COPY {direction} was ended by the client: {said}"))
}

/// The call has no such end.
#[cold]
pub(super) fn no_client(direction: &str, call: &str) -> Stop {
    let message = format!("COPY {direction} needs the client's end: run it by {call}");
    refuse(SqlState::FEATURE_NOT_SUPPORTED, message)
}
