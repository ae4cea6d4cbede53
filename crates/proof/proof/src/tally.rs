//! What sweeps have seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::tables::{CASCADED, SET_NULL, TABLES};
use crate::{Kind, Record, Sweep, client, define, load};

/// What was swept, and what happened on the way: a sweep in which something never happened proves
/// nothing about it.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Hashes of the images that were left.
    pub images: BTreeSet<u64>,
    /// Loads that ran.
    pub loads: u64,
    /// Power cuts, nested ones included.
    pub cuts: u64,
    /// Openings that ended with the oracle.
    pub openings: u64,
    /// Comparisons of what was found with a journal: the same image can be left at several moments.
    pub comparisons: u64,
    /// The deepest nesting of crashes.
    pub depth: u32,
    /// States that were opened under two schedules.
    pub opened_twice: u64,
    /// Openings after which the database was verified, shut.
    pub verified: u64,
    /// Openings in which every row was locked.
    pub locked: u64,
    /// Openings in which indexes were read backwards, and each row by its own key.
    pub closely: u64,
    /// Openings that rolled transactions back.
    pub rolled_back: u64,
    /// Openings that dropped segments which were being made or dropped.
    pub dropped: u64,
    /// Openings that repaired torn blocks.
    pub repaired: u64,
    /// Comparisons in which a transaction was in doubt: it was gone; it was there.
    pub in_doubt: [u64; 2],
    /// The same of a statement that defines something.
    pub statements_in_doubt: [u64; 2],
    /// Times that a commit which didn't wait was looked for.
    pub unawaited: u64,
    /// Statements about rows that were held against what survived.
    pub told: u64,
    /// What happened in the loads, and how often.
    pub happened: BTreeMap<&'static str, u64>,
    /// States of which a member of a redo log group was lost before they were opened.
    pub members_lost: u64,
    /// Loads on blocks of two sizes.
    pub two_sizes: u64,
    /// Loads with more than one redo write in flight.
    pub writes_in_flight: u64,
}

/// What is to happen in loads of either kind.
const WANTED: [&str; 24] = [
    CASCADED,
    SET_NULL,
    client::REFUSED,
    client::WENT_BACK,
    client::SERIALIZABLE,
    client::MANY,
    client::LOADED,
    client::REINSERTED,
    client::LOCKED,
    client::KEY_CHANGED,
    client::SPOKEN,
    client::OBSTRUCTED,
    define::DEFINED,
    define::TRUNCATED,
    define::FILE_ADDED,
    define::RENAMED,
    define::COLUMN_ALTERED,
    define::BROKEN_BY_ROWS,
    load::CHECKPOINTS,
    load::ALTERED,
    load::LOGS_CHANGED,
    load::LOG_SWITCHES,
    load::GROWN,
    load::INCREMENTAL,
];

/// What only large loads are sure to bring: short ones fill no log, and define too little.
const OF_LARGE: [&str; 4] =
    [load::LOG_SWITCHES, define::RENAMED, define::COLUMN_ALTERED, define::BROKEN_BY_ROWS];

impl Tally {
    /// Distinct crash states: by the hash of the surviving image.
    pub fn distinct(&self) -> usize {
        self.images.len()
    }

    /// A load has come to its end.
    pub(crate) fn load_ended(&mut self, sweep: &Sweep, record: &Record) {
        self.happen(&record.happened);
        self.loads += 1;
        self.two_sizes += u64::from(sweep.load.tables == TABLES.len());
        self.writes_in_flight += u64::from(sweep.shape.parameters.log_writes_in_flight > 1);
    }

    fn happen(&mut self, more: &BTreeMap<&'static str, u64>) {
        for (what, times) in more {
            *self.happened.entry(what).or_insert(0) += times;
        }
    }

    /// Takes in what another sweep has seen.
    pub fn add(&mut self, other: Tally) {
        self.happen(&other.happened);
        self.images.extend(other.images);
        self.depth = self.depth.max(other.depth);
        for at in 0..2 {
            self.in_doubt[at] += other.in_doubt[at];
            self.statements_in_doubt[at] += other.statements_in_doubt[at];
        }
        let pairs = [
            (&mut self.loads, other.loads),
            (&mut self.cuts, other.cuts),
            (&mut self.openings, other.openings),
            (&mut self.comparisons, other.comparisons),
            (&mut self.opened_twice, other.opened_twice),
            (&mut self.verified, other.verified),
            (&mut self.locked, other.locked),
            (&mut self.closely, other.closely),
            (&mut self.rolled_back, other.rolled_back),
            (&mut self.dropped, other.dropped),
            (&mut self.repaired, other.repaired),
            (&mut self.unawaited, other.unawaited),
            (&mut self.told, other.told),
            (&mut self.members_lost, other.members_lost),
            (&mut self.two_sizes, other.two_sizes),
            (&mut self.writes_in_flight, other.writes_in_flight),
        ];
        for (sum, more) in pairs {
            *sum += more;
        }
    }

    /// What should have happened at least once in sweeps of this kind and never did. Of two tallies
    /// together that is what both of them miss.
    pub fn missing(&self, kind: Kind) -> Vec<&'static str> {
        let wanted = [
            ("a state opened under two schedules", self.opened_twice),
            ("a state verified when it was shut", self.verified),
            ("a state of which every row was locked", self.locked),
            ("a state that was looked at closely", self.closely),
            ("a transaction rolled back by an opening", self.rolled_back),
            ("a segment dropped by an opening", self.dropped),
            ("a torn block repaired", self.repaired),
            ("a transaction in doubt that was there", self.in_doubt[1]),
            ("a transaction in doubt that was gone", self.in_doubt[0]),
            ("a definition in doubt that was there", self.statements_in_doubt[1]),
            ("a definition in doubt that was gone", self.statements_in_doubt[0]),
            ("a commit that didn't wait, looked for", self.unawaited),
            ("a read held against what survived", self.told),
            ("a member of a redo log group lost", self.members_lost),
            ("a load on blocks of two sizes", self.two_sizes),
            ("several redo writes in flight", self.writes_in_flight),
            ("crashes nested three deep", u64::from(self.depth >= 3)),
        ];
        let missing = wanted.into_iter().filter(|(_, times)| *times == 0).map(|(what, _)| what);
        let of_loads = WANTED
            .into_iter()
            .filter(|what| self.happened.get(what).is_none_or(|times| *times == 0));
        let of_loads = of_loads.filter(|what| kind == Kind::Large || !OF_LARGE.contains(what));
        missing.chain(of_loads).collect()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (distinct, depth) = (self.distinct(), self.depth);
        write!(
            f,
            "{distinct} distinct crash states from {} loads: {} power cuts, {} openings ({} of \
             them twice, {} verified when shut, {} with all rows locked, {} looked at closely, {} \
             with rollback, {} with repairs, {} with drops), {} comparisons with {} reads, in \
             doubt {} transactions there and {} gone ({} hadn't waited), {} definitions there and \
             {} gone, {} loads on two block sizes, {} states that lost a member of a redo log; \
             crashes nested up to {depth} deep; in the loads: ",
            self.loads,
            self.cuts,
            self.openings,
            self.opened_twice,
            self.verified,
            self.locked,
            self.closely,
            self.rolled_back,
            self.repaired,
            self.dropped,
            self.comparisons,
            self.told,
            self.in_doubt[1],
            self.in_doubt[0],
            self.unawaited,
            self.statements_in_doubt[1],
            self.statements_in_doubt[0],
            self.two_sizes,
            self.members_lost,
        )?;
        let told: Vec<_> =
            self.happened.iter().map(|(what, times)| format!("{what} {times}")).collect();
        f.write_str(&told.join(", "))
    }
}
