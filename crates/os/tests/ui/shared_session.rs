//! O2: a session belongs to one thread.
use os::Session;

fn share(session: &Session) {
    std::thread::scope(|scope| {
        scope.spawn(|| session.now());
    });
}

fn main() {}
