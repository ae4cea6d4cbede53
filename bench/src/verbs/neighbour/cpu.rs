//! A burner: takes a share of one CPU in bursts and pauses of random length.
//!
//! A burst is a length of CPU time. Where others work too it lasts longer by the clock, and what it
//! lasted longer is taken from the pauses after it: so the share is right on a busy machine too.
//!
//! Callers: `neighbour`.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::time::{ClockId, clock_gettime};

use super::{Time, exponential};

/// The mean length of a burst, and its longest.
const BURST_MEAN: Duration = Duration::from_millis(500);
const BURST_MAX: Duration = Duration::from_secs(5);
/// What it was kept from beyond this is forgotten, or it would never rest after a standstill.
const BEHIND_MAX: Duration = Duration::from_secs(10);
/// The CPU's clock is read after so many turns of the loop: some ten microseconds.
const TURNS: u32 = 10_000;

/// Between these the share wanders if none is given.
const WANDER: [f64; 2] = [0.20, 0.30];
/// It goes from one place to the next in so many seconds.
const WANDER_SECONDS: [f64; 2] = [20.0, 60.0];

/// Takes CPU until it is over.
pub(super) fn burn(mut share: Share, random: Xoshiro256PlusPlus, time: &Time) {
    let mut rhythm = Rhythm { random, behind: Duration::ZERO };
    // No two burners begin together.
    time.sleep(rhythm.pause(share.at(Duration::ZERO), Duration::ZERO));
    while !time.is_over() {
        let wanted = share.at(time.passed());
        if wanted == 0.0 {
            time.sleep(Duration::MAX);
            break;
        }
        let burst = rhythm.burst();
        let lasted = burst_of(burst, time);
        time.sleep(rhythm.pause(wanted, lasted.saturating_sub(burst)));
    }
}

/// Uses so much CPU time; how long that took.
fn burst_of(length: Duration, time: &Time) -> Duration {
    let (began, end) = (time.passed(), thread_time() + length);
    while thread_time() < end && !time.is_over() {
        for turn in 0..TURNS {
            std::hint::black_box(turn);
        }
    }
    time.passed() - began
}

/// The CPU time of this thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// The lengths of bursts and pauses.
struct Rhythm {
    random: Xoshiro256PlusPlus,
    /// The time for which it was kept from working, not yet taken from a pause.
    behind: Duration,
}

impl Rhythm {
    /// The next burst, in CPU time.
    fn burst(&mut self) -> Duration {
        exponential(BURST_MEAN, &mut self.random).min(BURST_MAX)
    }

    /// The pause after a burst that lasted longer than its CPU time by `waited`.
    fn pause(&mut self, share: f64, waited: Duration) -> Duration {
        if share == 0.0 {
            return Duration::ZERO;
        }
        let mean = BURST_MEAN.mul_f64((1.0 - share) / share);
        let drawn = exponential(mean, &mut self.random);
        let behind = (self.behind + waited).min(BEHIND_MAX);
        let taken = behind.min(drawn);
        self.behind = behind - taken;
        drawn - taken
    }
}

/// The share of each CPU that is wanted, as time goes on.
pub(super) enum Share {
    Fixed(f64),
    Wandering(Wander),
}

impl Share {
    /// So many per cent; if none, it wanders. Of one seed, all burners' shares are the same.
    pub(super) fn of(percent: Option<f64>, seed: u64) -> Share {
        match percent {
            Some(percent) => Share::Fixed(percent / 100.0),
            None => Share::Wandering(Wander::of(seed)),
        }
    }

    /// The share so long after the begin; the times don't fall.
    fn at(&mut self, passed: Duration) -> f64 {
        match self {
            Share::Fixed(share) => *share,
            Share::Wandering(wander) => wander.at(passed.as_secs_f64()),
        }
    }
}

/// Straight lines between places drawn by lot.
pub(super) struct Wander {
    random: Xoshiro256PlusPlus,
    from: Place,
    to: Place,
}

#[derive(Clone, Copy)]
struct Place {
    second: f64,
    share: f64,
}

impl Wander {
    fn of(seed: u64) -> Wander {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let from = Place { second: 0.0, share: random.random_range(WANDER[0]..WANDER[1]) };
        let to = next(from, &mut random);
        Wander { random, from, to }
    }

    fn at(&mut self, second: f64) -> f64 {
        while second >= self.to.second {
            self.from = self.to;
            self.to = next(self.from, &mut self.random);
        }
        let part = (second - self.from.second) / (self.to.second - self.from.second);
        self.from.share + part * (self.to.share - self.from.share)
    }
}

fn next(from: Place, random: &mut Xoshiro256PlusPlus) -> Place {
    let length = random.random_range(WANDER_SECONDS[0]..WANDER_SECONDS[1]);
    let share = random.random_range(WANDER[0]..WANDER[1]);
    Place { second: from.second + length, share }
}

#[cfg(test)]
mod tests {
    use super::super::generator;
    use super::*;

    /// The share of the time that a burner takes when it gets a part of the CPU it asks for.
    fn share_taken(wanted: f64, part: f64) -> f64 {
        let mut rhythm = Rhythm { random: generator(3, 1), behind: Duration::ZERO };
        let (mut cpu, mut clock) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..20_000 {
            let burst = rhythm.burst();
            let lasted = burst.div_f64(part);
            cpu += burst;
            clock += lasted + rhythm.pause(wanted, lasted - burst);
        }
        cpu.as_secs_f64() / clock.as_secs_f64()
    }

    #[test]
    fn the_share_comes_out_on_an_idle_and_on_a_busy_machine() {
        for wanted in [0.05, 0.25, 0.5] {
            for part in [1.0, 0.7] {
                let share = share_taken(wanted, part);
                assert!((share / wanted - 1.0).abs() < 0.03, "{wanted} at {part}: {share}");
            }
        }
    }

    #[test]
    fn a_burner_that_gets_too_little_rests_again_soon_after() {
        let mut rhythm = Rhythm { random: generator(3, 1), behind: Duration::ZERO };
        rhythm.pause(0.25, Duration::from_secs(3_600));
        assert!(rhythm.behind <= BEHIND_MAX);
    }

    #[test]
    fn bursts_are_five_seconds_at_most_and_half_a_second_in_the_mean() {
        let mut rhythm = Rhythm { random: generator(5, 1), behind: Duration::ZERO };
        let bursts: Vec<f64> = (0..50_000).map(|_| rhythm.burst().as_secs_f64()).collect();
        assert!(bursts.iter().all(|length| *length <= 5.0));
        assert!((stats::mean(&bursts) - 0.5).abs() < 0.01);
    }

    #[test]
    fn a_share_that_wanders_stays_in_its_bounds_without_a_jump() {
        let [mut one, mut other] = [Share::of(None, 9), Share::of(None, 9)];
        let mut last = one.at(Duration::ZERO);
        let mut seen = [last, last];
        for second in 1..3_600 {
            let share = one.at(Duration::from_secs(second));
            assert!((WANDER[0]..=WANDER[1]).contains(&share));
            assert!((share - last).abs() <= 0.1 / 20.0 + 1e-9, "{last} to {share}");
            seen = [seen[0].min(share), seen[1].max(share)];
            last = share;
        }
        assert!(seen[0] < 0.22 && seen[1] > 0.28, "{seen:?}");
        // However often it is asked.
        assert!((other.at(Duration::from_secs(3_599)) - last).abs() < 1e-12);
    }
}
