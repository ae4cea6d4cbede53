//! The scheduler against programs whose answer is known beforehand.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use os::{CpuSet, Priority, Session, ThreadSpec};
use sim::model::CostList;
use sim::{Report, Simulation, World};
use waits::{Nanos, Timestamp, WaitEvent};

const MS: u64 = 1_000_000;

/// A machine of `cpus` CPUs on which only hand-made charges cost anything.
fn bare(cpus: u16) -> Simulation {
    let mut simulation = Simulation::new(1);
    simulation.costs = CostList::free();
    simulation.machine.cpus = cpus;
    simulation.machine.time_slice_us = 3_000;
    simulation.machine.switch_cost_ns = 0;
    simulation.machine.wake_idle_ns = 0;
    simulation.machine.migration_cost_ns = 0;
    simulation
}

/// Uses `ms` milliseconds of CPU, 100 us at a time.
fn burn(session: &Session, ms: u64) {
    for _ in 0..ms * 10 {
        session.charge_nanos(Nanos::from_micros(100));
        session.relax(0);
    }
}

fn pause(session: &Session, ms: u64) {
    session.pause(Nanos::from_millis(ms), session.waiting(WaitEvent::PlSqlLockTimer));
}

fn cpu_of<R>(report: &Report<R>, name: &str) -> u64 {
    let found = report.threads.iter().find(|thread| thread.name == name);
    found.expect("the thread is in the report").cpu_ns
}

/// Runs one thread per name, each burning `ms`, and waits for them.
fn run_burners(simulation: Simulation, names: &'static [&'static str], ms: u64) -> Report<()> {
    simulation.run(move |_, session| {
        let burners: Vec<_> = names
            .iter()
            .map(|name| session.spawn(ThreadSpec::background(*name), move |s| burn(s, ms)))
            .collect();
        for burner in burners {
            burner.expect("started").join(session).expect("no panic");
        }
    })
}

/// The calendar of a simulated machine begins on a fixed day and moves with virtual time.
#[test]
fn the_wall_clock_is_virtual_time_from_a_fixed_day_on() {
    let report = bare(1).run(|_, session| {
        let (began, seen) = (session.wall_clock(), session.now());
        pause(session, 1_500);
        burn(session, 10);
        let passed = session.now().since(seen).as_micros();
        (began, session.wall_clock() - began, passed)
    });
    let (began, by_calendar, passed) = report.result.expect("it runs");
    // 2026-01-01 00:00 UTC, and what the start took.
    assert!((1_767_225_600_000_000..1_767_225_600_001_000).contains(&began), "{began}");
    assert!(passed >= 1_510_000, "{passed}");
    assert!(by_calendar.abs_diff(passed as i64) <= 1, "{by_calendar} and {passed}");
}

/// Two equal threads on one CPU: at any moment their CPU differs by at most a time slice.
#[test]
fn two_equal_threads_on_one_cpu_share_evenly() {
    let gap = bare(1)
        .run(|_, session| {
            let used = [const { AtomicU64::new(0) }; 2];
            let used = Arc::new(used);
            let burners: Vec<_> = (0..2)
                .map(|i: usize| {
                    let used = Arc::clone(&used);
                    let body = move |session: &Session| {
                        let mut gap = 0;
                        for _ in 0..10_000 {
                            session.charge_nanos(Nanos::from_micros(100));
                            session.relax(0);
                            let mine = used[i].fetch_add(100_000, Relaxed) + 100_000;
                            // Until the other has begun, there is nothing to compare with.
                            let others = used[1 - i].load(Relaxed);
                            if others > 0 && others < 1_000 * MS {
                                gap = gap.max(mine.abs_diff(others));
                            }
                        }
                        used[i].fetch_add(0, Relaxed);
                        assert!(gap <= 3 * MS + 100_000, "they differ by {gap} ns");
                    };
                    session.spawn(ThreadSpec::background(format!("burner{i}")), body)
                })
                .collect();
            for burner in burners {
                burner.expect("started").join(session).expect("no panic");
            }
            session.now()
        })
        .result;
    let end = gap.expect("no failure").as_nanos();
    // Two times a second of work, plus the nanosecond that each turn of `relax` takes.
    assert_eq!(end, 2_000 * MS + 20_000);
}

/// A second CPU halves the time, a third changes nothing.
#[test]
fn two_threads_take_half_the_time_on_two_cpus() {
    let elapsed = |cpus| {
        let report = run_burners(bare(cpus), &["a", "b"], 100);
        report.result.as_ref().expect("no failure");
        report.elapsed_ns / MS
    };
    assert_eq!((elapsed(1), elapsed(2), elapsed(3)), (200, 100, 100));
}

/// A thread of higher priority that wakes takes the CPU at once from one of lower priority.
#[test]
fn a_higher_priority_preempts_at_once() {
    let late = bare(1).run(|world, session| {
        let os = world.os().clone();
        let low = session.spawn(ThreadSpec::background("low"), |s| burn(s, 50)).expect("started");
        os.set_priority(low.id(), Priority::Nice(10)).expect("allowed");
        let mut late = 0;
        for _ in 0..10 {
            let planned = session.now().after(Nanos::from_millis(3));
            pause(session, 3);
            late = late.max(session.now().since(planned).0);
        }
        low.join(session).expect("no panic");
        late
    });
    assert_eq!(late.result, Ok(0));
}

/// At equal priority the one that wakes waits for the end of the slice, no longer.
#[test]
fn at_equal_priority_a_thread_waits_for_the_end_of_the_slice() {
    let late = bare(1).run(|_, session| {
        let other = session.spawn(ThreadSpec::background("other"), |s| burn(s, 50));
        pause(session, 1);
        let late = session.now().since(Timestamp::from_nanos(MS)).0;
        other.expect("started").join(session).expect("no panic");
        late
    });
    assert_eq!(late.result, Ok(2 * MS));
}

/// Real time comes before every nice value, and a lower nice value before a higher.
#[test]
fn strict_priorities_run_one_after_the_other() {
    let report = bare(1).run(|world, session| {
        let os = world.os().clone();
        let ends = Arc::new([const { AtomicU64::new(0) }; 3]);
        let priorities = [Priority::Nice(5), Priority::Nice(-5), Priority::RealTime(1)];
        os.set_priority(session.thread(), Priority::RealTime(99)).expect("allowed");
        let threads: Vec<_> = priorities
            .iter()
            .enumerate()
            .map(|(i, priority)| {
                let ends = Arc::clone(&ends);
                let spec = ThreadSpec::background(format!("burner{i}"));
                let thread = session.spawn(spec, move |session| {
                    burn(session, 10);
                    ends[i].store(session.now().as_nanos() / MS, Relaxed);
                });
                let thread = thread.expect("started");
                os.set_priority(thread.id(), *priority).expect("allowed");
                thread
            })
            .collect();
        for thread in threads {
            thread.join(session).expect("no panic");
        }
        [0, 1, 2].map(|i: usize| ends[i].load(Relaxed))
    });
    assert_eq!(report.result, Ok([30, 20, 10]));
}

/// A thread runs only on its CPUs.
#[test]
fn affinity_holds_a_thread_on_its_cpu() {
    let report = bare(2).run(|world, session| {
        let os = world.os().clone();
        let threads: Vec<_> = (0..2)
            .map(|i| {
                let spec = ThreadSpec::background(format!("burner{i}"));
                let thread = session.spawn(spec, |session| burn(session, 10)).expect("started");
                os.set_affinity(thread.id(), CpuSet::one(1)).expect("the machine has it");
                thread
            })
            .collect();
        for thread in threads {
            thread.join(session).expect("no panic");
        }
        os.set_affinity(session.thread(), CpuSet::one(7)).expect_err("there's no CPU 7");
        session.now().as_nanos() / MS
    });
    assert_eq!(report.result, Ok(20));
}

/// A switch and a migration cost what the machine says, as CPU of the thread that comes.
#[test]
fn switches_and_migrations_cost_what_the_machine_says() {
    let mut simulation = bare(1);
    simulation.machine.switch_cost_ns = 2_000;
    let report = run_burners(simulation, &["a", "b"], 30);
    for name in ["a", "b"] {
        let thread = report.threads.iter().find(|t| t.name == name).expect("in the report");
        assert!(thread.switches >= 10, "{thread:?}");
        assert_eq!(cpu_of(&report, name), 30 * MS + 300 + 2_000 * thread.switches);
    }
    let mut simulation = bare(2);
    simulation.machine.migration_cost_ns = 5_000;
    let report = simulation.run(|world, session| {
        for turn in 0..10 {
            let cpus = CpuSet::one(turn % 2);
            world.os().set_affinity(session.thread(), cpus).expect("the machine has it");
            burn(session, 1);
        }
    });
    let main = &report.threads[0];
    assert_eq!(main.migrations, 9);
    assert_eq!(main.cpu_ns, 10 * MS + 100 + 9 * 5_000);
}

/// However short the slice, threads that share a CPU go on, and not only switch.
#[test]
fn a_slice_shorter_than_a_switch_still_lets_threads_go_on() {
    let mut simulation = bare(1);
    simulation.machine.time_slice_us = 1;
    simulation.machine.switch_cost_ns = 3_000;
    simulation.time_limit_ns = 1_000 * MS;
    let report = run_burners(simulation, &["a", "b"], 10);
    report.result.as_ref().expect("they end");
    // A thread has one of 4 us for itself.
    assert_eq!(report.elapsed_ns / MS, 80);
}

/// A sleep ends on time when no other thread is there.
#[test]
fn an_undisturbed_sleep_takes_exactly_its_length() {
    let report = bare(1).run(|_, session| {
        pause(session, 250);
        session.now().as_nanos()
    });
    assert_eq!(report.result, Ok(250 * MS));
}

/// Programs can ask for the machine's properties.
#[test]
fn a_program_sees_the_machines_cpus() {
    let count = |world: &World, _: &Session| world.os().cpu_count();
    assert_eq!(bare(5).run(count).result, Ok(5));
}
