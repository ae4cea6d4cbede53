//! Which thread has which CPU: the moves between Ready and Running.
//!
//! ```text
//!   place ──▶ idle CPU? ──▶ dispatch          leave_cpu ──▶ fill ──▶ dispatch
//!               │ no                              │
//!               ├─▶ pushes a less important        └─▶ give_way: last in the queue, unless there
//!               │   thread off, which is placed        is room elsewhere
//!               │ no
//!               └─▶ enqueue
//! ```
//!
//! Callers: `scheduler`, of which this is a part.

use std::cmp::Reverse;

use os::Woken;

use super::{Event, Scheduler};
use crate::thread::{State, Thread, Tid};

impl Scheduler {
    pub(super) fn unblock(&mut self, tid: Tid, woken: Woken) {
        self.threads[tid].woken = woken;
        self.threads[tid].sleep_generation += 1;
        self.make_ready(tid);
    }

    /// Makes a Blocked thread Ready, and Running if a CPU is free or runs a less important thread.
    pub(super) fn make_ready(&mut self, tid: Tid) {
        let now = self.now;
        let thread = &mut self.threads[tid];
        assert!(matches!(thread.state, State::Blocked { .. }));
        thread.blocked_ns += now - thread.since;
        thread.since = now;
        thread.state = State::Ready;
        self.place(tid);
    }

    /// Finds a CPU for a Ready thread that is in no queue, or queues it at the tail. A thread that
    /// is preempted by it looks for another CPU in turn: each is less important than the one
    /// before.
    fn place(&mut self, tid: Tid) {
        self.stand_last(tid);
        let mut homeless = tid;
        loop {
            if let Some(cpu) = self.idle_cpu(homeless) {
                return self.dispatch(homeless, cpu);
            }
            let Some(cpu) = self.less_important_cpu(homeless) else {
                return self.enqueue(homeless);
            };
            let victim = self.cpus[cpu].running.expect("it runs something");
            let _ = self.leave_cpu(victim);
            self.log.record(self.now, victim, "preempted", cpu as u64, homeless as u64);
            self.dispatch(homeless, cpu);
            homeless = victim;
        }
    }

    /// Puts `tid`, which has just left `cpu`, at the end of the queue. If another thread then has
    /// the CPU, there may be room elsewhere.
    pub(super) fn give_way(&mut self, tid: Tid, cpu: usize) {
        self.stand_last(tid);
        self.enqueue(tid);
        self.fill(cpu);
        let waits = self.threads[tid].state == State::Ready;
        if waits && (self.idle_cpu(tid).is_some() || self.less_important_cpu(tid).is_some()) {
            self.unqueue(tid);
            self.place(tid);
        }
    }

    fn idle_cpu(&self, tid: Tid) -> Option<usize> {
        let thread = &self.threads[tid];
        let usable = |cpu: &usize| {
            self.cpus[*cpu].running.is_none() && thread.affinity.contains(*cpu as u32)
        };
        // The thread's cache is warm on the CPU on which it ran last.
        thread.last_cpu.filter(usable).or_else(|| (0..self.cpus.len()).find(usable))
    }

    fn less_important_cpu(&self, tid: Tid) -> Option<usize> {
        let thread = &self.threads[tid];
        let running = |cpu: usize| self.cpus[cpu].running.map(|t| self.threads[t].rank);
        (0..self.cpus.len())
            .filter(|cpu| thread.affinity.contains(*cpu as u32))
            .filter_map(|cpu| running(cpu).map(|rank| (rank, cpu)))
            .min()
            .filter(|(rank, _)| *rank < thread.rank)
            .map(|(_, cpu)| cpu)
    }

    fn dispatch(&mut self, tid: Tid, cpu: usize) {
        let now = self.now;
        let thread = &mut self.threads[tid];
        assert!(thread.state == State::Ready && self.cpus[cpu].running.is_none());
        thread.run_queue_ns += now - thread.since;
        thread.since = now;
        thread.state = State::Running { cpu };
        let mut overhead = 0;
        if self.cpus[cpu].last != Some(tid) {
            overhead += self.machine.switch_ns;
            thread.switches += 1;
        }
        if thread.last_cpu.is_some_and(|last| last != cpu) {
            overhead += self.machine.migration_ns;
            thread.migrations += 1;
        }
        thread.last_cpu = Some(cpu);
        let burst = thread.burst_ns.saturating_add(overhead);
        self.cpus[cpu].running = Some(tid);
        self.cpus[cpu].last = Some(tid);
        self.cpus[cpu].generation += 1;
        // The slice begins after the switch. Otherwise threads would do nothing but switch on a
        // machine where the slice is the shorter of the two.
        self.cpus[cpu].slice_end = now.saturating_add(overhead + self.machine.slice_ns);
        self.cpus[cpu].slice_armed = false;
        self.log.record(now, tid, "run", cpu as u64, burst);
        if !self.ready.is_empty() {
            self.arm_slice(cpu);
        }
        if burst == 0 {
            self.eligible.push(tid);
        } else {
            self.start_burst(tid, burst);
        }
    }

    pub(super) fn start_burst(&mut self, tid: Tid, ns: u64) {
        let thread = &mut self.threads[tid];
        assert!(matches!(thread.state, State::Running { .. }));
        thread.burst_ns = ns;
        thread.burst_generation += 1;
        let generation = thread.burst_generation;
        // The burst starts now, whatever the thread did on this CPU before.
        thread.cpu_ns += self.now - thread.since;
        thread.since = self.now;
        self.happens(self.now.saturating_add(ns), Event::BurstEnd { tid, generation });
    }

    /// Takes a Running thread off its CPU, into no state yet; the rest of its burst stays.
    pub(super) fn leave_cpu(&mut self, tid: Tid) -> usize {
        let now = self.now;
        let thread = &mut self.threads[tid];
        let State::Running { cpu } = thread.state else { panic!("t{tid} isn't running") };
        let used = now - thread.since;
        thread.burst_ns = thread.burst_ns.saturating_sub(used);
        thread.cpu_ns += used;
        thread.since = now;
        thread.burst_generation += 1;
        thread.state = State::Ready;
        self.cpus[cpu].running = None;
        self.cpus[cpu].generation += 1;
        self.cpus[cpu].slice_armed = false;
        self.stop_being_eligible(tid);
        cpu
    }

    pub(super) fn stop_being_eligible(&mut self, tid: Tid) {
        if let Some(index) = self.eligible.iter().position(|t| *t == tid) {
            self.eligible.remove(index);
        }
    }

    /// Gives a free CPU to the first of the run queue that may use it.
    pub(super) fn fill(&mut self, cpu: usize) {
        let usable = |tid: Tid| self.threads[tid].affinity.contains(cpu as u32);
        let mut candidates = self.ready.iter().filter(|(_, tid)| usable(**tid));
        let Some((&first, _)) = candidates.next() else { return };
        let equals: Vec<(Reverse<i32>, u64)> = std::iter::once(first)
            .chain(candidates.map(|(key, _)| *key).take_while(|key| key.0 == first.0))
            .collect();
        let key = equals[self.luck.choose(equals.len())];
        let tid = self.ready.remove(&key).expect("taken from the queue itself");
        self.dispatch(tid, cpu);
    }

    /// Gives the thread the last position in the queue, also if it enters the queue only later,
    /// preempted.
    fn stand_last(&mut self, tid: Tid) {
        self.sequence += 1;
        self.threads[tid].queued = self.sequence;
    }

    /// Inserts the thread into the queue, at its position.
    fn enqueue(&mut self, tid: Tid) {
        let thread = &mut self.threads[tid];
        assert_eq!(thread.state, State::Ready);
        let key = (Reverse(thread.rank), thread.queued);
        let before = self.ready.insert(key, tid);
        assert!(before.is_none(), "two threads with one place in the queue");
        for cpu in 0..self.cpus.len() {
            self.arm_slice(cpu);
        }
    }

    fn unqueue(&mut self, tid: Tid) {
        let key = (Reverse(self.threads[tid].rank), self.threads[tid].queued);
        self.ready.remove(&key).expect("a Ready thread is queued");
    }

    /// Changes what a thread's position depends on, and finds its position again.
    pub(super) fn requeue(&mut self, tid: Tid, change: impl FnOnce(&mut Thread)) {
        match self.threads[tid].state {
            State::Ready => {
                self.unqueue(tid);
                change(&mut self.threads[tid]);
                self.place(tid);
            }
            State::Running { .. } => {
                change(&mut self.threads[tid]);
                self.leave_if_another_should_run(tid);
            }
            State::Blocked { .. } | State::Ended => change(&mut self.threads[tid]),
        }
    }

    fn leave_if_another_should_run(&mut self, tid: Tid) {
        let State::Running { cpu } = self.threads[tid].state else { return };
        let thread = &self.threads[tid];
        let may_stay = thread.affinity.contains(cpu as u32);
        let outranked = self.ready.iter().any(|(key, other)| {
            key.0.0 > thread.rank && self.threads[*other].affinity.contains(cpu as u32)
        });
        if may_stay && !outranked {
            return;
        }
        let cpu = self.leave_cpu(tid);
        if may_stay {
            self.give_way(tid, cpu);
        } else {
            self.fill(cpu);
            self.place(tid);
        }
    }

    /// Arms the timer of the slice. A slice counts only while another thread stands in the queue.
    fn arm_slice(&mut self, cpu: usize) {
        if self.cpus[cpu].running.is_none() || self.cpus[cpu].slice_armed {
            return;
        }
        self.cpus[cpu].slice_armed = true;
        let generation = self.cpus[cpu].generation;
        let at = self.cpus[cpu].slice_end.max(self.now);
        self.happens(at, Event::SliceEnd { cpu, generation });
    }

    pub(super) fn end_slice(&mut self, cpu: usize) {
        let tid = self.cpus[cpu].running.expect("a valid slice belongs to a running thread");
        self.cpus[cpu].slice_armed = false;
        self.cpus[cpu].slice_end = self.now.saturating_add(self.machine.slice_ns);
        let rank = self.threads[tid].rank;
        let waits = self.ready.iter().any(|(key, other)| {
            key.0.0 >= rank && self.threads[*other].affinity.contains(cpu as u32)
        });
        if waits {
            let _ = self.leave_cpu(tid);
            self.log.record(self.now, tid, "slice", cpu as u64, 0);
            self.give_way(tid, cpu);
        } else if !self.ready.is_empty() {
            self.arm_slice(cpu);
        }
    }

    /// The invariants above, one by one.
    #[cfg(debug_assertions)]
    pub(super) fn assert_consistent(&self) {
        for (tid, thread) in self.threads.iter().enumerate() {
            let eligible = self.eligible.contains(&tid);
            match thread.state {
                State::Running { cpu } => {
                    assert_eq!(self.cpus[cpu].running, Some(tid));
                    assert!(thread.affinity.contains(cpu as u32));
                    assert_eq!(eligible, thread.burst_ns == 0);
                }
                State::Ready => {
                    let key = (Reverse(thread.rank), thread.queued);
                    assert_eq!(self.ready.get(&key), Some(&tid));
                    assert!(!eligible);
                    assert_eq!(self.idle_cpu(tid), None, "t{tid} waits for nothing");
                    assert_eq!(self.less_important_cpu(tid), None, "t{tid} waits for less");
                }
                State::Blocked { .. } | State::Ended => assert!(!eligible),
            }
        }
        let count = |state: fn(&Thread) -> bool| self.threads.iter().filter(|t| state(t)).count();
        let running = self.cpus.iter().filter(|cpu| cpu.running.is_some()).count();
        assert_eq!(running, count(|t| matches!(t.state, State::Running { .. })));
        assert_eq!(self.ready.len(), count(|t| t.state == State::Ready));
    }
}
