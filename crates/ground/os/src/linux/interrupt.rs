//! Ctrl-C as a flag: long-running code polls it, and stops in good order.
//!
//! A second Ctrl-C ends the process at once, as without this flag. A shell listens otherwise: each
//! Ctrl-C asks it to cancel what runs, and none ends it.
//!
//! This module also turns a limit on the size of files into an error of the write: the limit's
//! signal would end the process.
//!
//! Callers: the binary's long commands, its shell; `start`.
//! Sources: signal-safety(7): a handler may store to an atomic and little else; setrlimit(2).

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static CANCELLED: AtomicBool = AtomicBool::new(false);

/// Whether the process was asked to end (SIGINT, SIGTERM, SIGHUP) since [`listen`].
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Makes the first of these signals only raise the flag. A signal that the process was started to
/// ignore, as by nohup(1), stays ignored.
pub fn listen() {
    extern "C" fn note(_: libc::c_int) {
        INTERRUPTED.store(true, Ordering::Relaxed);
    }
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: all zero is a valid `sigaction`: no flags, an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
        // The handler acts once; the next signal has its default effect. Interrupted calls are
        // restarted.
        action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
        // SAFETY: all zero is a valid `sigaction`, which the call only fills.
        let is_ignored = unsafe {
            let mut known: libc::sigaction = std::mem::zeroed();
            let read = libc::sigaction(signal, std::ptr::null(), &raw mut known);
            read == 0 && known.sa_sigaction == libc::SIG_IGN
        };
        if is_ignored {
            continue;
        }
        // SAFETY: the handler only stores to an atomic, which a handler may, and lives for ever.
        let installed = unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
        assert_eq!(installed, 0, "a handler for a known signal can be installed");
    }
}

/// Whether somebody has pressed Ctrl-C since this was asked last, after [`listen_for_cancel`].
pub fn take_cancel() -> bool {
    CANCELLED.swap(false, Ordering::Relaxed)
}

/// Whether somebody has pressed Ctrl-C, and [`take_cancel`] hasn't told of it yet.
pub fn cancel_is_asked() -> bool {
    CANCELLED.load(Ordering::Relaxed)
}

/// Makes Ctrl-C (SIGINT) raise a flag, each time. Other signals keep their effects. If the process
/// was started to ignore it, it stays ignored.
pub fn listen_for_cancel() {
    extern "C" fn note(_: libc::c_int) {
        CANCELLED.store(true, Ordering::Relaxed);
    }
    // SAFETY: all zero is a valid `sigaction`: no flags, an empty mask. The first call only reads.
    let is_ignored = unsafe {
        let mut known: libc::sigaction = std::mem::zeroed();
        let read = libc::sigaction(libc::SIGINT, std::ptr::null(), &raw mut known);
        read == 0 && known.sa_sigaction == libc::SIG_IGN
    };
    if is_ignored {
        return;
    }
    // SAFETY: the handler only stores to an atomic, which a handler may, and lives for ever.
    let installed = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGINT, &raw const action, std::ptr::null_mut())
    };
    assert_eq!(installed, 0, "a handler for a known signal can be installed");
}

/// Makes a write beyond RLIMIT_FSIZE an error (EFBIG), by which a growth is refused. An
/// application's own disposition of SIGXFSZ stays.
pub(super) fn ignore_file_size_signal() {
    // SAFETY: all zero is a valid `sigaction`; the first call only reads, the second sets "ignore".
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let known = libc::sigaction(libc::SIGXFSZ, std::ptr::null(), &raw mut action);
        if known == 0 && action.sa_sigaction == libc::SIG_DFL {
            action.sa_sigaction = libc::SIG_IGN;
            libc::sigaction(libc::SIGXFSZ, &raw const action, std::ptr::null_mut());
        }
    }
}
