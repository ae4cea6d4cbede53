//! A value that is made when it is first needed.
//!
//! Callers: caches of a structure that many sessions read without a latch.

use std::sync::OnceLock;

/// A value that is made once, by the first session that needs it, and then kept. The function that
/// makes it gets no session, so it can't wait for anything: no other session waits for it long, and
/// in the simulator none waits at all.
#[derive(Debug)]
pub struct MadeOnce<T>(OnceLock<T>);

impl<T> MadeOnce<T> {
    /// The value, if it was made.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// The value, which is made of `size` if it wasn't yet.
    pub fn get_or_make(&self, size: usize, make: fn(usize) -> T) -> &T {
        self.0.get_or_init(|| make(size))
    }
}

impl<T> Default for MadeOnce<T> {
    fn default() -> MadeOnce<T> {
        MadeOnce(OnceLock::new())
    }
}
