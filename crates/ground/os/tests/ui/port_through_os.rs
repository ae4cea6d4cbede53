//! O3: the port, whose calls block without an account, can't be reached through a world.
use os::{Os, Session};

fn around_the_door(os: &Os, session: &Session) {
    let _ = os.port();
    let _ = session.os().shared.port.cpu_count();
}

fn main() {}
