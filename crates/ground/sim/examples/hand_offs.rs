//! Measures how fast the baton passes: two simulated threads wake each other in turn.
//!
//! `cargo run --profile proof -p sim --example hand_offs`

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it measures real time, from outside the simulation"
)]

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::time::Instant;

use os::{ThreadSpec, WaitWord};
use sim::Simulation;
use waits::WaitEvent;

fn main() {
    let turns: u32 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(300_000);
    let started = Instant::now();
    let mut simulation = Simulation::new(1);
    simulation.machine.cpus = 1;
    let report = simulation.run(move |world, session| {
        let words = Arc::new([WaitWord::new(world.os(), 0), WaitWord::new(world.os(), 0)]);
        let threads: Vec<_> = (0..2)
            .map(|side: usize| {
                let words = Arc::clone(&words);
                let spec = ThreadSpec::background(format!("side{side}"));
                session.spawn(spec, move |session| ping_pong(&words, side, turns, session))
            })
            .collect();
        for thread in threads {
            thread.expect("started").join(session).expect("no panic");
        }
    });
    let seconds = started.elapsed().as_secs_f64();
    report.result.expect("the threads end");
    println!(
        "{} hand-offs in {seconds:.3} s: {:.0} a second; {:.3} s of virtual time",
        report.hand_offs,
        report.hand_offs as f64 / seconds,
        report.elapsed_ns as f64 / 1e9
    );
}

/// Waits until the own word is raised, then raises the other's, `turns` times.
fn ping_pong(words: &[WaitWord; 2], side: usize, turns: u32, session: &os::Session) {
    for turn in 0..turns {
        if side == 1 || turn > 0 {
            while words[side].value().load(Acquire) < turn + side as u32 {
                let seen = words[side].value().load(Acquire);
                let _ = words[side].wait(seen, None, session.waiting(WaitEvent::RdbmsIpcMessage));
            }
        }
        words[1 - side].value().fetch_add(1, AcqRel);
        words[1 - side].wake(1, session);
    }
}
