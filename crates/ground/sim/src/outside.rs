//! A value that belongs to a test and not to the simulated machine, and so survives its crash.
//!
//! Simulated threads reach it while they hold the baton, and never wait inside.
//!
//! Callers: crash tests.

use std::sync::{Arc, Mutex, PoisonError};

/// A value outside the simulated machine. All clones share it.
#[derive(Debug, Default)]
pub struct Outside<T>(Arc<Mutex<T>>);

impl<T> Clone for Outside<T> {
    fn clone(&self) -> Outside<T> {
        Outside(Arc::clone(&self.0))
    }
}

impl<T> Outside<T> {
    /// Puts a value outside.
    pub fn new(value: T) -> Outside<T> {
        Outside(Arc::new(Mutex::new(value)))
    }

    /// Works on the value. `act` must not call the simulated machine.
    pub fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T: Default> Outside<T> {
    /// Takes the value; its default stays.
    pub fn take(&self) -> T {
        self.with(std::mem::take)
    }
}
