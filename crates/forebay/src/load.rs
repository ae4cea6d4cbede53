//! `forebay load`: a database with the debit-credit tables, work on it, and the audit afterwards.
//!
//! What a DBA does with a new database: make one, put it under load, pull the plug, look whether
//! everything is there. `run --acknowledge` prints each commit as soon as it is acknowledged, so
//! that whoever reads it knows, wherever the power goes, what must be found again; `audit` is told
//! that.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use database::{Creation, Database, Options, Parameters, Progress};
use experiment::{SessionInterval, Snapshot};
use instance::LogGroupSpec;
use os::{Disk, FileOptions, IoBuf, Session};
use stop::{RefusalKind, Stop};
use waits::{Nanos, SessionKind};
use workload::order_entry::Scale as OrderEntryScale;
use workload::{Drive, Mixture, Scale, Tables, Witness};

use crate::alter::{self, Alterations};
use crate::order_entry;
use crate::settings::Settings;

/// A recovery that takes longer says so often how far it has come.
const TELL_EVERY: Nanos = Nanos::from_secs(2);

#[derive(Subcommand)]
pub(crate) enum Load {
    /// Makes a database with the tables, filled.
    Create(Create),
    /// Opens it and works on it.
    Run(Run),
    /// Opens it, recovers it if need be, and holds it against what was acknowledged.
    Audit(Audit),
}

#[derive(Args)]
pub(crate) struct Create {
    /// Where; the directory must be empty or not there.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Megabytes of rows.
    #[arg(long, value_name = "MB", default_value_t = 64, conflicts_with = "order_entry")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    megabytes: u64,
    /// The nine tables of order entry instead, of so many warehouses.
    #[arg(long, value_name = "WAREHOUSES")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    order_entry: Option<u32>,
    /// Customers of each of a warehouse's ten districts.
    #[arg(long, default_value_t = 3_000, requires = "order_entry")]
    #[arg(value_parser = clap::value_parser!(u32).range(10..=3_000))]
    customers: u32,
    /// Items, and stock of each in every warehouse.
    #[arg(long, default_value_t = 100_000, requires = "order_entry")]
    #[arg(value_parser = clap::value_parser!(u32).range(10..=100_000))]
    items: u32,
    /// A redo log group, with its members; given at least twice, else there are log_groups with
    /// log_members each.
    #[arg(long = "log-group", value_name = "SIZE:PATH[,PATH...]")]
    log_groups: Vec<String>,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Args)]
pub(crate) struct Instanced {
    /// The database.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Args)]
pub(crate) struct Run {
    #[command(flatten)]
    instanced: Instanced,
    /// Order entry, of which the tables are there.
    #[arg(long)]
    order_entry: bool,
    /// Sessions at once.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=4_096))]
    sessions: u32,
    /// For how long.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Decides which rows sessions meet.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of the first session; without it, the next that no earlier load has used.
    #[arg(long)]
    first_session: Option<u32>,
    /// Prints "SESSION NUMBER" for each commit, as soon as it is acknowledged.
    #[arg(long)]
    acknowledge: bool,
    #[command(flatten)]
    alterations: Alterations,
}

#[derive(Args)]
pub(crate) struct Audit {
    #[command(flatten)]
    instanced: Instanced,
    /// What `run --acknowledge` printed, of one load or of several.
    #[arg(long, value_name = "FILE")]
    acknowledged: PathBuf,
    /// Of order entry: its twelve consistency conditions are checked too.
    #[arg(long)]
    order_entry: bool,
}

/// What there is to print, or what failed.
pub(crate) fn run(command: Load) -> Result<String, String> {
    let os = os::linux::start();
    let session = os.adopt("forebay", SessionKind::Foreground);
    os::linux::listen();
    let disk = os::linux::disk();
    let done = match command {
        Load::Create(create) => create.carry_out(&disk, &session),
        Load::Run(run) => run.carry_out(&disk, &session),
        Load::Audit(audit) => audit.carry_out(&disk, &session),
    };
    done.map_err(|stop| stop.to_string())
}

const MIB: u64 = 1 << 20;

impl Create {
    fn carry_out(&self, disk: &Disk, session: &Session) -> Result<String, Stop> {
        let filling = self.filling();
        let mut creation = Creation {
            data_bytes: filling.bytes() * 3 / 2 + 32 * MIB,
            // Orders and history become more.
            data_bytes_max: 30 << 30,
            log_file_bytes: 16 * MIB,
            ..Creation::default()
        };
        let mut parameters = Parameters::default();
        self.settings.apply(Some(&mut creation), &mut parameters)?;
        for text in &self.log_groups {
            creation.log_files.push(LogGroupSpec::read(text).ok_or_else(|| {
                let message = format!("--log-group takes SIZE:PATH[,PATH...], not '{text}'");
                Stop::refuse(RefusalKind::Invalid, message)
            })?);
        }
        let options = Options { creation, parameters };
        let database = Database::create_in((disk, &self.directory), &options, session)?;
        let loaded = match filling {
            Filling::DebitCredit(scale) => {
                let go_on = |_, _| !os::linux::interrupted();
                workload::load(&mut database.connect_with(session), scale, go_on)
            }
            Filling::OrderEntry(scale) => order_entry::load(&database, scale, session),
        };
        if !matches!(loaded, Ok(true)) {
            database.abort_by(session);
            remove(disk, &self.directory, &options.creation, session)?;
            let stopped = "stopped; the database is removed again";
            return loaded.and_then(|_| Err(Stop::refuse(RefusalKind::WrongState, stopped)));
        }
        database.shutdown_by(session)?;
        Ok(format!("{}: {} rows\n", self.directory.display(), filling.rows()))
    }

    fn filling(&self) -> Filling {
        match self.order_entry {
            None => Filling::DebitCredit(Scale::of_mib(self.megabytes)),
            Some(warehouses) => Filling::OrderEntry(OrderEntryScale {
                warehouses: warehouses.max(1).into(),
                customers: self.customers.max(10).into(),
                items: self.items.max(10).into(),
            }),
        }
    }
}

/// What a database is filled with.
#[derive(Clone, Copy)]
enum Filling {
    DebitCredit(Scale),
    OrderEntry(OrderEntryScale),
}

impl Filling {
    fn rows(self) -> u64 {
        match self {
            Filling::DebitCredit(scale) => scale.rows(),
            Filling::OrderEntry(scale) => scale.rows(),
        }
    }

    /// Bytes of rows, about.
    fn bytes(self) -> u64 {
        match self {
            Filling::DebitCredit(scale) => scale.bytes(),
            Filling::OrderEntry(scale) => scale.rows() * 200,
        }
    }
}

impl Run {
    fn carry_out(&self, disk: &Disk, session: &Session) -> Result<String, Stop> {
        let alterations = self.alterations.read()?;
        let database = self.instanced.open(disk, session)?;
        let altering = alter::start(alterations, &database, session)?;
        let mut marks = Vec::new();
        let ran = self.work(&database, &mut marks, session);
        let altered = altering.map_or_else(|| Ok(String::new()), |altering| altering.end(session));
        let ended = database.shutdown_by(session);
        let ran = ran?;
        ended?;
        let altered = altered?;
        if self.acknowledge {
            return Ok(String::new());
        }
        let processes = match &marks[..] {
            [begin, end] => end.intervals_since(begin),
            _ => Vec::new(),
        };
        let (throughput, seconds) = (ran.throughput(), ran.elapsed.as_secs_f64());
        let cut = match os::linux::interrupted() {
            true => format!("interrupted after {seconds:.1} of {} s\n", self.seconds),
            false => String::new(),
        };
        let sessions: Vec<SessionInterval> =
            ran.sessions.into_iter().map(|session| session.interval).collect();
        let worst = [("session", worst(&sessions)), ("process", worst(&processes))]
            .map(|(kind, worst)| format!("largest unaccounted share of a {kind}: {worst}\n"));
        let profile = profile(&sessions);
        let worst = worst.concat();
        Ok(format!("{altered}{cut}{throughput:.1} transactions a second\n\n{profile}\n{worst}"))
    }
}

impl Run {
    /// `marks` gets the background processes' accounts when the time that counts begins and ends.
    fn work(
        &self,
        database: &Database,
        marks: &mut Vec<Snapshot>,
        session: &Session,
    ) -> Result<workload::Run, Stop> {
        let witness: Option<Witness> = self.acknowledge.then(|| Arc::new(print_commit) as Witness);
        let mark =
            |session: &Session| marks.push(Snapshot::take(session.os(), SessionKind::Background));
        let (warm_up, length) = (Nanos::ZERO, Nanos::from_secs(self.seconds));
        if self.order_entry {
            let plan = Drive { sessions: self.sessions, first_session: 0, warm_up, length };
            let what = (plan, self.first_session, self.seed);
            return order_entry::run(database, what, witness, mark, session);
        }
        let (scale, first_session) = {
            let mut connection = database.connect_with(session);
            let scale = Tables::open(&mut connection)?.scale();
            let first_session = match self.first_session {
                Some(number) => number,
                None => workload::next_session(&mut connection)?,
            };
            (scale, first_session)
        };
        let mixture = Mixture {
            seed: self.seed,
            sessions: self.sessions,
            first_session,
            mass_update_every: 50,
            mass_update_rows: 200.min(scale.stock / 4),
            warm_up,
            length,
        };
        workload::run(database, (mixture, witness), &os::linux::interrupted, mark, session)
    }
}

/// Whose books close worst.
fn worst(intervals: &[SessionInterval]) -> String {
    let share = |interval: &SessionInterval| interval.account.unaccounted_share();
    let worst = intervals.iter().max_by(|a, b| share(a).total_cmp(&share(b)));
    worst.map_or("none".to_owned(), |w| format!("{:.2} %, {}", share(w) * 100.0, w.name))
}

/// Where the sessions' time went, all together: a line for each name, the longest first.
fn profile(sessions: &[SessionInterval]) -> String {
    let mut lines: BTreeMap<&str, i64> = BTreeMap::new();
    let mut elapsed = 0;
    for session in sessions {
        let account = &session.account;
        elapsed += account.elapsed.0 as i64;
        for (name, ns) in [("CPU", account.cpu_ns), ("run queue", account.run_queue_ns)] {
            *lines.entry(name).or_default() += ns;
        }
        *lines.entry("unaccounted").or_default() += account.unaccounted_ns;
        for line in &account.waits {
            *lines.entry(line.event.name()).or_default() += line.total.0 as i64;
        }
    }
    let mut lines: Vec<(&str, i64)> = lines.into_iter().collect();
    lines.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    lines.insert(0, ("elapsed, all sessions", elapsed));
    let stolen: i64 = sessions.iter().map(|session| session.account.stolen.0 as i64).sum();
    lines.push(("of CPU: taken by hypervisor, interrupts", stolen));
    let row = |(name, ns): &(&str, i64)| {
        let share = *ns as f64 / elapsed.max(1) as f64 * 100.0;
        format!("{name:<42}{:>12.3} s {share:>6.1} %\n", *ns as f64 / 1e9)
    };
    lines.iter().map(row).collect()
}

/// One write, whole: who reads it may go on when we are gone.
fn print_commit(session: u32, number: u64) {
    let line = format!("{session} {number}\n");
    // Whoever doesn't read any more isn't told any more.
    let _ = std::io::stdout().lock().write_all(line.as_bytes());
}

impl Audit {
    fn carry_out(&self, disk: &Disk, session: &Session) -> Result<String, Stop> {
        let told = read_acknowledged(disk, &self.acknowledged, session)?;
        if self.order_entry {
            return self.order_entry(disk, &told, session);
        }
        let database = self.instanced.open(disk, session)?;
        let opened = database.instance().opened().clone();
        let audit = workload::audit(&mut database.connect_with(session), &told, true);
        let ended = database.shutdown_by(session);
        let audit = audit?;
        ended?;
        if !audit.is_clean() {
            let lines = audit.unbalanced.join("; ");
            let message = format!(
                "of {} acknowledged commits {} are lost; {lines}",
                audit.acknowledged, audit.lost
            );
            return Err(Stop::refuse(RefusalKind::Corrupt, message));
        }
        let recovered = &opened.recovered;
        Ok(format!(
            "none of {} acknowledged commits is lost, and {} more are there; recovery read {} redo \
             records in {:.2} s ({:.2} s were estimated) and rolled {} transactions back; {}\n",
            audit.acknowledged,
            audit.unacknowledged,
            recovered.records,
            recovered.elapsed.as_secs_f64(),
            opened.estimated_recovery.as_secs_f64(),
            opened.rolled_back,
            recovered.end
        ))
    }
}

impl Audit {
    fn order_entry(
        &self,
        disk: &Disk,
        told: &[(u32, u64)],
        session: &Session,
    ) -> Result<String, Stop> {
        let database = self.instanced.open(disk, session)?;
        let opened = database.instance().opened().clone();
        let audited = order_entry::audit(&database, told, session);
        let ended = database.shutdown_by(session);
        audited?;
        ended?;
        let acknowledged: u64 = told.iter().map(|(_, told)| told).sum();
        Ok(format!(
            "none of {acknowledged} acknowledged commits is lost, and all twelve conditions hold; \
             recovery read {} redo records and rolled {} transactions back\n",
            opened.recovered.records, opened.rolled_back
        ))
    }
}

impl Instanced {
    pub(crate) fn open(&self, disk: &Disk, session: &Session) -> Result<Database, Stop> {
        let mut options = Options::default();
        self.settings.apply(None, &mut options.parameters)?;
        let told = Cell::new(Nanos::ZERO);
        // Quiet if it is short; else a line now and then.
        let tell = |progress: Progress| {
            if progress.elapsed.0 >= told.get().0 + TELL_EVERY.0 {
                told.set(progress.elapsed);
                eprintln!("{progress}");
            }
        };
        Database::open_telling((disk, &self.directory), &options, &tell, session)
    }
}

/// How many commits each session was told of.
fn read_acknowledged(disk: &Disk, path: &Path, session: &Session) -> Result<Vec<(u32, u64)>, Stop> {
    let options = FileOptions { direct: false, write_through: false };
    let file = disk.open_read_only(path, options, session)?;
    let length = usize::try_from(file.length()?).unwrap_or(usize::MAX);
    let mut text = IoBuf::zeroed(length.max(1));
    file.read_at(0, &mut text[..length], os::FileOperation::Read.waiting(session))?;
    let mut told: BTreeMap<u32, u64> = BTreeMap::new();
    for (line, number) in text[..length].split(|byte| *byte == b'\n').zip(1..) {
        let words = std::str::from_utf8(line).unwrap_or("?");
        let mut numbers = words.split_whitespace().map(str::parse::<u64>);
        match (numbers.next(), numbers.next(), numbers.next()) {
            (None, ..) => {}
            (Some(Ok(session)), Some(Ok(commit)), None) if session <= u64::from(u32::MAX) => {
                let most = told.entry(session as u32).or_default();
                *most = commit.max(*most);
            }
            _ => {
                let message = format!(
                    "line {number} of {} isn't \"SESSION NUMBER\" but '{words}'",
                    path.display()
                );
                return Err(Stop::refuse(RefusalKind::Invalid, message));
            }
        }
    }
    Ok(told.into_iter().collect())
}

fn remove(
    disk: &Disk,
    directory: &Path,
    creation: &Creation,
    session: &Session,
) -> Result<(), Stop> {
    let logs = creation.log_files.iter().flat_map(|group| &group.members);
    for path in logs.map(|path| directory.join(path)) {
        if path.parent() != Some(directory) {
            disk.remove(&path, session)?;
        }
    }
    for name in disk.list(directory, session)? {
        disk.remove(&directory.join(name), session)?;
    }
    Ok(disk.remove(directory, session)?)
}
