//! Ctrl-C and progress while a statement runs: a thread that looks at both.
//!
//! The thread that runs the statement is within the database, where it can't look at the keyboard.
//! This one looks ten times a second, has the statement cancelled, and shows how far it is once it
//! has taken a while.
//!
//! Callers: `terminal`.

use std::sync::Arc;

use latch::{Latch, LatchKind, SharedFlag, Signal};
use os::{Session, ThreadHandle, ThreadSpec};
use waits::{Nanos, Timestamp, WaitEvent};

use super::backend::Watch;
use crate::output::Failure;
use crate::progress::Progress;

/// How often the thread looks.
const LOOK_EVERY: Nanos = Nanos::from_millis(100);
/// How long a statement takes before its progress is shown.
const SHOWN_AFTER: Nanos = Nanos::from_millis(2_000);

/// The thread, and what it looks at.
pub(crate) struct Watcher {
    shared: Arc<Shared>,
    thread: ThreadHandle,
}

struct Shared {
    /// The statement that runs, and what is shown of it. The line is drawn and wiped under the
    /// latch, so that none is drawn behind the first row of an answer.
    state: Latch<State>,
    /// Whether Ctrl-C was pressed while a statement ran.
    was_pressed: SharedFlag,
    /// Whether the shell ends, and what wakes the thread for that.
    ends: SharedFlag,
    wake: Signal,
}

#[derive(Default)]
struct State {
    running: Option<Running>,
    /// Nothing is shown of it any more: its answer has begun.
    is_quiet: bool,
    line: Option<Progress>,
}

#[derive(Clone)]
struct Running {
    watch: Arc<dyn Watch>,
    since: Timestamp,
}

impl Watcher {
    /// Starts the thread; `shows` says whether a person looks at progress.
    pub(crate) fn start(session: &Session, shows: bool) -> Result<Watcher, Failure> {
        let state = Latch::new(session.os(), LatchKind::Innermost, State::default());
        let (was_pressed, ends) = (SharedFlag::new(false), SharedFlag::new(false));
        let wake = Signal::new(session.os());
        let shared = Arc::new(Shared { state, was_pressed, ends, wake });
        let inside = Arc::clone(&shared);
        let spec = ThreadSpec::foreground("fb_sql_watch");
        let thread = session.spawn(spec, move |session| inside.look(shows, session))?;
        Ok(Watcher { shared, thread })
    }

    /// Whether Ctrl-C was pressed while a statement ran, since this was asked last.
    pub(crate) fn take_pressed(&self, session: &Session) -> bool {
        self.shared.was_pressed.lower(session)
    }

    /// As `take_pressed`, which will tell of it still.
    pub(crate) fn is_pressed(&self, session: &Session) -> bool {
        self.shared.was_pressed.is_raised(session)
    }

    /// A statement begins.
    pub(crate) fn begin(&self, watch: Arc<dyn Watch>, session: &Session) {
        let running = Some(Running { watch, since: session.now() });
        let mut state = self.shared.state.exclusive(session);
        *state = State { running, ..State::default() };
    }

    /// Wipes the line of progress, and shows none of this statement any more.
    pub(crate) fn be_quiet(&self, session: &Session) {
        let mut state = self.shared.state.exclusive(session);
        state.is_quiet = true;
        state.wipe();
    }

    /// The statement has ended.
    pub(crate) fn end_statement(&self, session: &Session) {
        let mut state = self.shared.state.exclusive(session);
        state.running = None;
        state.wipe();
    }

    /// Ends the thread.
    pub(crate) fn end(self, session: &Session) {
        self.shared.ends.raise(session);
        self.shared.wake.post(session);
        // It looks and shows, and can leave nothing half done.
        let _ = self.thread.join(session);
    }
}

impl State {
    fn wipe(&mut self) {
        if let Some(mut line) = self.line.take() {
            line.end();
        }
    }
}

impl Shared {
    fn look(&self, shows: bool, session: &Session) {
        while !self.ends.is_raised(session) {
            let running = self.state.shared(session).running.clone();
            if let Some(running) = running {
                if os::linux::take_cancel() {
                    self.was_pressed.raise(session);
                }
                // Again and again: the statement may be between two calls of the database.
                if self.was_pressed.is_raised(session) {
                    running.watch.cancel(session);
                }
                if shows && session.now().since(running.since) >= SHOWN_AFTER {
                    self.show(&running, session);
                }
            }
            self.wake.wait(session.waiting(WaitEvent::PlSqlLockTimer), Some(LOOK_EVERY));
        }
    }

    fn show(&self, running: &Running, session: &Session) {
        // The database is asked before the latch is taken.
        let doing = running.watch.doing();
        let seconds = session.now().since(running.since).as_secs_f64();
        let mut state = self.state.exclusive(session);
        let is_same = state.running.as_ref().is_some_and(|now| now.since == running.since);
        if !is_same || state.is_quiet {
            return;
        }
        let line = state.line.get_or_insert_with(Progress::new);
        let text = format!("{seconds:.0} s: {}; Ctrl-C cancels it", doing.what);
        match doing.share {
            Some(share) => line.show_share(&text, share),
            None => line.show(|| text, session),
        }
    }
}
