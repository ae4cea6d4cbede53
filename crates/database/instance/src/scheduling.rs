//! The priorities of background processes, and the CPUs on which they run.
//!
//! ```text
//!   high_priority_processes = lgwr|dbw*        real time, as Oracle's on Linux
//!   process_affinity        = dbw*:0-3|lgwr:5  the first pattern that a process matches counts
//! ```
//!
//! A pattern is a process's name without `fb_`, in which `*` stands for any characters.
//!
//! Invariants
//!   * a process that no pattern matches has normal priority and all CPUs; if no pattern was ever
//!     set, it has what it inherited
//!   * a change that can't be made for one process is made for none
//!
//! Callers: `open`, `alter`, `parameters`.
//! Source: Oracle's `_high_priority_processes`; `sched(7)` for what real time means.

use std::sync::Arc;

use cache::CacheConfig;
use latch::{Latch, LatchKind};
use os::{Cause, CpuSet, Priority, Session, ThreadHandle, ThreadId, ThreadSpec, is_process};
use stop::Stop;

use crate::alter::Settings;
use crate::{Instance, Parameters};

/// Patterns of process names, separated by `|`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ProcessPatterns(Vec<String>);

/// Patterns, each with the CPUs on which its processes run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ProcessAffinity(Vec<(String, CpuList)>);

/// CPUs in the order in which a user named them, from and to.
#[derive(Clone, PartialEq, Eq, Debug)]
struct CpuList(Vec<(u32, u32)>);

/// Real time, below everything else that is real time.
const HIGH: Priority = Priority::RealTime(1);

impl ProcessPatterns {
    /// Reads patterns as a user writes them; none if the text isn't patterns.
    pub(crate) fn read(text: &str) -> Option<ProcessPatterns> {
        parts(text)
            .map(|part| is_pattern(part).then(|| part.to_string()))
            .collect::<Option<_>>()
            .map(ProcessPatterns)
    }

    /// The text as a user would write it.
    pub(crate) fn show(&self) -> String {
        self.0.join("|")
    }

    fn priority_of(&self, process: &str) -> Priority {
        let is_high = self.0.iter().any(|pattern| is_process(pattern, process));
        if is_high { HIGH } else { Priority::NORMAL }
    }
}

impl ProcessAffinity {
    /// Reads patterns with CPUs as a user writes them; none if the text isn't that.
    pub(crate) fn read(text: &str) -> Option<ProcessAffinity> {
        let one = |part: &str| {
            let (pattern, cpus) = part.split_once(':')?;
            let pattern = pattern.trim();
            is_pattern(pattern).then_some(())?;
            Some((pattern.to_string(), CpuList::read(cpus)?))
        };
        parts(text).map(one).collect::<Option<_>>().map(ProcessAffinity)
    }

    /// The text as a user would write it.
    pub(crate) fn show(&self) -> String {
        let one = |(pattern, cpus): &(String, CpuList)| format!("{pattern}:{}", cpus.show());
        self.0.iter().map(one).collect::<Vec<_>>().join("|")
    }

    fn cpus_of(&self, process: &str) -> CpuSet {
        let first = self.0.iter().find(|(pattern, _)| is_process(pattern, process));
        first.map_or(CpuSet::ALL, |(_, cpus)| cpus.set())
    }
}

impl CpuList {
    fn read(text: &str) -> Option<CpuList> {
        let one = |part: &str| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (from, to): (u32, u32) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
            (from <= to && to < CpuSet::CPUS_MAX).then_some((from, to))
        };
        text.split(',').map(one).collect::<Option<_>>().map(CpuList)
    }

    fn show(&self) -> String {
        let one = |(from, to): &(u32, u32)| match from == to {
            true => from.to_string(),
            false => format!("{from}-{to}"),
        };
        self.0.iter().map(one).collect::<Vec<_>>().join(",")
    }

    fn set(&self) -> CpuSet {
        let mut all = self.0.iter().flat_map(|(from, to)| *from..=*to);
        let first = CpuSet::one(all.next().expect("a list names a CPU"));
        all.fold(first, CpuSet::with)
    }
}

/// The parts between bars; none of an empty text.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split('|').map(str::trim).filter(move |part| !(part.is_empty() && text.trim().is_empty()))
}

/// Whether the pattern matches a process that can exist.
fn is_pattern(text: &str) -> bool {
    let writers = (0..CacheConfig::WRITERS_MAX).map(|number| format!("dbw{number}"));
    let mut names = ["lgwr", "ckpt", "smco"].map(String::from).into_iter().chain(writers);
    names.any(|name| is_process(text, &name))
}

impl Parameters {
    fn process_patterns(&self) -> impl Iterator<Item = &String> {
        let affinity = self.process_affinity.0.iter().map(|(pattern, _)| pattern);
        self.high_priority_processes.0.iter().chain(affinity)
    }

    /// Whether processes get what any others have.
    fn schedules_nothing(&self) -> bool {
        self.high_priority_processes.0.is_empty() && self.process_affinity.0.is_empty()
    }

    /// Refuses a priority or CPUs that a process of an instance couldn't have (IN52): a thread
    /// tries all of them, and ends.
    pub(crate) fn try_scheduling(&self, session: &Session) -> Result<(), Stop> {
        if self.schedules_nothing() {
            return Ok(());
        }
        let nothing: Result<(), os::Error> = Ok(());
        let tried = Arc::new(Latch::new(session.os(), LatchKind::Innermost, nothing));
        let (inside, wanted) = (Arc::clone(&tried), self.clone());
        let body = move |session: &Session| {
            let writers = (0..wanted.db_writer_processes).map(|number| format!("fb_dbw{number}"));
            let others = ["fb_lgwr", "fb_ckpt", "fb_smco"].map(String::from);
            let mut names = others.into_iter().chain(writers);
            let thread = session.thread();
            let outcome = names.try_for_each(|name| give(thread, &name, &wanted, session));
            *inside.exclusive(session) = outcome;
        };
        let thread = session.spawn(ThreadSpec::background("fb_try"), body)?;
        // A panic is told by itself.
        let _ = thread.join(session);
        let outcome = tried.shared(session).clone();
        outcome.map_err(Stop::from)
    }

    /// Whether both set equal priorities and CPUs.
    pub(crate) fn are_scheduled_as(&self, other: &Parameters) -> bool {
        self.high_priority_processes == other.high_priority_processes
            && self.process_affinity == other.process_affinity
    }
}

impl Instance {
    /// Sets priorities and CPUs at opening. If they can't be had, a notice says so, and they count
    /// as not asked for: a database that runs is worth more than one with priorities (IN17).
    pub(crate) fn schedule_at_opening(&self, session: &Session) {
        let mut settings = self.settings.hold(0, session);
        let usual = Parameters::default();
        if let Err(stop) = self.reschedule(&usual, &settings.parameters, &settings, session) {
            session.os().notice(&format!("the background processes run as any others: {stop}"));
            settings.parameters.high_priority_processes = usual.high_priority_processes;
            settings.parameters.process_affinity = usual.process_affinity;
        }
        self.show(&settings.parameters, session);
    }

    /// Gives the processes the priorities and CPUs that are wanted. If one of them can't have its
    /// own, all keep theirs. If none are wanted and none were, they keep what they inherited.
    pub(crate) fn reschedule(
        &self,
        now: &Parameters,
        wanted: &Parameters,
        settings: &Settings,
        session: &Session,
    ) -> Result<(), Stop> {
        if now.schedules_nothing() && wanted.schedules_nothing() {
            return Ok(());
        }
        let all = &settings.processes;
        let names: Vec<&str> = all.schedulable().map(ThreadHandle::name).collect();
        for pattern in wanted.process_patterns() {
            if !names.iter().any(|name| is_process(pattern, name)) {
                session.os().notice(&format!(
                    "no process runs that is called {pattern}: what was said of its priority or \
                     CPUs counts when one starts"
                ));
            }
        }
        schedule(all.schedulable(), wanted, session).inspect_err(|_| {
            // They had these before.
            let _ = schedule(all.schedulable(), now, session);
        })
    }
}

/// Gives each of these processes the priority and the CPUs that `wanted` says.
fn schedule<'a>(
    processes: impl Iterator<Item = &'a ThreadHandle>,
    wanted: &Parameters,
    session: &Session,
) -> Result<(), Stop> {
    for process in processes {
        give(process.id(), process.name(), wanted, session)?;
    }
    Ok(())
}

/// Gives this thread what `wanted` says of the process of this name.
fn give(
    thread: ThreadId,
    process: &str,
    wanted: &Parameters,
    session: &Session,
) -> Result<(), os::Error> {
    let os = session.os();
    let cpus = wanted.process_affinity.cpus_of(process);
    os.set_affinity(thread, cpus).map_err(|error| {
        let what = format!("set process_affinity for {process}");
        match error.cause() {
            Cause::Invalid => {
                let detail = "this program can have none of these CPUs";
                os::Error::new(what, Cause::Invalid, detail)
                    .advise("name CPUs that this machine has and that it may use")
            }
            _ => error.while_doing(what),
        }
    })?;
    let priority = wanted.high_priority_processes.priority_of(process);
    os.set_priority(thread, priority)
        .map_err(|error| error.while_doing(format!("set the priority of {process}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_shown_again() {
        for text in ["", "lgwr", "LG*|dbw*"] {
            assert_eq!(ProcessPatterns::read(text).map(|read| read.show()), Some(text.to_string()));
        }
        for text in ["", "dbw*:0-3|lgwr:5", "*:0,2,4-6"] {
            assert_eq!(ProcessAffinity::read(text).map(|read| read.show()), Some(text.to_string()));
        }
        for text in ["|", "lgwr|", "db w", "l.*", "foo", "dbw100", "lgwr|smon"] {
            assert_eq!(ProcessPatterns::read(text), None, "{text}");
        }
        for text in ["dbw*", "dbw*:", ":1", "dbw*:3-1", "dbw*:128", "dbw*:a", "lgwr:1|", "foo:0"] {
            assert_eq!(ProcessAffinity::read(text), None, "{text}");
        }
    }

    #[test]
    fn the_first_pattern_that_is_met_says_the_cpus() {
        let affinity = ProcessAffinity::read("dbw1:2|dbw*:0-1").expect("patterns");
        assert_eq!(affinity.cpus_of("fb_dbw1"), CpuSet::one(2));
        assert_eq!(affinity.cpus_of("fb_dbw0"), CpuSet::one(0).with(1));
        assert_eq!(affinity.cpus_of("fb_lgwr"), CpuSet::ALL);
    }
}
