//! The threads of an instance's background processes.
//!
//! Callers: `open`, `alter`, `shut`.

use std::sync::Arc;

use cache::StartingWriter;
use os::{Session, ThreadHandle, ThreadSpec};
use stop::{Halt, Stop};

use crate::Parameters;
use crate::checkpointer::Checkpointer;

/// The threads that run; none when the instance has ended.
#[derive(Default)]
pub(crate) struct Processes {
    pub(crate) log_writer: Option<ThreadHandle>,
    pub(crate) writers: Vec<ThreadHandle>,
    /// Writers that set themselves up while the opening goes on.
    starting: Vec<StartingWriter>,
    pub(crate) checkpoint_process: Option<ThreadHandle>,
    pub(crate) space_process: Option<ThreadHandle>,
    /// The system monitor and the process monitor.
    pub(crate) monitors: Vec<ThreadHandle>,
}

impl Processes {
    /// Starts the log writer, the database writers and the checkpoint process. The caller waits for
    /// the writers later, by [`await_writers`](Processes::await_writers).
    pub(crate) fn start(
        checkpointer: &Arc<Checkpointer>,
        parameters: &Parameters,
        session: &Session,
    ) -> Result<Processes, Stop> {
        let mut processes = Processes::default();
        let started = processes.start_all(checkpointer, parameters, session);
        if let Err(stop) = started {
            checkpointer.halt.raise("a background process could not be started", session);
            processes.join(session);
            return Err(stop);
        }
        Ok(processes)
    }

    fn start_all(
        &mut self,
        checkpointer: &Arc<Checkpointer>,
        parameters: &Parameters,
        session: &Session,
    ) -> Result<(), Stop> {
        let redo = Arc::clone(&checkpointer.redo);
        let halt = &checkpointer.halt;
        let body = move |session: &Session| {
            // Its only error is the halt, which every session sees.
            let _ = redo.run_lgwr(session);
        };
        self.log_writer = Some(process("fb_lgwr", halt, body, session)?);
        for number in 0..parameters.db_writer_processes {
            self.starting.push(checkpointer.cache.begin_writer(number, session)?);
        }
        let inside = Arc::clone(checkpointer);
        let body = move |session: &Session| inside.run(session);
        self.checkpoint_process = Some(process("fb_ckpt", halt, body, session)?);
        Ok(())
    }

    /// Returns when every writer has what it needs. Refused if one can't get it, which has halted
    /// the instance.
    pub(crate) fn await_writers(&mut self, session: &Session) -> Result<(), Stop> {
        let mut failed = None;
        for writer in std::mem::take(&mut self.starting) {
            match writer.wait(session) {
                Ok(thread) => self.writers.push(thread),
                Err(stop) => failed = failed.or(Some(stop)),
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// The processes whose priority and CPUs can be chosen.
    pub(crate) fn schedulable(&self) -> impl Iterator<Item = &ThreadHandle> {
        let others = [&self.log_writer, &self.checkpoint_process, &self.space_process];
        others.into_iter().flatten().chain(&self.writers)
    }

    /// Returns when all threads have ended, which the halt makes them do.
    pub(crate) fn join(&mut self, session: &Session) {
        let Processes {
            log_writer,
            writers,
            starting,
            checkpoint_process,
            space_process,
            monitors,
        } = std::mem::take(self);
        let starting = starting.into_iter().map(StartingWriter::into_thread);
        let threads = writers.into_iter().chain(starting).chain(checkpoint_process);
        join_all(threads.chain(space_process).chain(monitors).chain(log_writer), session);
    }
}

pub(crate) fn join_all(threads: impl IntoIterator<Item = ThreadHandle>, session: &Session) {
    for thread in threads {
        // A panic has halted the instance already (IN4).
        let _ = thread.join(session);
    }
}

/// A background process under its guard (IN4).
pub(crate) fn process(
    name: &str,
    halt: &Halt,
    body: impl FnOnce(&Session) + Send + 'static,
    session: &Session,
) -> Result<ThreadHandle, Stop> {
    let (halt, what) = (halt.clone(), format!("{name} panicked"));
    let started = session.spawn(ThreadSpec::background(name), move |session| {
        let guard = halt.guard(what, session);
        body(session);
        guard.disarm();
    });
    started.map_err(Stop::from)
}
