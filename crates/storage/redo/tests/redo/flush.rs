//! What the log writer writes though no session asks: a third of the buffer, a megabyte, and what
//! it finds every three seconds (that one is in `modes`).

use os::{Session, ThreadHandle, ThreadSpec};
use redo::{CommitMode, Redo, RedoConfig};
use sim::model::DiskParameters;
use testbed::{pause, run};
use waits::Nanos;

use crate::common::{fresh, groups, open, put, small};

const MIB: u64 = 1 << 20;
/// A record of exactly 4 KiB, its heads included.
const PAYLOAD: usize = 4_048;
const PER_MIB: u64 = MIB / 4_096;

fn config(log_buffer_bytes: u64) -> RedoConfig {
    RedoConfig {
        groups: groups(8_192),
        log_buffer_bytes: usize::try_from(log_buffer_bytes).expect("it fits"),
        ..small()
    }
}

fn lgwr(redo: &Redo, session: &Session) -> ThreadHandle {
    let redo = redo.clone();
    let body = move |s: &Session| redo.run_lgwr(s).expect("no halt");
    session.spawn(ThreadSpec::background("fb_lgwr"), body).expect("a thread")
}

/// After how many records of 4 KiB each write came that no session had asked for.
fn writes(config: RedoConfig, records: u64) -> Vec<u64> {
    run(fresh(&config, 1), move |world, session| {
        let redo = open(world, &config, session);
        let lgwr = lgwr(&redo, session);
        let mut writes = Vec::new();
        let mut durable = redo.durable_scn(session);
        for tag in 0..records {
            put(&redo, tag, PAYLOAD, session);
            pause(Nanos::from_micros(1_500), session);
            let now = redo.durable_scn(session);
            if now > durable {
                durable = now;
                assert_eq!(now, redo.last_scn(session), "all that was there");
                writes.push(tag + 1);
            }
        }
        redo.stop(session);
        lgwr.join(session).expect("no panic");
        writes
    })
}

#[test]
fn redo_is_written_when_a_megabyte_of_it_is_not() {
    assert_eq!(writes(config(8 * MIB), 3 * PER_MIB), [PER_MIB, 2 * PER_MIB, 3 * PER_MIB]);
}

/// A third of the buffer in blocks: each record of 4 KiB fills a little more than one.
#[test]
fn redo_is_written_when_a_third_of_the_buffer_is_full() {
    let third = u64::from(format::REDO_BLOCK.bytes() as u32) * 100;
    let found = writes(config(3 * third), 250);
    assert_eq!(found, [98, 196], "98 records of 4 KiB begin the 100th block");
}

/// The time of a commit against the redo since the last one, in 4 KiB.
fn commit_times(sizes: &[u64]) -> Vec<Nanos> {
    let (config, sizes) = (config(16 * MIB), sizes.to_vec());
    let mut simulation = fresh(&config, 2);
    simulation.disks[0].model = DiskParameters::builtin("nvme").expect("it is built in");
    simulation.time_limit_ns = 3_600_000_000_000;
    run(simulation, move |world, session| {
        let redo = open(world, &config, session);
        let lgwr = lgwr(&redo, session);
        let mut times = vec![Vec::new(); sizes.len()];
        for _ in 0..3 {
            for (at, size) in sizes.iter().enumerate() {
                for tag in 0..*size {
                    put(&redo, tag, PAYLOAD, session);
                    // Slow enough that a megabyte is written before the next step.
                    pause(Nanos::from_micros(400), session);
                }
                let (last, begin) = (redo.last_scn(session), session.now());
                redo.commit(last, CommitMode::DURABLE, session).expect("no halt");
                times[at].push(session.now().since(begin));
                // The redo isn't needed, so every log but the current is free.
                redo.checkpoint_advanced(redo.position(session), session);
            }
        }
        redo.stop(session);
        lgwr.join(session).expect("no panic");
        // The clock of 3 seconds strikes in one of three at most.
        for each in &mut times {
            each.sort_unstable();
        }
        times.iter().map(|each| each[1]).collect::<Vec<_>>()
    })
}

/// The saw-tooth: a commit takes the longer the more redo there is since the last, and falls back
/// at each megabyte, exactly: a commit needn't wait for what was written before.
#[test]
fn the_time_of_a_commit_falls_back_at_each_megabyte_of_redo() {
    let sizes: Vec<u64> = (4..4 * PER_MIB + 64).step_by(4).collect();
    let times = commit_times(&sizes);
    let falls = (1..sizes.len()).filter(|at| times[*at].0 < times[at - 1].0 / 3);
    let falls: Vec<u64> = falls.map(|at| sizes[at]).collect();
    assert_eq!(falls, [PER_MIB, 2 * PER_MIB, 3 * PER_MIB, 4 * PER_MIB]);
    let teeth = sizes.chunks(PER_MIB as usize / 4).zip(times.chunks(PER_MIB as usize / 4));
    for (sizes, times) in teeth.take(4) {
        let (quarter, last) = (times[times.len() / 4], times[times.len() - 2]);
        assert!(last.0 > 2 * quarter.0, "from {} on: {quarter:?} to {last:?}", sizes[0]);
    }
}
