//! `--alter SECONDS:NAME=VALUE`: parameters and redo logs changed while a load runs.
//!
//! Each is read before the load begins, so that a slip of the pen is found then. What the instance
//! refuses when the time comes ends the changes, not the load, and is told in the end.
//!
//! Callers: `load`.

use std::fmt::Write;
use std::sync::Arc;

use clap::Args;
use database::Database;
use instance::{Instance, LogChange, Parameters};
use latch::{Latch, LatchKind, SharedFlag};
use os::{Session, ThreadHandle, ThreadSpec};
use stop::{RefusalKind, Stop};
use waits::{Nanos, WaitEvent};

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
    told: Arc<Latch<Result<String, Stop>>>,
}

/// So often it is looked whether the load has ended.
const LOOK: Nanos = Nanos::from_millis(50);

impl Alterations {
    /// In the order in which they are due.
    pub(crate) fn read(&self) -> Result<Vec<Alteration>, Stop> {
        let mut all =
            self.alterations.iter().map(|text| read(text)).collect::<Result<Vec<_>, _>>()?;
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
    let told = Arc::new(Latch::new(session.os(), LatchKind::Innermost, Ok(String::new())));
    let teller = Arc::clone(&told);
    let (inside, ended) = (database.clone(), Arc::clone(&ends));
    let body = move |session: &Session| {
        let altered = alter(&all, inside.instance(), &ended, session);
        *teller.exclusive(session) = altered;
    };
    let thread = session.spawn(ThreadSpec::foreground("alter"), body)?;
    Ok(Some(UnderWay { thread, ends, told }))
}

impl UnderWay {
    /// The load has ended: what was changed, a line each.
    pub(crate) fn end(self, session: &Session) -> Result<String, Stop> {
        self.ends.raise(session);
        if self.thread.join(session).is_err() {
            let message = "the thread that changes parameters panicked";
            return Err(Stop::refuse(RefusalKind::WrongState, message));
        }
        self.told.shared(session).clone()
    }
}

fn alter(
    all: &[Alteration],
    instance: &Instance,
    ended: &SharedFlag,
    session: &Session,
) -> Result<String, Stop> {
    let (began, mut text) = (session.now(), String::new());
    for Alteration { after, name, value } in all {
        while session.now().since(began) < *after {
            if ended.is_raised(session) {
                return Ok(text + "the load ended before the other changes were due\n");
            }
            session.pause(LOOK, session.waiting(WaitEvent::PlSqlLockTimer));
        }
        let asked = session.now();
        match LogChange::read(name, value) {
            Some(change) => instance.change_logs(&change?, session)?,
            None => instance.set_parameter(name, value, session)?,
        }
        let (at, took) = (asked.since(began), session.now().since(asked));
        writeln!(
            text,
            "after {:.1} s: {name} = {value}, in {:.1} ms",
            at.as_secs_f64(),
            took.as_secs_f64() * 1e3
        )
        .expect("writing to a string can't fail");
    }
    Ok(text)
}

fn read(text: &str) -> Result<Alteration, Stop> {
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
    // Whether there is such a change, or such a parameter, and such a value.
    match LogChange::read(&alteration.name, &alteration.value) {
        Some(change) => _ = change?,
        None => Parameters::default().set(&alteration.name, &alteration.value)?,
    }
    Ok(alteration)
}
