//! O1: an event alone isn't enough: the wait is recorded in a session's account.
use os::{File, WaitWord};
use waits::WaitEvent;

fn nobody(file: &File, word: &WaitWord) {
    let _ = file.sync(WaitEvent::LogFileSync);
    let _ = word.wait(0, None, WaitEvent::LogFileSync);
}

fn main() {}
