//! Threads that work for a while, of which a part is counted, as ours do.
//!
//! Callers: `items`, `tpcb`.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use crate::{Error, Result};

/// How many threads work, and how long.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Threads at once.
    pub threads: u64,
    /// How long they work before the time that counts.
    pub warm_up: Duration,
    /// The time that counts.
    pub length: Duration,
}

const WARM_UP: u8 = 0;
const COUNTING: u8 = 1;
const END: u8 = 2;

/// Turns by the threads of the load; how many a second. A turn counts that begins within the time
/// that counts, as with ours. `turns` makes the turns of a thread.
pub(super) fn drive<T: FnMut() -> Result<()>>(
    load: Load,
    turns: impl Fn(u64) -> T + Sync,
) -> Result<f64> {
    let phase = AtomicU8::new(WARM_UP);
    let work = |number: u64| {
        let (mut turn, mut counted) = (turns(number), 0_u64);
        loop {
            match phase.load(Ordering::Relaxed) {
                END => return Ok::<u64, Error>(counted),
                before => {
                    turn()?;
                    counted += u64::from(before == COUNTING);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> =
            (0..load.threads).map(|number| scope.spawn(move || work(number))).collect();
        std::thread::sleep(load.warm_up);
        phase.store(COUNTING, Ordering::Relaxed);
        let began = Instant::now();
        std::thread::sleep(load.length);
        phase.store(END, Ordering::Relaxed);
        let elapsed = began.elapsed();
        let ended: Vec<_> = running.into_iter().map(|thread| thread.join()).collect();
        let mut counted = 0;
        for ended in ended {
            counted +=
                ended.map_err(|_| Error::Failed("a thread of SQLite's panicked".into()))??;
        }
        Ok(counted as f64 / elapsed.as_secs_f64())
    })
}
