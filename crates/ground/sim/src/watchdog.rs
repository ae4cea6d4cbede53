//! Detects a holder of the baton that doesn't return.
//!
//! One real thread watches all simulations of the process. A simulation whose holder hasn't called
//! the kernel for its limit of real time is given up: the holder blocks on something that the
//! simulator doesn't know (a foreign lock, a real sleep), or computes for ever.

use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::kernel::Kernel;

const LOOKS_EVERY: Duration = Duration::from_millis(20);

struct Watched {
    kernel: Weak<Kernel>,
    limit: Duration,
    progress: u64,
    since: Instant,
}

static WATCHED: Mutex<Vec<Watched>> = Mutex::new(Vec::new());

/// Watches a simulation until it is dropped or stuck for `limit`.
pub(crate) fn watch(kernel: &Arc<Kernel>, limit: Duration) {
    static STARTED: Once = Once::new();
    let entry = Watched {
        kernel: Arc::downgrade(kernel),
        limit,
        progress: kernel.progress(),
        since: Instant::now(),
    };
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    STARTED.call_once(|| {
        let started = std::thread::Builder::new().name("sim-watchdog".into()).spawn(look_for_ever);
        if let Err(error) = started {
            eprintln!("the simulator's watchdog can't be started: {error}; a stuck thread hangs");
        }
    });
}

fn look_for_ever() {
    loop {
        std::thread::sleep(LOOKS_EVERY);
        WATCHED.lock().unwrap_or_else(PoisonError::into_inner).retain_mut(still_fine);
    }
}

/// Whether the simulation is still to be watched.
fn still_fine(watched: &mut Watched) -> bool {
    let Some(kernel) = watched.kernel.upgrade() else { return false };
    let progress = kernel.progress();
    if progress != watched.progress {
        watched.progress = progress;
        watched.since = Instant::now();
        return true;
    }
    watched.since.elapsed() < watched.limit || !kernel.give_up(progress)
}
