//! `forebay load run`: sessions work on the tables for a time.

use std::cell::RefCell;
use std::sync::Arc;

use clap::Args;
use database::Database;
use os::{Disk, Session};
use report::Snapshot;
use stop::{RefusalKind, Stop};
use waits::{Nanos, SessionKind, Statistic};
use workload::order_entry::{self, Plan as OrderEntryPlan};
use workload::{Drive, Mixture, Tables, Watch, Witness};

use super::acknowledged::CommitPrinter;
use super::alter::{self, Alterations};
use super::result::LoadResult;
use crate::number::within;
use crate::opening::Opening;
use crate::output::{CommandResult, Failure, tell};
use crate::progress::Progress;
use crate::recover;

/// The highest number of a first session. Those that follow have numbers too, and the tables of
/// order entry have an INTEGER for them.
const SESSION_NUMBER_MAX: u32 = 2_000_000_000;

#[derive(Args)]
pub(crate) struct Run {
    #[command(flatten)]
    opening: Opening,
    /// Order entry, of which the tables are there.
    #[arg(long)]
    order_entry: bool,
    /// How many of a hundred transactions of order entry run at serializable.
    #[arg(long, value_name = "PERCENT", default_value_t = 0, requires = "order_entry")]
    #[arg(value_parser = within(0..=100_u32), allow_negative_numbers = true)]
    serializable: u32,
    /// Sessions at once.
    #[arg(long, default_value_t = 8)]
    #[arg(value_parser = within(1..=4_096_u32), allow_negative_numbers = true)]
    sessions: u32,
    /// For how many seconds.
    #[arg(long, default_value_t = 10)]
    #[arg(value_parser = within(1..=86_400_u64), allow_negative_numbers = true)]
    seconds: u64,
    /// Transactions that arrive a second, whether or not the database keeps up: latencies count
    /// from the arrival. If not given, each session begins the next one when the last has ended.
    #[arg(long, value_name = "N")]
    #[arg(value_parser = within(lab::RATES), allow_negative_numbers = true)]
    rate: Option<u32>,
    /// Decides which rows sessions meet.
    #[arg(long, default_value_t = 1)]
    #[arg(value_parser = within(0..=u64::MAX), allow_negative_numbers = true)]
    seed: u64,
    /// The number of the first session; without it, the next that no earlier load has used.
    #[arg(long, value_name = "NUMBER")]
    #[arg(value_parser = within(0..=SESSION_NUMBER_MAX), allow_negative_numbers = true)]
    first_session: Option<u32>,
    /// Prints "SESSION NUMBER" for each commit, as soon as it is acknowledged; the result goes to
    /// standard error.
    #[arg(long)]
    acknowledge: bool,
    /// Prints JSON, for programs; docs/JSON.md lists the keys.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    alterations: Alterations,
}

impl Run {
    pub(super) fn carry_out(&self, disk: &Disk, session: &Session) -> CommandResult {
        let alterations = self.alterations.read(Nanos::from_secs(self.seconds));
        let alterations = alterations.map_err(Failure::usage)?;
        let database = self.opening.open(disk, session)?;
        recover::tell_if_recovered(database.instance().opened());
        let altering = alter::start(alterations, &database, session)?;
        let (mut marks, printer) = (Vec::new(), Arc::new(CommitPrinter::default()));
        let mut failure = None;
        let ran = self.work(&database, &printer, &mut marks, &mut failure, session);
        let altered = altering.map(|altering| altering.end(session)).unwrap_or_default();
        let ended = database.shutdown_by(session);
        let refused = altered.failure();
        let is_cut_short = os::linux::interrupted() || printer.has_failed();
        let wanted = Nanos::from_secs(self.seconds);
        let result = LoadResult::new(ran?, &marks, wanted, is_cut_short, altered);
        let text = if self.json { result.json() } else { result.text() };
        let text = match self.acknowledge {
            // Standard output is read by the audit.
            true => {
                tell(text.trim_end());
                String::new()
            }
            false => text,
        };
        if let Some(stop) = failure {
            return Err(Failure::from(stop).behind(text));
        }
        match (refused, ended, printer.failure()) {
            (Some(refused), ..) => Err(refused.behind(text)),
            (_, Err(stop), _) => Err(Failure::from(stop).behind(text)),
            (.., Some(failure)) => Err(failure.behind(text)),
            _ if os::linux::interrupted() => Err(Failure::cut_short(text)),
            _ => Ok(text),
        }
    }

    /// `marks` gets the background processes' accounts when the time that counts begins and ends,
    /// `failure` the first failure of a session.
    fn work(
        &self,
        database: &Database,
        printer: &Arc<CommitPrinter>,
        marks: &mut Vec<Snapshot>,
        failure: &mut Option<Stop>,
        session: &Session,
    ) -> Result<workload::Run, Stop> {
        let prints = Arc::clone(printer);
        let print = move |session, number| prints.print(session, number);
        let witness: Option<Witness> = self.acknowledge.then(|| Arc::new(print) as Witness);
        let first_session = self.first_session(database, session)?;
        let shown = RefCell::new(Shown::new(self.seconds, session));
        let told_to_stop = || {
            shown.borrow_mut().show(session);
            os::linux::interrupted() || printer.has_failed()
        };
        let mut mark =
            |session: &Session| marks.push(Snapshot::take(session, SessionKind::Background));
        let watch = Watch {
            witness,
            told_to_stop: Some(&told_to_stop),
            at_bound: Some(&mut mark),
            failure: Some(failure),
            ..Watch::default()
        };
        let (warm_up, length) = (Nanos::ZERO, Nanos::from_secs(self.seconds));
        let (seed, sessions, rate) = (self.seed, self.sessions, self.rate);
        let ran = if self.order_entry {
            let drive = Drive { sessions, first_session, warm_up, length, rate };
            let plan = OrderEntryPlan { drive, seed, serializable: self.serializable };
            order_entry::run(database, plan, watch, session)
        } else {
            let scale = Tables::open(&mut database.connect_with(session))?.scale();
            let mixture = Mixture {
                seed,
                sessions,
                first_session,
                mass_update_every: 50,
                mass_update_rows: 200.min(scale.stock / 4),
                warm_up,
                length,
                rate,
            };
            workload::run(database, mixture, watch, session)
        };
        shown.borrow_mut().progress.end();
        ran
    }

    /// The number that was chosen, if no earlier load has used it or one that follows; else the
    /// next that none has used.
    fn first_session(&self, database: &Database, session: &Session) -> Result<u32, Stop> {
        let mut connection = database.connect_with(session);
        let Some(number) = self.first_session else {
            return match self.order_entry {
                true => order_entry::next_session(&mut connection),
                false => workload::next_session(&mut connection),
            };
        };
        let numbers = number..number.saturating_add(self.sessions);
        let used = match self.order_entry {
            true => order_entry::used_session(&mut connection, numbers)?,
            false => workload::used_session(&mut connection, numbers)?,
        };
        let Some(used) = used else { return Ok(number) };
        let message = format!(
            "session {used} has worked in an earlier load, and an audit couldn't tell the commits \
             of both apart; leave --first-session out, or give a larger number"
        );
        Err(Stop::refuse(RefusalKind::Invalid, message))
    }
}

/// What a person who waits is shown of a load.
struct Shown {
    progress: Progress,
    seconds: u64,
    began: waits::Timestamp,
    /// Commits of this process before the load.
    before: u64,
}

impl Shown {
    fn new(seconds: u64, session: &Session) -> Shown {
        let before = commits(session);
        Shown { progress: Progress::new(), seconds, began: session.now(), before }
    }

    fn show(&mut self, session: &Session) {
        let (seconds, began, before) = (self.seconds, self.began, self.before);
        let line = || {
            let elapsed = session.now().since(began).as_secs_f64();
            let done = commits(session).saturating_sub(before);
            let rate = done as f64 / elapsed.max(1e-3);
            format!("{elapsed:.0} of {seconds} s, {done} transactions, {rate:.0} a second")
        };
        self.progress.show(line, session);
    }
}

/// Commits of all sessions of this process.
fn commits(session: &Session) -> u64 {
    session.os().totals().statistic(Statistic::UserCommits)
}
