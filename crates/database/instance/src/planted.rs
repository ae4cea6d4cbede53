//! A known delay in each commit, which can be switched while the instance runs.
//!
//! The lab is tested by it: does it find a difference of two per cent? Does it notice that a
//! setting's effect is slow? Without it a commit pays for one load.
//!
//! ```text
//!   delay   wanted ─────────────╭───────
//!                        ╭──────╯          length = wanted + (before - wanted) e^(-t / lag)
//!           before ──────╯
//!                        set
//! ```
//!
//! Callers: `open` at each commit, `alter`.

use latch::Guess;
use os::Session;
use waits::{Nanos, Timestamp};

use crate::Parameters;

/// The delay. Its numbers are guesses (a commit may still see the last ones), so they are no points
/// at which the simulator switches: schedules are as without it.
pub(crate) struct PlantedDelay {
    wanted_ns: Guess,
    lag_ns: Guess,
    /// What it was when it was set, and when that was.
    before_ns: Guess,
    set_at: Guess,
}

impl PlantedDelay {
    pub(crate) fn new(parameters: &Parameters) -> PlantedDelay {
        let wanted = u64::from(parameters.test_commit_delay);
        let planted = PlantedDelay {
            wanted_ns: Guess::default(),
            lag_ns: Guess::default(),
            before_ns: Guess::default(),
            set_at: Guess::default(),
        };
        planted.wanted_ns.store(wanted);
        planted.before_ns.store(wanted);
        planted.lag_ns.store(lag_ns(parameters));
        planted
    }

    /// Takes over the parameters, of which any may have changed.
    pub(crate) fn set(&self, parameters: &Parameters, session: &Session) {
        let (wanted, lag) = (u64::from(parameters.test_commit_delay), lag_ns(parameters));
        if (wanted, lag) == (self.wanted_ns.load(), self.lag_ns.load()) {
            return;
        }
        let now = session.now();
        self.before_ns.store(self.length(now).0);
        self.set_at.store(now.since(Timestamp::ZERO).0);
        self.lag_ns.store(lag);
        self.wanted_ns.store(wanted);
    }

    /// Burns CPU for as long as the delay is.
    #[inline]
    pub(crate) fn burn(&self, session: &Session) {
        if self.wanted_ns.load() | self.before_ns.load() != 0 {
            self.burn_some(session);
        }
    }

    #[cold]
    fn burn_some(&self, session: &Session) {
        let begin = session.now();
        let length = self.length(begin);
        session.charge_nanos(length);
        while session.now().since(begin) < length {
            session.relax(0);
        }
    }

    fn length(&self, now: Timestamp) -> Nanos {
        let (wanted, before) = (self.wanted_ns.load() as f64, self.before_ns.load() as f64);
        let lag = self.lag_ns.load();
        let share = match lag {
            0 => 0.0,
            _ => (-(now.since(Timestamp::ZERO).0.saturating_sub(self.set_at.load()) as f64)
                / lag as f64)
                .exp(),
        };
        Nanos((wanted + (before - wanted) * share) as u64)
    }
}

fn lag_ns(parameters: &Parameters) -> u64 {
    Nanos::from_secs(u64::from(parameters.test_commit_delay_lag)).0
}
