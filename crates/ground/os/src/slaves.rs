//! I/O slaves: a pool of threads, each with one blocking call at a time.
//!
//! They are the second backend of a ring, in both worlds, built from the public parts of this crate
//! (threads, words, blocking file calls). The owner queues requests; a slave takes one, does it,
//! and queues the completion.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use waits::{Nanos, WaitEvent};

use crate::{
    Cause, Error, FilePort, IoKind, IoPool, Os, RawCompletion, RawRequest, RingPort, Session,
    ThreadHandle, ThreadSpec, WaitWord, Woken,
};

/// The most slaves of one ring.
const SLAVES_MAX: u32 = 256;

struct Shared {
    /// The lock is held for a push or a pop, never across a call that blocks.
    queues: Mutex<Queues>,
    /// The word on which slaves sleep, raised with every request and at the end.
    requests: WaitWord,
    /// The word on which the owner sleeps, raised with every completion.
    completions: WaitWord,
}

#[derive(Default)]
struct Queues {
    requested: VecDeque<(Arc<dyn FilePort>, RawRequest)>,
    completed: Vec<RawCompletion>,
    closed: bool,
}

/// A ring whose work is done by slaves.
pub(crate) struct SlaveRing {
    shared: Arc<Shared>,
    slaves: Vec<ThreadHandle>,
    owner: Owner,
    /// The event under which the slaves record their calls, and of the owner's last wait.
    event: WaitEvent,
    /// The number of requests pushed and not collected.
    in_flight: usize,
}

/// The parts with which the owner wakes and waits through the port.
struct Owner {
    os: Os,
}

impl SlaveRing {
    pub(crate) fn start(
        session: &Session,
        count: u32,
        event: WaitEvent,
    ) -> Result<SlaveRing, Error> {
        if count == 0 || count > SLAVES_MAX {
            let detail = format!("their number is 1 to {SLAVES_MAX}, not {count}");
            return Err(Error::new("start I/O slaves", Cause::Invalid, detail));
        }
        let os = session.os().clone();
        let shared = Arc::new(Shared {
            queues: Mutex::new(Queues::default()),
            requests: WaitWord::new(&os, 0),
            completions: WaitWord::new(&os, 0),
        });
        let mut ring =
            SlaveRing { shared, slaves: Vec::new(), owner: Owner { os }, event, in_flight: 0 };
        for number in 0..count {
            let shared = Arc::clone(&ring.shared);
            let spec = ThreadSpec::background(format!("fb_i{number:03}"));
            // An error drops `ring`, which ends the slaves that have started.
            ring.slaves.push(session.spawn(spec, move |session| serve(&shared, event, session))?);
        }
        Ok(ring)
    }
}

/// A slave's life: take a request, do it, hand it back; idle in between.
fn serve(shared: &Shared, event: WaitEvent, session: &Session) {
    loop {
        let seen = shared.requests.value().load(Acquire);
        let (next, closed) = {
            let mut queues = shared.lock();
            (queues.requested.pop_front(), queues.closed)
        };
        let Some((file, request)) = next else {
            if closed {
                return;
            }
            let waiting = session.waiting(WaitEvent::IoSlaveWait);
            let _ = shared.requests.wait(seen, None, waiting);
            continue;
        };
        let completion = session.waiting(event).around(|session, event| {
            session.charge(crate::Cost::IoSync, 1);
            (perform(&*file, request, event), false)
        });
        shared.lock().completed.push(completion);
        let _ = shared.completions.value().fetch_add(1, AcqRel);
        shared.completions.wake(1, session);
    }
}

fn perform(file: &dyn FilePort, request: RawRequest, event: WaitEvent) -> RawCompletion {
    let RawRequest { slot, kind, offset, mut buffer, range } = request;
    let result = match kind {
        IoKind::Read => file.read_at(offset, &mut buffer[range], event),
        IoKind::Write => file.write_at(offset, &buffer[range], event),
        IoKind::Sync => file.sync(event).map(|()| 0),
    };
    RawCompletion { slot, buffer, result }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RingPort for SlaveRing {
    fn push(&mut self, file: &Arc<dyn FilePort>, request: RawRequest) {
        self.in_flight += 1;
        self.shared.lock().requested.push_back((Arc::clone(file), request));
        let _ = self.shared.requests.value().fetch_add(1, AcqRel);
        self.owner.os.port().wake(&self.shared.requests, 1);
    }

    fn submit(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn collect(&mut self, completed: &mut Vec<RawCompletion>) {
        let before = completed.len();
        completed.append(&mut self.shared.lock().completed);
        self.in_flight -= completed.len() - before;
    }

    fn wait(
        &mut self,
        at_least: u32,
        timeout: Option<Nanos>,
        event: WaitEvent,
    ) -> io::Result<bool> {
        let until = timeout.map(|length| self.owner.os.now().after(length));
        loop {
            let seen = self.shared.completions.value().load(Acquire);
            if self.shared.lock().completed.len() >= at_least as usize {
                return Ok(false);
            }
            let left = until.map(|until| until.since(self.owner.os.now()));
            if left == Some(Nanos::ZERO) {
                return Ok(true);
            }
            let port = self.owner.os.port();
            if port.wait(&self.shared.completions, seen, left, event) == Woken::TimedOut {
                return Ok(true);
            }
        }
    }

    fn register(&mut self, _pool: &IoPool) -> Result<(), Error> {
        Ok(())
    }

    fn description(&self) -> String {
        format!("{} I/O slaves", self.slaves.len())
    }
}

impl Drop for SlaveRing {
    /// Waits for the requests in flight, then ends the slaves, which own all they need. An owner
    /// that is unwinding waits for nothing: the world may be coming down with it.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let all = u32::try_from(self.in_flight).expect("within the ring's depth");
            // The slaves' words can't fail, and there is no timeout.
            let _ = self.wait(all, None, self.event);
        }
        self.shared.lock().closed = true;
        let _ = self.shared.requests.value().fetch_add(1, AcqRel);
        self.owner.os.port().wake(&self.shared.requests, u32::MAX);
    }
}

impl fmt::Debug for SlaveRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description())
    }
}
