//! `--alter SECONDS:NAME=VALUE`: parameters and redo logs changed while a load runs.
//!
//! Names, values and times are checked before the load begins. What the instance refuses when the
//! time comes ends the changes, not the load: the result of the load is printed all the same.
//!
//! Callers: `run`.

use std::sync::Arc;

use clap::Args;
use database::Database;
use instance::{Changeable, Creation, Instance, LogChange, Parameters};
use latch::{Latch, LatchKind, SharedFlag};
use os::{Session, ThreadHandle, ThreadSpec};
use serde_json::{Value, json};
use stop::{RefusalKind, Stop};
use waits::{Nanos, WaitEvent};

use crate::output::Failure;

/// What the user wants changed; may be given several times.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Alterations {
    /// Changes a parameter, or the redo logs as `forebay logs` does, this many seconds after the
    /// load has begun.
    #[arg(long = "alter", value_name = "SECONDS:NAME=VALUE")]
    alterations: Vec<String>,
}

/// One change that the user wants.
#[derive(Clone, Debug)]
pub(crate) struct Alteration {
    after: Nanos,
    name: String,
    value: String,
}

/// Changes that a thread of their own makes when they are due.
pub(crate) struct UnderWay {
    thread: ThreadHandle,
    ends: Arc<SharedFlag>,
    altered: Arc<Latch<Altered>>,
}

/// What came of the changes.
#[derive(Clone, Default)]
pub(crate) struct Altered {
    made: Vec<MadeChange>,
    /// Whether the load ended before the others were due.
    ended_before: bool,
    /// Why no other change was made.
    refused: Option<String>,
}

/// A change that was made.
#[derive(Clone)]
struct MadeChange {
    name: String,
    value: String,
    /// When it was begun, after the load's begin.
    after: Nanos,
    took: Nanos,
}

/// How often the thread looks whether the load has ended.
const LOOK: Nanos = Nanos::from_millis(50);

impl Alterations {
    /// The changes in the order in which they are due. One that is due after `length` is refused.
    pub(crate) fn read(&self, length: Nanos) -> Result<Vec<Alteration>, Stop> {
        let mut all = self
            .alterations
            .iter()
            .map(|text| read(text, length))
            .collect::<Result<Vec<_>, _>>()?;
        all.sort_by_key(|alteration| alteration.after);
        Ok(all)
    }
}

/// Starts the thread that makes the changes; none if there are none.
pub(crate) fn start(
    all: Vec<Alteration>,
    database: &Database,
    session: &Session,
) -> Result<Option<UnderWay>, Stop> {
    if all.is_empty() {
        return Ok(None);
    }
    let ends = Arc::new(SharedFlag::new(false));
    let altered = Arc::new(Latch::new(session.os(), LatchKind::Innermost, Altered::default()));
    let teller = Arc::clone(&altered);
    let (inside, ended) = (database.clone(), Arc::clone(&ends));
    let body = move |session: &Session| {
        let altered = alter(&all, inside.instance(), &ended, session);
        *teller.exclusive(session) = altered;
    };
    let thread = session.spawn(ThreadSpec::foreground("alter"), body)?;
    Ok(Some(UnderWay { thread, ends, altered }))
}

impl UnderWay {
    /// Ends the thread when the load has ended, and returns what was changed.
    pub(crate) fn end(self, session: &Session) -> Altered {
        self.ends.raise(session);
        if self.thread.join(session).is_err() {
            let refused = Some("the thread that makes the changes panicked".to_string());
            return Altered { refused, ..Altered::default() };
        }
        self.altered.shared(session).clone()
    }
}

impl Altered {
    /// A line for each change that was made.
    pub(crate) fn text(&self) -> String {
        let line = |made: &MadeChange| {
            let (after, took) = (made.after.as_secs_f64(), made.took.as_secs_f64() * 1e3);
            format!("after {after:.1} s: {} = {}, in {took:.1} ms\n", made.name, made.value)
        };
        let lines: String = self.made.iter().map(line).collect();
        let end = match self.ended_before {
            true => "the load ended before the other changes were due\n",
            false => "",
        };
        lines + end
    }

    /// The changes that were made; docs/JSON.md lists the keys.
    pub(crate) fn json(&self) -> Value {
        let one = |made: &MadeChange| {
            json!({
                "name": made.name,
                "value": made.value,
                "after_s": made.after.as_secs_f64(),
                "took_ms": made.took.as_secs_f64() * 1e3,
            })
        };
        self.made.iter().map(one).collect()
    }

    /// The failure of the command, if a change was refused.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let refused = self.refused.as_ref()?;
        Some(match os::linux::interrupted() {
            true => Failure::stopped(refused),
            false => Failure::new(refused),
        })
    }
}

fn alter(
    all: &[Alteration],
    instance: &Instance,
    ended: &SharedFlag,
    session: &Session,
) -> Altered {
    let (began, mut altered) = (session.now(), Altered::default());
    for (at, Alteration { after, name, value }) in all.iter().enumerate() {
        while session.now().since(began) < *after {
            if ended.is_raised(session) {
                altered.ended_before = true;
                return altered;
            }
            session.pause(LOOK, session.waiting(WaitEvent::PlSqlLockTimer));
        }
        let asked = session.now();
        let done = match LogChange::read(name, value) {
            Some(change) => change.and_then(|change| {
                let go_on = || !os::linux::interrupted();
                instance.change_logs_while(&change, &go_on, session)
            }),
            None => instance.set_parameter(name, value, session),
        };
        let (after, took) = (asked.since(began), session.now().since(asked));
        if let Err(stop) = done {
            let others = match all.len() - at - 1 {
                0 => String::new(),
                left => format!("; changes that were to follow and aren't made: {left}"),
            };
            let after = after.as_secs_f64();
            altered.refused = Some(format!("after {after:.1} s: {name} = {value}: {stop}{others}"));
            return altered;
        }
        altered.made.push(MadeChange { name: name.clone(), value: value.clone(), after, took });
    }
    altered
}

fn read(text: &str, length: Nanos) -> Result<Alteration, Stop> {
    let parts = || {
        let (seconds, setting) = text.split_once(':')?;
        let (name, value) = setting.split_once('=')?;
        let seconds: f64 = seconds.trim().parse().ok()?;
        let is_time = (0.0..1e9).contains(&seconds);
        let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
        is_time.then_some(Alteration { after: Nanos((seconds * 1e9) as u64), name, value })
    };
    let alteration = parts().ok_or_else(|| {
        let message =
            format!("--alter takes SECONDS:NAME=VALUE (3:db_writer_processes=8), not '{text}'");
        Stop::refuse(RefusalKind::Invalid, message)
    })?;
    match LogChange::read(&alteration.name, &alteration.value) {
        Some(change) => _ = change?,
        None => check_parameter(&alteration)?,
    }
    if alteration.after >= length {
        let message = format!(
            "--alter {text} is due after the load's {} seconds: choose an earlier time, or a \
             longer load with --seconds",
            length.as_secs_f64()
        );
        return Err(Stop::refuse(RefusalKind::Invalid, message));
    }
    Ok(alteration)
}

/// There is such a parameter, it takes such a value, and it can be changed while a load runs.
fn check_parameter(Alteration { name, value, .. }: &Alteration) -> Result<(), Stop> {
    if Creation::list().iter().any(|info| info.name.eq_ignore_ascii_case(name)) {
        let message = format!(
            "{name} is fixed when a database is created, and can't be changed: give it to 'forebay \
             load create' with --set {name}={value}"
        );
        return Err(Stop::refuse(RefusalKind::Invalid, message));
    }
    Parameters::default().set(name, value)?;
    let list = Parameters::list();
    let info = list.iter().find(|info| info.name.eq_ignore_ascii_case(name));
    match info.is_some_and(|info| info.changeable == Changeable::AnyTime) {
        true => Ok(()),
        false => {
            let message = format!(
                "{name} is chosen when an instance opens: give it with --set {name}={value}"
            );
            Err(Stop::refuse(RefusalKind::Invalid, message))
        }
    }
}
