//! O1: a wait on a word names the session and the event.
use os::{Session, WaitWord};

fn unnamed(word: &WaitWord, session: &Session) {
    let _ = session;
    let _ = word.wait(0, None);
}

fn main() {}
