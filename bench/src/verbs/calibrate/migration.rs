//! What a thread pays for going on on another CPU: the CPU time that its working set takes to
//! come there, beyond what touching it where it lay would have taken.
//!
//! The working set is 256 KiB, one that fits a level-two cache; every line of it is read and
//! written, in order, so that the other CPU's copy is gone and the prefetchers help as they do.
//!
//! Callers: `rounds`.

use std::hint::black_box;

use os::Session;

use super::clock::Windows;
use super::figure::Figure;
use super::threads::{Job, go_to};

/// Numbers in the working set.
const NUMBERS: usize = 256 * 1_024 / size_of::<u64>();
/// Numbers in a cache line.
const STEP: usize = 64 / size_of::<u64>();
/// Moves in a round.
const MOVES: usize = 24;

/// Nothing where there is one CPU only.
pub(super) fn round(session: &Session, cpus: &[u32]) -> Result<Vec<(Figure, f64)>, String> {
    let &[first, .., last] = cpus else { return Ok(Vec::new()) };
    let mover = Job::start(session, "cal_mover", move |session| {
        let mut set = vec![0_u64; NUMBERS];
        let (mut warm, mut cold) = (Windows::new(), Windows::new());
        for cpu in [first, last].into_iter().cycle().take(MOVES + 1) {
            go_to(cpu, session)?;
            cold.around(|| touch(&mut set));
            touch(&mut set);
            warm.around(|| touch(&mut set));
        }
        Ok::<f64, String>(cold.median_ns() - warm.median_ns())
    })?;
    let extra = mover.join(session)??;
    Ok(vec![(Figure::Migration, extra)])
}

fn touch(set: &mut [u64]) {
    for number in set.iter_mut().step_by(STEP) {
        *number += 1;
    }
    black_box(set);
}
