//! The row of one run: its identity, its figures, where its time went.
//!
//! A row holds the sums of one run and no rates; the verdict divides.
//! Times are ns, sizes bytes, both in their names.
//!
//! Callers: `lab` makes rows with [`Run::new`]; `verdict` reads them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use waits::{Nanos, SessionKind, Statistic};

use report::{ProcessUsage, SessionGroup, SessionInterval};

use crate::{Level, RoundKind, Step, Surroundings, hash_of};

/// One run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Run {
    /// What makes it a result.
    pub identity: Identity,
    /// Transactions that ended in the measured interval.
    pub transactions: u64,
    /// The measured interval, by the wall, ns; of a block, the mean of its sessions' books.
    pub elapsed_ns: u64,
    /// How long transactions took, if it was measured.
    pub latency: Option<Latency>,
    /// Whether commits survived, if it was checked.
    pub commits: Option<Commits>,
    /// The users' sessions.
    pub foreground: SessionGroup,
    /// The instance's processes together.
    pub background: SessionGroup,
    /// The instance's processes one by one, by name.
    pub processes: Vec<ProcessUsage>,
    /// Of all sessions' CPU time: taken away by a hypervisor or by interrupts, ns.
    #[serde(default)]
    pub stolen_ns: u64,
    /// The statistics of all sessions by name; a missing one is zero.
    pub statistics: BTreeMap<String, u64>,
    /// What happened beside it that its setting can't affect, if that was watched.
    #[serde(default)]
    pub surroundings: Option<Surroundings>,
    /// Where it lies in an instance that other runs share, if it does.
    #[serde(default)]
    pub block: Option<Block>,
}

/// A run that is a part of the time of an instance, in which runs of other settings were before.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Block {
    /// When its setting was set, ns since the warm-up of the first instance ended. The time between
    /// two instances isn't in it, nor that of a block that was dropped and made again.
    pub at_ns: u64,
    /// When the first setting of its instance was set, in the same time: an experiment that goes on
    /// has another instance.
    #[serde(default)]
    pub instance_ns: u64,
    /// The time from then to the measured interval, ns.
    pub washout_ns: u64,
    /// The measured interval, ns: from a moment to a moment, wherever sessions are in their turns.
    pub window_ns: u64,
    /// Transactions that ended in it.
    pub transactions: u64,
    /// The length of a step of the curve, ns.
    pub step_ns: u64,
    /// Transactions that ended in each step since the setting was set.
    pub curve: Vec<u32>,
}

/// What a row needs to be a result (rule EX6).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Identity {
    /// The experiment's name.
    pub experiment: String,
    /// What its round is for.
    pub kind: RoundKind,
    /// Which round, from 1 within its kind.
    pub round: u32,
    /// Which setting.
    pub level: Level,
    /// Which run of the round, from 1.
    pub place: u32,
    /// The setting in words: `db_writer_processes = 8`.
    pub setting: String,
    /// The plan's seed.
    pub plan_seed: u64,
    /// The load's seed.
    pub load_seed: u64,
    /// The world's seed; without meaning on Linux.
    pub world_seed: u64,
    /// The commit that the program was built from.
    pub commit: String,
    /// Every listed parameter of instance and creation, at its default too, and every size of the
    /// load.
    pub parameters: BTreeMap<String, String>,
    /// Hash of `parameters`.
    pub parameter_hash: String,
    /// The machine in one line.
    pub machine: String,
    /// Hash of `machine`.
    pub machine_hash: String,
    /// In which world it ran.
    pub world: World,
    /// Hash of the load that was asked for: the same for all runs of a round.
    pub work_hash: String,
}

/// The part of the identity that all runs of an experiment share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The experiment's name.
    pub experiment: String,
    /// The plan's seed.
    pub plan_seed: u64,
    /// The commit that the program was built from.
    pub commit: String,
    /// The machine in one line.
    pub machine: String,
    /// In which world it runs.
    pub world: World,
    /// The load that is asked for, without its seed.
    pub work: String,
}

/// The name, among a row's parameters, of the rate at which transactions arrive, a second; rows of
/// closed loops haven't it.
pub const RATE: &str = "rate";

impl Origin {
    /// The identity of the run of `step`, with its setting in words and its parameters. Computes
    /// the hashes.
    pub fn identity(
        &self,
        step: &Step,
        setting: &str,
        parameters: BTreeMap<String, String>,
    ) -> Identity {
        let texts = parameters.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]);
        Identity {
            experiment: self.experiment.clone(),
            kind: step.kind,
            round: step.round,
            level: step.level,
            place: step.place,
            setting: setting.to_owned(),
            plan_seed: self.plan_seed,
            load_seed: step.load_seed,
            world_seed: step.world_seed,
            commit: self.commit.clone(),
            parameter_hash: hash_of(texts),
            parameters,
            machine: self.machine.clone(),
            machine_hash: hash_of([self.machine.as_str()]),
            world: self.world.clone(),
            work_hash: hash_of([self.work.as_str(), &step.load_seed.to_string()]),
        }
    }
}

/// In which world a run took place: `linux`, or `simulated MACHINE`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum World {
    /// On this machine.
    Linux,
    /// On a model of the machine so called.
    Simulated(String),
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            World::Linux => f.write_str("linux"),
            World::Simulated(machine) => write!(f, "simulated {machine}"),
        }
    }
}

impl From<World> for String {
    fn from(world: World) -> String {
        world.to_string()
    }
}

impl TryFrom<String> for World {
    type Error = String;

    fn try_from(text: String) -> Result<World, String> {
        if text == "linux" {
            return Ok(World::Linux);
        }
        let machine = text.strip_prefix("simulated ").filter(|machine| !machine.is_empty());
        let machine =
            machine.ok_or_else(|| format!("\"{text}\" is neither linux nor simulated"))?;
        Ok(World::Simulated(machine.to_owned()))
    }
}

/// How long transactions took, us.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Latency {
    /// The median.
    pub p50_us: f64,
    /// The 95th percentile.
    pub p95_us: f64,
    /// The 99th.
    pub p99_us: f64,
    /// The 99.9th.
    #[serde(default)]
    pub p999_us: f64,
    /// The longest.
    pub max_us: f64,
    /// How far a percentile may be off, as a share of it.
    #[serde(default = "resolution_of_old_rows")]
    pub resolution: f64,
}

/// Rows that don't tell it were made when a percentile was the end of a bucket.
fn resolution_of_old_rows() -> f64 {
    1.0 / 32.0
}

/// Whether commits survived.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Commits {
    /// The number of acknowledged commits.
    pub acknowledged: u64,
    /// How many of them were there after the database had been opened again.
    pub found: u64,
}

impl Commits {
    /// The number of acknowledged commits that are gone.
    pub fn lost(self) -> u64 {
        self.acknowledged.saturating_sub(self.found)
    }
}

/// The figures of a run, beside its sessions' intervals.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// The measured interval, by the wall.
    pub elapsed: Nanos,
    /// Transactions that ended in it.
    pub transactions: u64,
    /// How long they took, where that was measured.
    pub latency: Option<Latency>,
    /// Whether commits survived, if it was checked.
    pub commits: Option<Commits>,
}

impl Run {
    /// The row of a run with these intervals of its sessions, foreground and background.
    pub fn new(identity: Identity, measured: Measured, intervals: &[SessionInterval]) -> Run {
        let mut statistics = BTreeMap::new();
        for statistic in Statistic::ALL {
            let sum: u64 = intervals.iter().map(|i| i.totals.statistic(*statistic)).sum();
            if sum > 0 {
                statistics.insert(statistic.name().to_owned(), sum);
            }
        }
        let processes = intervals.iter().filter(|each| each.kind == SessionKind::Background);
        let mut processes: Vec<ProcessUsage> = processes.map(ProcessUsage::from).collect();
        processes.sort_by(|a, b| a.name.cmp(&b.name));
        Run {
            identity,
            transactions: measured.transactions,
            elapsed_ns: measured.elapsed.0,
            latency: measured.latency,
            commits: measured.commits,
            foreground: SessionGroup::of_kind(SessionKind::Foreground, intervals),
            background: SessionGroup::of_kind(SessionKind::Background, intervals),
            processes,
            stolen_ns: intervals.iter().map(|interval| interval.account.stolen.0).sum(),
            statistics,
            surroundings: None,
            block: None,
        }
    }

    /// Transactions a second.
    pub fn throughput(&self) -> f64 {
        let [transactions, seconds] = self.throughput_parts();
        transactions / seconds
    }

    /// Transactions and seconds. Of a block they are those of its window: each session's book
    /// begins and ends at a turn of its own.
    pub fn throughput_parts(&self) -> [f64; 2] {
        let (transactions, ns) = match &self.block {
            Some(block) => (block.transactions, block.window_ns),
            None => (self.transactions, self.elapsed_ns),
        };
        [transactions as f64, Nanos(ns).as_secs_f64()]
    }

    /// Whether nothing ended in it, as where the device stalled: it has a throughput, which is
    /// zero, and no latency.
    pub fn is_idle(&self) -> bool {
        self.transactions == 0 && self.latency.is_none()
    }

    /// The share of time on a CPU that a hypervisor or interrupts took away.
    pub fn stolen_share(&self) -> f64 {
        let on_cpu = [&self.foreground, &self.background]
            .map(|s| s.profile.cpu_in_all_ns())
            .iter()
            .sum::<i64>();
        self.stolen_ns as f64 / on_cpu.max(1) as f64
    }

    /// One statistic of the list.
    pub fn statistic(&self, statistic: Statistic) -> u64 {
        self.statistics.get(statistic.name()).copied().unwrap_or(0)
    }

    /// Checks a row that was read; the error says why it is unusable.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (name, sessions) in [("foreground", &self.foreground), ("background", &self.background)]
        {
            if !sessions.profile.closes() {
                return Err(format!("the {name} account doesn't close"));
            }
        }
        // That no transaction ended, where the device stalled, is a figure too.
        let measured_ns = self.block.as_ref().map_or(self.elapsed_ns, |block| block.window_ns);
        if measured_ns == 0 {
            return Err("it measured no time".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use waits::{ThreadTimes, TimeAccount, Totals};

    use super::*;

    /// A row with an empty account.
    pub(crate) fn run_of(step: &Step, transactions: u64) -> Run {
        let parameters = BTreeMap::from([("db_cache_size".to_owned(), "64M".to_owned())]);
        let origin = Origin {
            experiment: "test".to_owned(),
            plan_seed: 1,
            commit: "commit".to_owned(),
            machine: "machine".to_owned(),
            world: World::Linux,
            work: "work".to_owned(),
        };
        let identity = origin.identity(step, "setting", parameters);
        let elapsed = Nanos::from_secs(1);
        let measured = Measured { elapsed, transactions, latency: None, commits: None };
        Run::new(identity, measured, &[])
    }

    fn step() -> Step {
        crate::Plan { levels: 2, rounds: 2, equals: 1, stretches: 1, together: 1, seed: 4 }.steps()
            [0]
    }

    fn interval(name: &str, kind: SessionKind, cpu_ms: u64) -> SessionInterval {
        let totals = Totals::default();
        let times = ThreadTimes { cpu: Nanos::from_millis(cpu_ms), ..ThreadTimes::default() };
        let account = TimeAccount::close(Nanos::from_millis(100), times, &totals);
        SessionInterval { name: name.to_owned(), kind, totals, account }
    }

    #[test]
    fn sessions_are_summed_by_kind_and_the_worst_is_named() {
        let intervals = [
            interval("user 1", SessionKind::Foreground, 90),
            interval("fb_lgwr", SessionKind::Background, 100),
            interval("user 2", SessionKind::Foreground, 60),
            interval("fb_dbw0", SessionKind::Background, 99),
        ];
        let elapsed = Nanos::from_millis(100);
        let measured = Measured { elapsed, transactions: 50, latency: None, commits: None };
        let run = Run::new(run_of(&step(), 1).identity, measured, &intervals);
        assert_eq!((run.foreground.count, run.background.count), (2, 2));
        assert_eq!(run.foreground.profile.cpu_ns, 150_000_000);
        let worst = run.foreground.worst.as_ref().expect("there are foregrounds");
        assert_eq!((worst.session.as_str(), worst.share), ("user 2", 0.4));
        let names: Vec<&str> = run.processes.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["fb_dbw0", "fb_lgwr"]);
        assert_eq!(run.processes[0].unaccounted_ns, 1_000_000);
        assert_eq!(run.throughput(), 500.0);
        assert_eq!(run.check(), Ok(()));
    }

    #[test]
    fn a_world_is_written_as_people_say_it() {
        for world in [World::Linux, World::Simulated("8-core".to_owned())] {
            assert_eq!(World::try_from(world.to_string()), Ok(world));
        }
        assert!(World::try_from("mars".to_owned()).is_err());
        assert!(World::try_from("simulated ".to_owned()).is_err());
    }

    /// Rule EX6: the same parameters have the same hash, and both runs of a pair the same work.
    #[test]
    fn hashes_are_of_what_stands_beside_them() {
        let steps =
            crate::Plan { levels: 2, rounds: 2, equals: 1, stretches: 1, together: 1, seed: 4 }
                .steps();
        let [first, second, third] = [0, 1, 2].map(|i| run_of(&steps[i], 1).identity);
        assert_eq!(first.work_hash, second.work_hash);
        assert_ne!(first.work_hash, third.work_hash);
        assert_eq!(first.parameter_hash, third.parameter_hash);
        assert_eq!(first.parameter_hash, hash_of(["db_cache_size", "64M"]));
    }

    #[test]
    fn commits_that_are_not_found_are_lost() {
        assert_eq!(Commits { acknowledged: 10, found: 7 }.lost(), 3);
        assert_eq!(Commits { acknowledged: 10, found: 10 }.lost(), 0);
    }
}
