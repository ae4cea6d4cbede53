//! `--alter SECONDS:NAME=VALUE`: parameters and redo logs changed while a load runs.
//!
//! Names, values and times are checked before the load begins. What the instance refuses when the
//! time comes ends the changes, not the load: the result of the load is printed all the same.
//!
//! Callers: `load`.

use std::fmt::Write;
use std::sync::Arc;

use clap::Args;
use database::Database;
use instance::{Changeable, Creation, Instance, LogChange, Parameters};
use latch::{Latch, LatchKind, SharedFlag};
use os::{Session, ThreadHandle, ThreadSpec};
use stop::{RefusalKind, Stop};
use waits::{Nanos, WaitEvent};

use crate::output::{Failure, tell};

/// What the user wants changed; may be given several times.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Alterations {
    /// Changes a parameter, or the redo logs as `forebay logs` does, so many seconds after the load
    /// has begun.
    #[arg(long = "alter", value_name = "SECONDS:NAME=VALUE")]
    alterations: Vec<String>,
}

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct Alteration {
    after: Nanos,
    name: String,
    value: String,
}

/// They are under way, in a thread of their own.
pub(crate) struct UnderWay {
    thread: ThreadHandle,
    ends: Arc<SharedFlag>,
    altered: Arc<Latch<Altered>>,
}

/// What came of them.
#[derive(Clone, Default)]
pub(crate) struct Altered {
    /// A line for each change that was made.
    text: String,
    /// Why no other was made.
    refused: Option<String>,
}

/// So often it is looked whether the load has ended.
const LOOK: Nanos = Nanos::from_millis(50);

impl Alterations {
    /// In the order in which they are due, all before the load has lasted so long.
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

/// Starts the thread that makes them; none if there are none.
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
    /// The load has ended: what was changed.
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
    /// The changes in front of the load's result; a failure if one was refused.
    pub(crate) fn before(self, result: String) -> Result<String, Failure> {
        let text = self.text + &result;
        match self.refused {
            None => Ok(text),
            Some(refused) if os::linux::interrupted() => {
                Err(Failure::stopped(refused).behind(text))
            }
            Some(refused) => Err(Failure::new(refused).behind(text)),
        }
    }

    /// The changes on standard error, where standard output is of something else; a failure if one
    /// was refused.
    pub(crate) fn aside(self) -> Result<String, Failure> {
        self.text.lines().for_each(tell);
        Altered { text: String::new(), ..self }.before(String::new())
    }
}

fn alter(
    all: &[Alteration],
    instance: &Instance,
    ended: &SharedFlag,
    session: &Session,
) -> Altered {
    let (began, mut altered) = (session.now(), Altered::default());
    for (Alteration { after, name, value }, made) in all.iter().zip(1..) {
        while session.now().since(began) < *after {
            if ended.is_raised(session) {
                altered.text += "the load ended before the other changes were due\n";
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
        let (at, took) = (asked.since(began), session.now().since(asked));
        let (at, took) = (at.as_secs_f64(), took.as_secs_f64() * 1e3);
        if let Err(stop) = done {
            let others = match all.len() - made {
                0 => String::new(),
                left => format!("; changes that were to follow and aren't made: {left}"),
            };
            altered.refused = Some(format!("after {at:.1} s: {name} = {value}: {stop}{others}"));
            return altered;
        }
        writeln!(altered.text, "after {at:.1} s: {name} = {value}, in {took:.1} ms")
            .expect("writing to a string can't fail");
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
