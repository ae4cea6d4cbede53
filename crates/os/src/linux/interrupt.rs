//! Ctrl-C as a flag: who runs for long asks for it, and leaves in good order.
//!
//! A second Ctrl-C ends the process at once, as if nobody had asked.
//!
//! Callers: the binary's long commands.
//! Source: signal-safety(7): a handler may store to an atomic and little else.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether the process was asked to end (SIGINT, SIGTERM, SIGHUP) since [`listen`].
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// From now on the first of these signals only raises the flag.
pub fn listen() {
    extern "C" fn note(_: libc::c_int) {
        INTERRUPTED.store(true, Ordering::Relaxed);
    }
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: all zero is a valid `sigaction`: no flags, an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
        // The handler is for one signal; the next does what signals do. Calls go on.
        action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
        // SAFETY: the handler only stores to an atomic, which a handler may, and lives for ever.
        let installed = unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
        assert_eq!(installed, 0, "a handler for a known signal can be installed");
    }
}
