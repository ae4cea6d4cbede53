//! No CPU idles while a thread that may use it stands in the run queue.
//!
//! Most tests hold a thread on CPU 0 by affinity, so that a thread that makes room for it has to
//! find the idle CPU 1.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use os::{CpuSet, Os, Priority, Session, ThreadHandle, ThreadSpec};
use sim::model::CostList;
use sim::{Report, Simulation};
use waits::{Nanos, WaitEvent};

const MS: u64 = 1_000_000;

/// A machine of two CPUs on which only hand-made charges cost anything.
fn bare() -> Simulation {
    let mut simulation = Simulation::new(1);
    simulation.costs = CostList::free();
    simulation.machine.cpus = 2;
    simulation.machine.time_slice_us = 3_000;
    simulation.machine.switch_cost_ns = 0;
    simulation.machine.wake_idle_ns = 0;
    simulation.machine.migration_cost_ns = 0;
    simulation
}

fn burn(session: &Session, ms: u64) {
    session.charge_nanos(Nanos::from_millis(ms));
    session.relax(0);
}

fn pause(session: &Session, ms: u64) {
    session.pause(Nanos::from_millis(ms), session.waiting(WaitEvent::PlSqlLockTimer));
}

fn start(
    session: &Session,
    name: &str,
    body: impl FnOnce(&Session) + Send + 'static,
) -> ThreadHandle {
    session.spawn(ThreadSpec::background(name), body).expect("started")
}

fn hold_on_cpu_0(os: &Os, thread: &ThreadHandle) {
    os.set_affinity(thread.id(), CpuSet::one(0)).expect("the machine has it");
}

fn run_queue_of<R>(report: &Report<R>, name: &str) -> u64 {
    let found = report.threads.iter().find(|thread| thread.name == name);
    found.expect("the thread is in the report").run_queue_ns
}

/// Starts the threads that a test needs from CPU 1, so that they come to CPU 0; while the main
/// thread then sleeps CPU 1 is idle.
fn from_cpu_1(program: impl FnOnce(&Os, &Session) + Send + 'static) -> Report<()> {
    let report = bare().run(|world, session| {
        let os = world.os();
        os.set_affinity(session.thread(), CpuSet::one(1)).expect("the machine has it");
        program(os, session);
    });
    assert_eq!(report.result, Ok(()));
    report
}

/// Sleeps until 1 ms, then needs CPU 0 before all other threads for 10 ms.
fn start_urgent(os: &Os, session: &Session) -> ThreadHandle {
    let urgent = start(session, "urgent", |session| {
        pause(session, 2);
        burn(session, 10);
    });
    os.set_priority(urgent.id(), Priority::RealTime(1)).expect("allowed");
    hold_on_cpu_0(os, &urgent);
    pause(session, 1);
    urgent
}

fn join(session: &Session, threads: impl IntoIterator<Item = ThreadHandle>) {
    for thread in threads {
        thread.join(session).expect("no panic");
    }
}

/// A thread pushed off its CPU by a more important one takes the CPU that is idle.
#[test]
fn a_preempted_thread_goes_to_an_idle_cpu() {
    let report = from_cpu_1(|os, session| {
        let urgent = start_urgent(os, session);
        let wide = start(session, "wide", |session| burn(session, 20));
        join(session, [urgent, wide]);
    });
    assert_eq!(run_queue_of(&report, "wide"), 0, "{report:?}");
    assert_eq!(report.elapsed_ns / MS, 21, "{report:?}");
}

/// A thread pushed off its CPU pushes off, in turn, one that is less important than itself.
#[test]
fn a_preempted_thread_preempts_a_less_important_one_elsewhere() {
    let report = from_cpu_1(|os, session| {
        let urgent = start_urgent(os, session);
        let wide = start(session, "wide", |session| burn(session, 20));
        let idler = start(session, "idler", |session| burn(session, 20));
        os.set_affinity(idler.id(), CpuSet::one(1)).expect("the machine has it");
        os.set_priority(idler.id(), Priority::Nice(10)).expect("allowed");
        join(session, [urgent, wide, idler]);
    });
    assert_eq!(run_queue_of(&report, "wide"), 0, "{report:?}");
}

/// A thread whose slice is over, in favour of one that can't run elsewhere, goes to the idle CPU.
#[test]
fn a_thread_whose_slice_is_over_goes_to_an_idle_cpu() {
    let report = from_cpu_1(|os, session| {
        let wide = start(session, "wide", |session| burn(session, 20));
        let held = start(session, "held", |session| burn(session, 20));
        hold_on_cpu_0(os, &held);
        join(session, [wide, held]);
    });
    assert_eq!(run_queue_of(&report, "wide"), 0, "{report:?}");
    // The held thread waits for one slice, and has the CPU to itself from then on.
    assert_eq!(report.elapsed_ns / MS, 23, "{report:?}");
}

/// A thread that gives up its CPU to one that can't run elsewhere goes to the idle CPU.
#[test]
fn a_thread_that_yields_goes_to_an_idle_cpu() {
    let report = from_cpu_1(|os, session| {
        let wide = start(session, "wide", |session| {
            burn(session, 1);
            session.relax(1_000);
            burn(session, 20);
        });
        let held = start(session, "held", |session| burn(session, 20));
        hold_on_cpu_0(os, &held);
        join(session, [wide, held]);
    });
    assert_eq!(run_queue_of(&report, "wide"), 0, "{report:?}");
    assert_eq!(report.elapsed_ns / MS, 21, "{report:?}");
}

/// A thread made less important than one that can't run elsewhere goes to the idle CPU.
#[test]
fn a_thread_that_loses_importance_goes_to_an_idle_cpu() {
    let report = from_cpu_1(|os, session| {
        let theirs = os.clone();
        let wide = start(session, "wide", move |session| {
            burn(session, 1);
            theirs.set_priority(session.thread(), Priority::Nice(10)).expect("allowed");
            burn(session, 20);
        });
        let held = start(session, "held", |session| burn(session, 20));
        hold_on_cpu_0(os, &held);
        join(session, [wide, held]);
    });
    assert_eq!(run_queue_of(&report, "wide"), 0, "{report:?}");
    assert_eq!(report.elapsed_ns / MS, 21, "{report:?}");
}

/// Two threads that never stood in the queue can be preempted at the same time.
#[test]
fn threads_that_never_queued_can_both_be_preempted() {
    let report = bare().run(|world, session| {
        let urgent = ["urgent0", "urgent1"].map(|name| {
            let thread = start(session, name, |session| {
                pause(session, 2);
                burn(session, 10);
            });
            let id = thread.id();
            world.os().set_priority(id, Priority::RealTime(1)).expect("allowed");
            thread
        });
        pause(session, 1);
        let usual = start(session, "usual", |session| burn(session, 10));
        burn(session, 10);
        join(session, urgent.into_iter().chain([usual]));
    });
    assert_eq!(report.result, Ok(()));
    assert_eq!(report.elapsed_ns / MS, 21);
}

/// A Ready thread that gets the priority it already has keeps its position in the queue.
#[test]
fn setting_the_same_priority_again_changes_nothing() {
    let mut simulation = bare();
    simulation.machine.cpus = 1;
    let report = simulation.run(|world, session| {
        let os = world.os().clone();
        let order = Arc::new(AtomicU64::new(0));
        let threads: Vec<_> = (1..=2)
            .map(|number| {
                let order = Arc::clone(&order);
                start(session, &format!("t{number}"), move |_| {
                    let seen = order.load(Relaxed);
                    order.store(seen * 10 + number, Relaxed);
                })
            })
            .collect();
        os.set_priority(threads[0].id(), Priority::NORMAL).expect("allowed");
        os.set_affinity(threads[0].id(), CpuSet::ALL).expect("the machine has it");
        join(session, threads);
        order.load(Relaxed)
    });
    assert_eq!(report.result, Ok(12));
}
