//! The simulated machine's scheduler: CPUs, run queue, timers and I/O on virtual time.
//!
//! A pure state machine: it starts no thread, passes no baton and performs no I/O. `kernel` calls
//! it with the lock held and does what it says.
//!
//! ```text
//!            wake, I/O done, time up              a CPU is free, or runs less important work
//!   Blocked ─────────────────────────▶ Ready ─────────────────────────▶ Running ──▶ Ended
//!      ▲                                 ▲  time slice over, preempted      │
//!      │                                 └──────────────────────────────────┤
//!      └────────────────────────────────────────────────────────────────────┘ waits
//! ```
//!
//! Real code takes no virtual time; it *charges* CPU, and when it next comes to the scheduler the
//! charge becomes a burst that the thread must sit through on its CPU before its code goes on.
//!
//! Invariants
//!   * every thread that is Running occupies exactly one CPU, every CPU at most one thread
//!   * a Running thread with no burst left is in `eligible`, and no other thread is
//!   * a thread is Ready only while no CPU that it may use idles or runs something less important
//!   * time in each state adds up to the thread's age: nothing is lost between states
//!   * `now` never goes back

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use os::{CpuSet, Priority, Woken};

use waits::WaitEvent;

use crate::log::EventLog;
use crate::perturbation::{Disturbance, Luck};
use crate::thread::{On, State, Thread, Tid};

mod dispatch;

/// An event at a point in time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    BurstEnd { tid: Tid, generation: u64 },
    SliceEnd { cpu: usize, generation: u64 },
    TimeUp { tid: Tid, generation: u64 },
    IoDone { io: u64 },
}

/// The next step of the caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// This thread's code goes on.
    Run(Tid),
    /// An I/O has completed: the caller performs it, then asks again.
    Complete(u64),
    /// No thread is left.
    AllEnded,
    /// Threads are left, and none can ever go on.
    Deadlock,
    /// Virtual time has passed the limit.
    TimeLimit,
}

#[derive(Debug, Default)]
struct Cpu {
    running: Option<Tid>,
    last: Option<Tid>,
    slice_end: u64,
    generation: u64,
    slice_armed: bool,
}

/// The number of threads that a call has woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct WokenUp {
    pub(crate) threads: u32,
    /// The number of these that got a CPU at once: an idle CPU had to be called.
    pub(crate) at_once: u32,
}

/// The parameters of the machine that the scheduler needs.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) cpus: usize,
    pub(crate) slice_ns: u64,
    pub(crate) switch_ns: u64,
    pub(crate) migration_ns: u64,
}

pub(crate) struct Scheduler {
    pub(crate) now: u64,
    pub(crate) log: EventLog,
    machine: Machine,
    limit_ns: u64,
    pub(crate) luck: Luck,
    threads: Vec<Thread>,
    cpus: Vec<Cpu>,
    ready: BTreeMap<(Reverse<i32>, u64), Tid>,
    /// Running threads with no burst left: their code may go on now.
    eligible: Vec<Tid>,
    happenings: BinaryHeap<Reverse<(u64, u64, Event)>>,
    sequence: u64,
    words: BTreeMap<u64, VecDeque<Tid>>,
    alive: usize,
}

impl Scheduler {
    pub(crate) fn new(machine: Machine, limit_ns: u64, luck: Luck, log: EventLog) -> Scheduler {
        assert!(machine.cpus > 0 && machine.cpus <= CpuSet::CPUS_MAX as usize);
        assert!(machine.slice_ns > 0);
        Scheduler {
            now: 0,
            log,
            limit_ns,
            luck,
            threads: Vec::new(),
            cpus: (0..machine.cpus).map(|_| Cpu::default()).collect(),
            machine,
            ready: BTreeMap::new(),
            eligible: Vec::new(),
            happenings: BinaryHeap::new(),
            sequence: 0,
            words: BTreeMap::new(),
            alive: 0,
        }
    }

    pub(crate) fn thread(&self, tid: Tid) -> &Thread {
        &self.threads[tid]
    }

    pub(crate) fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// Whether the thread exists and hasn't ended.
    pub(crate) fn lives(&self, tid: Tid) -> bool {
        self.threads.get(tid).is_some_and(|thread| thread.state != State::Ended)
    }

    /// When `tid` entered its state.
    pub(crate) fn since(&self, tid: Tid) -> u64 {
        self.threads[tid].since
    }

    /// Whether the code of `tid`, which has just been here, may go on at once.
    pub(crate) fn may_go_on(&self, tid: Tid) -> bool {
        self.eligible.contains(&tid)
    }

    /// Notes that the real thread is gone, after the end or while everything stops.
    pub(crate) fn bury(&mut self, tid: Tid) {
        self.threads[tid].buried = true;
    }

    pub(crate) fn is_buried(&self, tid: Tid) -> bool {
        self.threads[tid].buried
    }

    pub(crate) fn cpu_count(&self) -> usize {
        self.cpus.len()
    }

    /// Adds a thread, ready to run. It inherits nothing.
    pub(crate) fn add_thread(&mut self, name: &str) -> Tid {
        let tid = self.threads.len();
        self.threads.push(Thread::new(name, self.now));
        self.alive += 1;
        self.log.record(self.now, tid, "spawn", tid as u64, 0);
        self.make_ready(tid);
        tid
    }

    /// The next step, after everything that happens before it. Time moves here and only here.
    pub(crate) fn next(&mut self) -> Next {
        loop {
            if !self.eligible.is_empty() {
                #[cfg(debug_assertions)]
                self.assert_consistent();
                let index = self.luck.choose(self.eligible.len());
                return Next::Run(self.eligible[index]);
            }
            if self.alive == 0 {
                return Next::AllEnded;
            }
            let Some((at, happening)) = self.pop_valid() else { return Next::Deadlock };
            // At the very end of time, two times can't be told apart any more.
            if at > self.limit_ns || at == u64::MAX {
                return Next::TimeLimit;
            }
            assert!(at >= self.now, "time went back");
            self.now = at;
            match happening {
                Event::BurstEnd { tid, .. } => {
                    self.threads[tid].burst_ns = 0;
                    self.eligible.push(tid);
                }
                Event::SliceEnd { cpu, .. } => self.end_slice(cpu),
                Event::TimeUp { tid, .. } => {
                    self.leave_word(tid);
                    self.log.record(self.now, tid, "time-up", 0, 0);
                    self.unblock(tid, Woken::TimedOut);
                }
                Event::IoDone { io } => return Next::Complete(io),
            }
        }
    }

    /// Charges `tid`, whose code runs, with the `ns` of CPU that it has used since its last call.
    /// Returns true if it may simply go on because nothing else happens before.
    pub(crate) fn charge(&mut self, tid: Tid, ns: u64) -> bool {
        if ns == 0 {
            return true;
        }
        let until = self.now.saturating_add(ns);
        let alone = self.eligible.len() == 1 && self.eligible[0] == tid;
        let in_time = until <= self.limit_ns && until < u64::MAX;
        if alone && in_time && self.first_valid().is_none_or(|at| at > until) {
            self.now = until;
            return true;
        }
        self.stop_being_eligible(tid);
        self.start_burst(tid, ns);
        false
    }

    /// Puts `tid` to sleep, at most until `until`.
    pub(crate) fn block(&mut self, tid: Tid, on: On, event: Option<WaitEvent>, until: Option<u64>) {
        let cpu = self.leave_cpu(tid);
        let thread = &mut self.threads[tid];
        thread.state = State::Blocked { on, event };
        thread.sleep_generation += 1;
        let generation = thread.sleep_generation;
        if let On::Word(word) = on {
            self.words.entry(word).or_default().push_back(tid);
        }
        if let Some(at) = until {
            self.happens(at.max(self.now), Event::TimeUp { tid, generation });
        }
        let number = match on {
            On::Word(id) | On::Io(id) | On::Ring(id) => id,
            On::Unnamed => 0,
        };
        self.log.record(self.now, tid, "block", event.map_or(0, |e| e as u64 + 1), number);
        self.fill(cpu);
    }

    /// The reason why the last sleep of `tid` ended.
    pub(crate) fn woken(&self, tid: Tid) -> Woken {
        self.threads[tid].woken
    }

    /// Wakes up to `count` threads that sleep on `word`.
    pub(crate) fn wake_word(&mut self, word: u64, count: u32) -> WokenUp {
        let mut woken = WokenUp::default();
        while woken.threads < count {
            let Some(sleepers) = self.words.get(&word).map(VecDeque::len).filter(|n| *n > 0) else {
                break;
            };
            let index = self.luck.choose(sleepers);
            let sleepers = self.words.get_mut(&word).expect("looked up above");
            let tid = sleepers.remove(index).expect("within the length");
            if sleepers.is_empty() {
                self.words.remove(&word);
            }
            self.log.record(self.now, tid, "woken", word, 0);
            self.unblock(tid, Woken::Woken);
            woken.threads += 1;
            woken.at_once += u32::from(matches!(self.threads[tid].state, State::Running { .. }));
        }
        woken
    }

    pub(crate) fn sleeps_on(&self, tid: Tid, what: On) -> bool {
        matches!(self.threads[tid].state, State::Blocked { on, .. } if on == what)
    }

    /// Wakes one thread that sleeps on I/O, or for no reason.
    pub(crate) fn wake_thread(&mut self, tid: Tid) {
        assert!(matches!(self.threads[tid].state, State::Blocked { .. }), "t{tid} isn't blocked");
        self.leave_word(tid);
        self.unblock(tid, Woken::Woken);
    }

    /// Notes that an I/O completes at `at`.
    pub(crate) fn io_completes(&mut self, io: u64, at: u64) {
        assert!(at >= self.now, "an I/O completes before it began");
        self.happens(at, Event::IoDone { io });
    }

    /// Makes `tid` give up its CPU and go to the end of the run queue.
    pub(crate) fn yield_cpu(&mut self, tid: Tid) {
        let cpu = self.leave_cpu(tid);
        self.log.record(self.now, tid, "yield", cpu as u64, 0);
        self.give_way(tid, cpu);
    }

    /// Notes that the code of `tid` has ended.
    pub(crate) fn end_thread(&mut self, tid: Tid) {
        let cpu = self.leave_cpu(tid);
        self.threads[tid].state = State::Ended;
        self.alive -= 1;
        self.log.record(self.now, tid, "exit", 0, 0);
        self.fill(cpu);
    }

    /// Sets a priority. A thread that has this priority already keeps its position in the queue.
    pub(crate) fn set_priority(&mut self, tid: Tid, priority: Priority) {
        let rank = priority.rank();
        self.log.record(self.now, tid, "priority", rank as u64, 0);
        if self.threads[tid].rank != rank {
            self.requeue(tid, |thread| thread.rank = rank);
        }
    }

    /// Sets the CPUs of a thread. Returns false if the machine has none of them.
    pub(crate) fn set_affinity(&mut self, tid: Tid, cpus: CpuSet) -> bool {
        if !(0..self.cpus.len()).any(|cpu| cpus.contains(cpu as u32)) {
            return false;
        }
        self.log.record(self.now, tid, "affinity", 0, 0);
        if self.threads[tid].affinity != cpus {
            self.requeue(tid, |thread| thread.affinity = cpus);
        }
        true
    }

    /// CPU and run-queue time of `tid` so far; `ahead` is the CPU time that it has charged since
    /// its last call.
    pub(crate) fn times(&self, tid: Tid, ahead: u64) -> (u64, u64) {
        let thread = &self.threads[tid];
        let here = self.now - thread.since;
        match thread.state {
            State::Running { .. } => (thread.cpu_ns + here + ahead, thread.run_queue_ns),
            State::Ready => (thread.cpu_ns, thread.run_queue_ns + here),
            State::Blocked { .. } | State::Ended => (thread.cpu_ns, thread.run_queue_ns),
        }
    }

    /// The times of `tid` so far: on a CPU, in the run queue, asleep; and its age, their sum.
    pub(crate) fn life(&self, tid: Tid) -> [u64; 4] {
        let thread = &self.threads[tid];
        let here = self.now - thread.since;
        let (cpu, run_queue) = self.times(tid, 0);
        let (blocked, end) = match thread.state {
            State::Blocked { .. } => (thread.blocked_ns + here, self.now),
            State::Ended => (thread.blocked_ns, thread.since),
            State::Ready | State::Running { .. } => (thread.blocked_ns, self.now),
        };
        let age = end - thread.born;
        assert_eq!(cpu + run_queue + blocked, age, "time of {} is lost (S4)", thread.name);
        [cpu, run_queue, blocked, age]
    }

    /// Lets another thread come first. Returns true if `tid` isn't eligible any more.
    pub(crate) fn interleave(&mut self, tid: Tid) -> bool {
        match self.luck.disturbance() {
            Disturbance::Yield if !self.ready.is_empty() => {
                self.yield_cpu(tid);
                true
            }
            Disturbance::Delay(ns) => {
                self.log.record(self.now, tid, "delay", ns, 0);
                !self.charge(tid, ns)
            }
            Disturbance::Yield | Disturbance::None => false,
        }
    }

    // ── what happens when ───────────────────────────────────────────────────────────────────

    fn happens(&mut self, at: u64, happening: Event) {
        self.sequence += 1;
        self.happenings.push(Reverse((at, self.sequence, happening)));
    }

    fn is_valid(&self, happening: Event) -> bool {
        match happening {
            Event::BurstEnd { tid, generation } => self.threads[tid].burst_generation == generation,
            Event::SliceEnd { cpu, generation } => {
                self.cpus[cpu].generation == generation && self.cpus[cpu].slice_armed
            }
            Event::TimeUp { tid, generation } => self.threads[tid].sleep_generation == generation,
            Event::IoDone { .. } => true,
        }
    }

    fn first_valid(&mut self) -> Option<u64> {
        while let Some(Reverse((at, _, happening))) = self.happenings.peek() {
            if self.is_valid(*happening) {
                return Some(*at);
            }
            self.happenings.pop();
        }
        None
    }

    fn pop_valid(&mut self) -> Option<(u64, Event)> {
        self.first_valid()?;
        let Reverse((at, _, happening)) = self.happenings.pop()?;
        Some((at, happening))
    }

    fn leave_word(&mut self, tid: Tid) {
        let State::Blocked { on: On::Word(word), .. } = self.threads[tid].state else { return };
        let sleepers = self.words.get_mut(&word).expect("a sleeper is listed");
        sleepers.retain(|sleeper| *sleeper != tid);
        if sleepers.is_empty() {
            self.words.remove(&word);
        }
    }
}
