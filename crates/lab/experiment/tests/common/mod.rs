//! Rows made by hand, for tests of the verdict.

use std::collections::BTreeMap;

use experiment::{
    Block, Commits, Latency, Level, Measure, Origin, Plan, Question, Rule, Run, Step, World,
};
use report::{EventTime, ProcessUsage, SessionGroup, TimeProfile, UnaccountedShare};
use waits::{Statistic, WaitEvent};

const SESSIONS: u32 = 16;
const SECONDS: u64 = 12;

/// An experiment: what the sides do, and how its runs vary.
pub(crate) struct Story {
    /// Transactions of a run of A.
    pub(crate) transactions: f64,
    /// B over A.
    pub(crate) ratio: f64,
    /// How far runs lie apart.
    pub(crate) spread: f64,
    pub(crate) world: World,
}

impl Story {
    /// One writer is faster than eight by this factor.
    pub(crate) fn of(ratio: f64, spread: f64) -> Story {
        Story { transactions: 16_310.0, ratio, spread, world: World::Linux }
    }

    /// The rows of ten rounds and five of equals.
    pub(crate) fn rows(&self) -> Vec<Run> {
        self.rows_of(2, 10)
    }

    /// The same of so many settings and rounds. The third is as much faster than the second as that
    /// is than the first, and so on.
    pub(crate) fn rows_of(&self, levels: u8, rounds: u32) -> Vec<Run> {
        self.rows_of_plan(Plan { levels, rounds, equals: 5, stretches: 5, together: 1, seed: 7 })
    }

    pub(crate) fn rows_of_plan(&self, plan: Plan) -> Vec<Run> {
        plan.steps().iter().enumerate().map(|(index, step)| self.run(step, index)).collect()
    }

    fn run(&self, step: &Step, index: usize) -> Run {
        // Neither regular nor skewed, of deviation one, and the same on every machine.
        let die = |prime: usize| ((index + 3) * prime % 101) as f64 / 50.0 - 1.0;
        let noise = self.spread * (die(7_919) + die(1_009) + die(4_001));
        let effect = self.ratio.powi(step.level.index() as i32);
        let transactions = (self.transactions * effect * (1.0 + noise)).round() as u64;
        let foreground = foreground(transactions, step.level);
        let processes = processes(transactions, step.level);
        let background = background(&processes);
        let worst =
            |session: &str, share| Some(UnaccountedShare { session: session.into(), share });
        Run {
            identity: self.origin().identity(step, &setting(step.level), parameters(step.level)),
            transactions,
            elapsed_ns: SECONDS * 1_000_000_000 + index as u64 * 1_000,
            latency: Some(Latency {
                p50_us: 178_000_000.0 / transactions as f64,
                p95_us: 401_000_000.0 / transactions as f64,
                p99_us: 7_890_000_000.0 / transactions as f64,
                p999_us: 19_900_000_000.0 / transactions as f64,
                max_us: 900_000.0,
                resolution: 1.0 / 512.0,
            }),
            commits: Some(Commits { acknowledged: transactions + 31, found: transactions + 31 }),
            foreground: SessionGroup {
                count: SESSIONS,
                profile: foreground,
                worst: worst("user 3", 0.0007 + 0.0001 * index as f64),
            },
            background: SessionGroup {
                count: processes.len() as u32,
                profile: background,
                worst: worst("fb_ckpt", 0.0003),
            },
            processes,
            stolen_ns: 0,
            statistics: statistics(transactions),
            surroundings: None,
            block: None,
        }
    }

    fn origin(&self) -> Origin {
        Origin {
            experiment: "dbwr-count".into(),
            plan_seed: 7,
            commit: "0123abcd".into(),
            machine: "Linux 6.1.0 x86_64, Some CPU @ 2.80GHz, 2 cores, 15.5 GiB".into(),
            world: self.world.clone(),
            work: "debit-credit 16 sessions; mass update 1 session".into(),
        }
    }
}

/// The block of a second that is the so manieth of its experiment.
pub(crate) fn block_of_a_second(index: usize, transactions: u64) -> Block {
    let ns = 1_000_000_000;
    Block {
        at_ns: index as u64 * ns,
        instance_ns: 0,
        washout_ns: 0,
        window_ns: ns,
        transactions,
        step_ns: ns / 20,
        curve: vec![transactions as u32 / 20; 20],
    }
}

pub(crate) const RULE: Rule = Rule {
    threshold: 0.02,
    error: 0.025,
    rounds: 10,
    is_device_neutral: false,
    measure: Measure::Throughput,
    is_open_ended: false,
};

pub(crate) fn question() -> Question {
    Question {
        rule: RULE,
        most_rounds: None,
        command: "forebay lab run dbwr-count --seed 7".into(),
        model: String::new(),
        sensitivity: Vec::new(),
        untried: experiment::Untried::Nothing,
        audits: Vec::new(),
        notes: Vec::new(),
    }
}

/// As in the original: one writer is what is tried, against eight.
fn setting(level: Level) -> String {
    format!("db_writer_processes = {}", writers(level))
}

fn writers(level: Level) -> u64 {
    [8, 1, 2, 4][level.index()]
}

fn parameters(side: Level) -> BTreeMap<String, String> {
    let writers = writers(side).to_string();
    let pairs = [
        ("db_cache_size", "64M"),
        ("db_writer_processes", writers.as_str()),
        ("filesystemio_options", "setall"),
        ("working_sets", "8"),
        ("data", "256M"),
        ("sessions", "16"),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn event(event: WaitEvent, count: u64, total_ns: u64) -> EventTime {
    EventTime {
        event: event.name().into(),
        class: event.class().name().into(),
        count,
        total_ns,
        of_which_cpu_ns: total_ns / 50,
        of_which_run_queue_ns: total_ns / 40,
    }
}

/// Sessions that never idle: what isn't CPU or anything else is waiting for free buffers.
fn foreground(transactions: u64, side: Level) -> TimeProfile {
    use WaitEvent as E;
    let elapsed_ns = u64::from(SESSIONS) * SECONDS * 1_000_000_000;
    let per = |ns: u64| transactions * ns;
    let queue = if side == Level::A { 211_347 } else { 160_113 };
    let mut events = vec![
        event(E::LogFileSync, transactions, per(4_123_457)),
        event(E::DbFileSequentialRead, transactions * 2, per(1_277_779)),
        event(E::LogFileSwitchCheckpointIncomplete, transactions / 900, per(717_171)),
        event(E::BufferBusyWaits, transactions / 11, per(31_337)),
        event(E::LatchCacheBuffersChains, transactions / 60, per(2_221)),
        event(E::LatchCacheBuffersLruChain, transactions / 90, per(1_113)),
        event(E::LogBufferSpace, transactions / 500, per(919)),
        event(E::EnqHwContention, transactions / 700, per(717)),
        event(E::LogFileSwitchCompletion, 3, per(616)),
        event(E::ReadByOtherSession, transactions / 800, per(515)),
        event(E::LatchRedoCopy, transactions / 999, per(414)),
        event(E::EnqTxRowLock, transactions / 2_000, per(313)),
        event(E::LatchFree, 17, per(111)),
    ];
    let (cpu, queue, unaccounted) = (per(401_003), per(queue), per(9_007));
    let named: u64 = events.iter().map(|e| e.total_ns).sum::<u64>() + cpu + queue + unaccounted;
    events.push(event(E::FreeBufferWaits, transactions / 3, elapsed_ns - named));
    if side == Level::B {
        events.push(event(E::DbFileParallelRead, 0, 0));
    }
    closed(elapsed_ns, cpu, queue, unaccounted, events)
}

fn closed(
    elapsed: u64,
    cpu: u64,
    queue: u64,
    unaccounted: u64,
    events: Vec<EventTime>,
) -> TimeProfile {
    let profile = TimeProfile {
        elapsed_ns: elapsed,
        cpu_ns: cpu as i64,
        run_queue_ns: queue as i64,
        unaccounted_ns: unaccounted as i64,
        stolen_ns: 0,
        events,
    };
    assert!(profile.closes());
    profile
}

fn processes(transactions: u64, side: Level) -> Vec<ProcessUsage> {
    let writers = writers(side);
    let process = |name: String, cpu: u64, writes: u64, bytes: u64| ProcessUsage {
        name,
        elapsed_ns: SECONDS * 1_000_000_000,
        cpu_ns: cpu as i64,
        run_queue_ns: (cpu / 3 * writers.isqrt()) as i64,
        unaccounted_ns: (cpu / 999) as i64,
        reads: 2,
        read_bytes: 8_192,
        writes,
        write_bytes: writes * bytes,
    };
    let mut processes = vec![
        process("fb_ckpt".into(), 11_234_567, 5, 4_096),
        process("fb_lgwr".into(), transactions * 21_003, transactions / 4, 9_216),
    ];
    for writer in 0..writers {
        let cpu = transactions * (70_001 + 900 * writers) / writers;
        let writes = transactions * 7 / 2 / writers + writer;
        processes.push(process(format!("fb_dbw{writer}"), cpu, writes, 8_192));
    }
    processes.sort_by(|a, b| a.name.cmp(&b.name));
    processes
}

fn background(processes: &[ProcessUsage]) -> TimeProfile {
    let sum = |of: fn(&ProcessUsage) -> i64| processes.iter().map(of).sum::<i64>() as u64;
    let elapsed = processes.iter().map(|process| process.elapsed_ns).sum();
    let (cpu, queue) = (sum(|p| p.cpu_ns), sum(|p| p.run_queue_ns));
    let unaccounted = sum(|p| p.unaccounted_ns);
    let mut events = vec![
        event(WaitEvent::LogFileParallelWrite, 4_000, 3_777_777_777),
        event(WaitEvent::DbFileParallelWrite, 900, 2_123_456_789),
        event(WaitEvent::ControlFileParallelWrite, 4, 12_345_678),
    ];
    let named = events.iter().map(|e| e.total_ns).sum::<u64>() + cpu + queue + unaccounted;
    events.push(event(WaitEvent::RdbmsIpcMessage, 900, elapsed - named));
    closed(elapsed, cpu, queue, unaccounted, events)
}

fn statistics(transactions: u64) -> BTreeMap<String, u64> {
    let counted = [
        (Statistic::UserCommits, transactions),
        (Statistic::UserRollbacks, transactions / 400),
        (Statistic::RedoSize, transactions * 4_341),
        (Statistic::CurrentGets, transactions * 92),
        (Statistic::BlockChanges, transactions * 25),
        (Statistic::PhysicalReads, transactions * 3 / 2),
        (Statistic::PhysicalWrites, transactions * 7 / 2),
        (Statistic::PhysicalWritesNonCheckpoint, transactions * 3),
        (Statistic::RedoWrites, transactions / 4),
        (Statistic::RedoLogSwitches, 3),
    ];
    counted.into_iter().map(|(statistic, sum)| (statistic.name().to_owned(), sum)).collect()
}

/// The log writer gets priority, and is ready without a CPU for this share of its time without it,
/// with it for half of that.
pub(crate) fn priority(share: f64) -> Vec<Run> {
    let mut rows = Story::of(1.009, 0.004).rows();
    for run in &mut rows {
        let identity = &mut run.identity;
        let is_a = identity.level == Level::A;
        let patterns = if is_a { "" } else { "lgwr" };
        identity.setting =
            format!("high_priority_processes = {}", if is_a { "''" } else { "lgwr" });
        identity.parameters.insert("high_priority_processes".into(), patterns.into());
        let share = if is_a { share } else { share / 2.0 };
        let lgwr = run.processes.iter_mut().find(|process| process.name == "fb_lgwr");
        let lgwr = lgwr.expect("each run has it");
        lgwr.run_queue_ns = (lgwr.elapsed_ns as f64 * share) as i64;
    }
    rows
}

/// The text on one line: sentences as they are before they are broken at the edge of a screen.
pub(crate) fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
