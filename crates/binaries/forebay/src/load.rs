//! `forebay load`: a database with the debit-credit tables, work on it, and the audit afterwards.
//!
//! What a DBA does with a new database: make one, put it under load, pull the plug, look whether
//! everything is there. `run --acknowledge` prints each commit as soon as it is acknowledged, so
//! that whoever reads it knows, wherever the power goes, what must be found again; `audit` is told
//! that.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use clap::{Args, Subcommand};
use database::{Database, Options, Parameters, Progress};
use instance::LogGroupSpec;
use os::{Disk, FileOptions, IoBuf, Session};
use report::{SessionInterval, Snapshot};
use stop::{RefusalKind, Stop};
use waits::{Nanos, SessionKind};
use workload::order_entry::{Plan as OrderEntryPlan, Scale as OrderEntryScale};
use workload::{Drive, Mixture, Scale, Tables, Witness};

use crate::alter::{self, Alterations};
use crate::filling::Filling;
use crate::order_entry;
use crate::output::{Failure, Outcome, print, tell};
use crate::settings::{Settings, wrapped};

/// The most that a session's number may be, so that those that follow have numbers too: the tables
/// of order entry have an INTEGER for them.
const SESSION_NUMBER_MAX: i64 = 2_000_000_000;

/// A file of acknowledged commits has at most so many bytes: it is read whole.
const ACKNOWLEDGED_MAX: u64 = 1 << 30;

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
    /// So many of a hundred transactions of order entry run at serializable.
    #[arg(long, value_name = "PERCENT", default_value_t = 0, requires = "order_entry")]
    #[arg(value_parser = clap::value_parser!(u32).range(..=100))]
    serializable: u32,
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
    #[arg(long, value_name = "NUMBER")]
    #[arg(value_parser = clap::value_parser!(u32).range(..=SESSION_NUMBER_MAX))]
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
    /// What `run --acknowledge` printed, of one load or of several; without it, the books alone
    /// are looked at.
    #[arg(long, value_name = "FILE")]
    acknowledged: Option<PathBuf>,
    /// Of order entry: its twelve consistency conditions are checked too.
    #[arg(long)]
    order_entry: bool,
}

/// What there is to print, or what failed.
pub(crate) fn run(command: Load) -> Outcome {
    let os = os::linux::start();
    let session = os.adopt("forebay", SessionKind::Foreground);
    // An audit changes nothing that could be left half done: a signal ends it at once, as it ends
    // what hasn't said that it listens, and the next opening recovers.
    if !matches!(command, Load::Audit(_)) {
        os::linux::listen();
    }
    let disk = os::linux::disk();
    match command {
        Load::Create(create) => create.carry_out(&disk, &session),
        Load::Run(run) => run.carry_out(&disk, &session),
        Load::Audit(audit) => audit.carry_out(&disk, &session),
    }
}

impl Create {
    fn carry_out(&self, disk: &Disk, session: &Session) -> Outcome {
        let filling = self.filling();
        let mut creation = filling.creation();
        let mut parameters = Parameters::default();
        self.settings.apply(Some(&mut creation), &mut parameters)?;
        creation.spread_data();
        for text in &self.log_groups {
            creation.log_files.push(LogGroupSpec::read(text).ok_or_else(|| {
                Failure::usage(format!("--log-group takes SIZE:PATH[,PATH...], not '{text}'"))
            })?);
        }
        let options = Options { creation, parameters, ..Options::default() };
        let fill = |database: &Database| {
            let is_filled = match filling {
                Filling::DebitCredit(scale) => {
                    let go_on = |_, _| !os::linux::interrupted();
                    workload::load(&mut database.connect_with(session), scale, go_on)
                }
                Filling::OrderEntry(scale) => order_entry::load(database, scale, session),
            };
            match is_filled? {
                // What isn't where it was to be wasn't made.
                true => database.instance().check_directory(session),
                false => Err(Stop::refuse(RefusalKind::WrongState, "stopped")),
            }
        };
        let database =
            Database::create_filled(disk, self.directory.as_path(), &options, fill, session)?;
        let made = "the database was created, and is whole";
        database.shutdown_by(session).map_err(|stop| stop.saying(made))?;
        let text = format!("{}: {} rows\n", self.directory.display(), filling.rows());
        print(&text).map(|()| String::new()).map_err(|failure| failure.saying(made))
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

impl Run {
    fn carry_out(&self, disk: &Disk, session: &Session) -> Outcome {
        let alterations = self.alterations.read(Nanos::from_secs(self.seconds));
        let alterations = alterations.map_err(Failure::usage)?;
        let database = self.instanced.open(disk, session)?;
        let altering = alter::start(alterations, &database, session)?;
        let (mut marks, unheard) = (Vec::new(), Arc::new(Unheard::default()));
        let ran = self.work(&database, &unheard, &mut marks, session);
        let altered = altering.map(|altering| altering.end(session)).unwrap_or_default();
        let ended = database.shutdown_by(session);
        let ran = ran?;
        let text = match self.acknowledge {
            // What is printed there is read by the audit.
            true => altered.aside()?,
            false => altered.before(self.result(ran, &marks))?,
        };
        match (ended, unheard.failure()) {
            (Err(stop), _) => Err(Failure::from(stop).behind(text)),
            (_, Some(failure)) => Err(failure.behind(text)),
            _ if os::linux::interrupted() => Err(Failure::cut_short(text)),
            _ => Ok(text),
        }
    }

    /// How much was done, and where the time went.
    fn result(&self, ran: workload::Run, marks: &[Snapshot]) -> String {
        let processes = match marks {
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
        format!("{cut}{throughput:.1} transactions a second\n\n{profile}\n{worst}")
    }
}

impl Run {
    /// `marks` gets the background processes' accounts when the time that counts begins and ends.
    fn work(
        &self,
        database: &Database,
        unheard: &Arc<Unheard>,
        marks: &mut Vec<Snapshot>,
        session: &Session,
    ) -> Result<workload::Run, Stop> {
        let hears = Arc::clone(unheard);
        let print = move |session, number| hears.print_commit(session, number);
        let witness: Option<Witness> = self.acknowledge.then(|| Arc::new(print) as Witness);
        let told_to_stop = || os::linux::interrupted() || unheard.is_raised();
        let mark = |session: &Session| marks.push(Snapshot::take(session, SessionKind::Background));
        let (warm_up, length) = (Nanos::ZERO, Nanos::from_secs(self.seconds));
        if self.order_entry {
            let drive = Drive { sessions: self.sessions, first_session: 0, warm_up, length };
            let (seed, serializable) = (self.seed, self.serializable);
            let what = (OrderEntryPlan { drive, seed, serializable }, self.first_session);
            return order_entry::run(database, what, witness, (&told_to_stop, mark), session);
        }
        let (scale, first_session) = {
            let mut connection = database.connect_with(session);
            let scale = Tables::open(&mut connection)?.scale();
            let first_session = match self.first_session {
                Some(number) => {
                    let numbers = number..number.saturating_add(self.sessions);
                    let used = workload::used_session(&mut connection, numbers)?;
                    order_entry::refuse_used(used)?;
                    number
                }
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
        workload::run(database, (mixture, witness), &told_to_stop, mark, session)
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

/// Whether acknowledged commits could be printed.
#[derive(Default)]
struct Unheard {
    /// The first error of standard output, as the system numbers it.
    error: AtomicI32,
}

impl Unheard {
    /// One write, whole: who reads it may go on when we are gone. A reader that has gone away isn't
    /// told any more; a file that can't take the line is an error.
    fn print_commit(&self, session: u32, number: u64) {
        let line = format!("{session} {number}\n");
        match std::io::stdout().lock().write_all(line.as_bytes()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                self.error.store(error.raw_os_error().unwrap_or(0), Ordering::Relaxed);
            }
            _ => {}
        }
    }

    fn is_raised(&self) -> bool {
        self.error.load(Ordering::Relaxed) != 0
    }

    fn failure(&self) -> Option<Failure> {
        let error = std::io::Error::from_raw_os_error(self.error.load(Ordering::Relaxed));
        let failed = || os::Error::from_io("write to standard output", &error).into();
        self.is_raised().then(failed)
    }
}

impl Audit {
    fn carry_out(&self, disk: &Disk, session: &Session) -> Outcome {
        let read = |path| read_acknowledged(disk, path, session);
        let told = self.acknowledged.as_deref().map(read).transpose()?;
        let database = self.instanced.open(disk, session)?;
        let opened = database.instance().opened().clone();
        let sessions = told.as_deref().unwrap_or_default();
        let audited = match self.order_entry {
            true => order_entry::audit(&database, sessions, session)
                .map(|()| "all twelve conditions hold".to_string()),
            false => audit(&database, sessions, session),
        };
        let ended = database.shutdown_by(session);
        let found = audited?;
        ended?;
        let acknowledged: u64 = sessions.iter().map(|(_, told)| told).sum();
        let lost = match told {
            Some(_) => format!("none of {acknowledged} acknowledged commits is lost"),
            None => "nothing is said of commits, for --acknowledged isn't given".to_string(),
        };
        let recovered = &opened.recovered;
        Ok(format!(
            "{lost}\n{found}\nrecovery read {} redo records in {:.2} s ({:.2} s were estimated)\n\
             recovery rolled {} transactions back\n{}",
            recovered.records,
            recovered.elapsed.as_secs_f64(),
            opened.estimated_recovery.as_secs_f64(),
            opened.rolled_back,
            wrapped(&recovered.end.to_string(), "")
        ))
    }
}

/// Holds the debit-credit tables against themselves and what was acknowledged.
fn audit(database: &Database, told: &[(u32, u64)], session: &Session) -> Result<String, Stop> {
    let audit = workload::audit(&mut database.connect_with(session), told, true)?;
    let mut faults = audit.unbalanced;
    if audit.lost > 0 {
        let (lost, of) = (audit.lost, audit.acknowledged);
        faults.insert(0, format!("of {of} acknowledged commits {lost} are lost"));
    }
    if !audit.untold.is_empty() {
        faults.extend(audit.untold);
        faults.push(workload::CUT_SHORT.to_string());
    }
    match (faults.is_empty(), told.is_empty()) {
        (false, _) => Err(Stop::refuse(RefusalKind::Corrupt, faults.join("; "))),
        (true, true) => Ok("the books balance".to_string()),
        (true, false) => {
            Ok(format!("the books balance, and {} more commits are there", audit.unacknowledged))
        }
    }
}

impl Instanced {
    pub(crate) fn open(&self, disk: &Disk, session: &Session) -> Result<Database, Failure> {
        let mut options = Options::default();
        self.settings.apply(None, &mut options.parameters)?;
        let told = Cell::new(Nanos::ZERO);
        // Quiet if it is short; else a line now and then.
        let say = |progress: Progress| {
            if progress.elapsed.0 >= told.get().0 + TELL_EVERY.0 {
                told.set(progress.elapsed);
                tell(&progress.to_string());
            }
        };
        Ok(Database::open_telling(disk, &self.directory, &options, &say, session)?)
    }
}

/// How many commits each session was told of.
fn read_acknowledged(disk: &Disk, path: &Path, session: &Session) -> Result<Vec<(u32, u64)>, Stop> {
    let options = FileOptions { direct: false, write_through: false };
    let file =
        disk.open_read_only(path, options, session).map_err(|error| match error.cause() {
            os::Cause::NotAFile => {
                error.advise("write what comes from there to a file, and give that")
            }
            _ => error,
        })?;
    let length = file.length()?;
    if length > ACKNOWLEDGED_MAX {
        let message = format!(
            "{} has {length} bytes, and at most {ACKNOWLEDGED_MAX} are read; give what 'load run \
             --acknowledge' printed, of each session the last line at least",
            path.display()
        );
        return Err(Stop::refuse(RefusalKind::Invalid, message));
    }
    let length = length as usize;
    let mut text = IoBuf::zeroed(length.max(1));
    file.read_at(0, &mut text[..length], os::FileOperation::Read.waiting(session))?;
    let mut told: BTreeMap<u32, u64> = BTreeMap::new();
    let is_cut = !text[..length].ends_with(b"\n");
    let lines = text[..length].split(|byte| *byte == b'\n').count();
    for (line, number) in text[..length].split(|byte| *byte == b'\n').zip(1..) {
        let words = std::str::from_utf8(line).unwrap_or("?");
        let mut numbers = words.split_whitespace().map(str::parse::<u64>);
        match (numbers.next(), numbers.next(), numbers.next()) {
            (None, ..) => {}
            (Some(Ok(session)), Some(Ok(commit)), None)
                if session <= u64::from(u32::MAX) && commit <= i64::MAX as u64 =>
            {
                let most = told.entry(session as u32).or_default();
                *most = commit.max(*most);
            }
            _ if is_cut && number == lines => {
                let message = format!(
                    "line {number} of {} is its last and has no end: the file was cut short; give \
                     the whole file, or remove that line",
                    path.display()
                );
                return Err(Stop::refuse(RefusalKind::Invalid, message));
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
