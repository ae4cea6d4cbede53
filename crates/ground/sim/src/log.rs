//! The event log of one simulation: everything that the scheduler and the disks did, in order.
//!
//! The same seed gives the same log, byte for byte. So a line holds virtual time, the thread's
//! number and plain numbers, but no address, no kernel id and no wall clock.

use std::io::Write;

/// The part of the log that is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogMode {
    /// The hash of the log and the number of its lines.
    Hash,
    /// Every line.
    Full,
}

#[derive(Debug)]
pub(crate) struct EventLog {
    mode: LogMode,
    text: Vec<u8>,
    hash: u64,
    lines: u64,
}

impl EventLog {
    pub(crate) fn new(mode: LogMode) -> EventLog {
        EventLog { mode, text: Vec::new(), hash: 0xcbf2_9ce4_8422_2325, lines: 0 }
    }

    pub(crate) fn record(&mut self, now: u64, tid: usize, what: &'static str, a: u64, b: u64) {
        self.lines += 1;
        // The names of events differ within eight bytes.
        let name = what.bytes().take(8).fold(0, |name, byte| name << 8 | u64::from(byte));
        for value in [now, tid as u64, name, what.len() as u64, a, b] {
            self.mix(value);
        }
        if self.mode == LogMode::Full {
            writeln!(self.text, "{now} t{tid} {what} {a} {b}").expect("writing to memory");
        }
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    pub(crate) fn lines(&self) -> u64 {
        self.lines
    }

    pub(crate) fn take_text(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text)
    }

    /// FNV-1a, a word at a time, with the high bits folded down.
    fn mix(&mut self, value: u64) {
        self.hash = (self.hash ^ value).wrapping_mul(0x0000_0100_0000_01b3);
        self.hash ^= self.hash >> 29;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two events that begin with the same letter and are as long differ in the hash.
    #[test]
    fn every_event_has_a_hash_of_its_own() {
        let hash = |what| {
            let mut log = EventLog::new(LogMode::Hash);
            log.record(5, 1, what, 0, 0);
            log.hash()
        };
        assert_ne!(hash("spawn"), hash("slice"));
        assert_eq!(hash("spawn"), hash("spawn"));
    }
}
