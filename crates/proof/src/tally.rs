//! What sweeps have seen.

use std::collections::BTreeSet;
use std::fmt;

use crate::shape::TABLES;
use crate::{Kind, Record, Sweep};

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
    /// Openings that rolled transactions back.
    pub rolled_back: u64,
    /// Openings that dropped segments which were being made or dropped.
    pub dropped: u64,
    /// Openings that repaired torn blocks.
    pub repaired: u64,
    /// Comparisons in which a transaction was in doubt and there.
    pub doubt_there: u64,
    /// Comparisons in which one was in doubt and not there.
    pub doubt_gone: u64,
    /// Times that a commit which didn't wait was looked for.
    pub unawaited: u64,
    /// Statements about rows that were held against what survived.
    pub told: u64,
    /// Log switches in the loads.
    pub log_switches: u64,
    /// Blocks by which data files grew in the loads.
    pub grown: u64,
    /// Checkpoints in the loads that nobody asked for.
    pub incremental: u64,
    /// Parameters changed in the loads.
    pub altered: u64,
    /// Segments dropped in the loads.
    pub segments_dropped: u64,
    /// Redo log groups and members added and dropped in the loads, and switches asked for.
    pub logs_changed: u64,
    /// States of which a member of a redo log group was lost before they were opened.
    pub members_lost: u64,
    /// Loads on blocks of two sizes.
    pub two_sizes: u64,
    /// Loads with more than one redo write in flight.
    pub writes_in_flight: u64,
}

impl Tally {
    /// Distinct crash states: by the hash of the surviving image.
    pub fn distinct(&self) -> usize {
        self.images.len()
    }

    /// A load has come to its end.
    pub(crate) fn load_ended(&mut self, sweep: &Sweep, record: &Record) {
        let happened = record.happened;
        self.altered += record.altered;
        self.logs_changed += record.logs_changed;
        self.segments_dropped += record.segments_dropped;
        let parameters = &sweep.shape.parameters;
        self.loads += 1;
        self.log_switches += happened.log_switches;
        self.grown += happened.grown;
        self.incremental += happened.incremental;
        self.two_sizes += u64::from(sweep.load.tables == TABLES.len());
        self.writes_in_flight += u64::from(parameters.log_writes_in_flight > 1);
    }

    /// Takes in what another sweep has seen.
    pub fn add(&mut self, other: Tally) {
        self.images.extend(other.images);
        self.depth = self.depth.max(other.depth);
        let pairs = [
            (&mut self.loads, other.loads),
            (&mut self.cuts, other.cuts),
            (&mut self.openings, other.openings),
            (&mut self.comparisons, other.comparisons),
            (&mut self.opened_twice, other.opened_twice),
            (&mut self.verified, other.verified),
            (&mut self.rolled_back, other.rolled_back),
            (&mut self.dropped, other.dropped),
            (&mut self.segments_dropped, other.segments_dropped),
            (&mut self.repaired, other.repaired),
            (&mut self.doubt_there, other.doubt_there),
            (&mut self.doubt_gone, other.doubt_gone),
            (&mut self.unawaited, other.unawaited),
            (&mut self.told, other.told),
            (&mut self.log_switches, other.log_switches),
            (&mut self.grown, other.grown),
            (&mut self.altered, other.altered),
            (&mut self.logs_changed, other.logs_changed),
            (&mut self.members_lost, other.members_lost),
            (&mut self.incremental, other.incremental),
            (&mut self.two_sizes, other.two_sizes),
            (&mut self.writes_in_flight, other.writes_in_flight),
        ];
        for (sum, more) in pairs {
            *sum += more;
        }
    }

    /// What should have happened at least once in sweeps of this kind and never did.
    pub fn missing(&self, kind: Kind) -> Vec<&'static str> {
        let wanted = [
            ("a state opened under two schedules", self.opened_twice),
            ("a state verified when it was shut", self.verified),
            ("a transaction rolled back by an opening", self.rolled_back),
            ("a segment dropped by an opening", self.dropped),
            ("a segment dropped in a load", self.segments_dropped),
            ("a torn block repaired", self.repaired),
            ("a transaction in doubt that was there", self.doubt_there),
            ("a transaction in doubt that was gone", self.doubt_gone),
            ("a commit that didn't wait, looked for", self.unawaited),
            ("a read held against what survived", self.told),
            ("a log switch in a load", self.log_switches + u64::from(kind == Kind::Small)),
            ("a data file that grew in a load", self.grown),
            ("an incremental checkpoint in a load", self.incremental),
            ("a parameter changed in a load", self.altered),
            ("a redo log group changed in a load", self.logs_changed),
            ("a member of a redo log group lost", self.members_lost),
            ("a load on blocks of two sizes", self.two_sizes),
            ("several redo writes in flight", self.writes_in_flight),
            ("crashes nested three deep", u64::from(self.depth >= 3)),
        ];
        wanted.into_iter().filter(|(_, times)| *times == 0).map(|(what, _)| what).collect()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (distinct, depth) = (self.distinct(), self.depth);
        write!(
            f,
            "{distinct} distinct crash states from {} loads: {} power cuts, {} openings ({} of \
             them twice, {} verified when shut, {} with rollback, {} with repairs, {} with \
             drops), {} comparisons with {} reads, {} and {} in doubt there and gone ({} hadn't \
             waited), {} log switches, {} \
             incremental checkpoints, files grown by {} blocks, {} loads on two block sizes, {} \
             segments dropped, {} changes of redo logs, {} states that lost a member of one; \
             crashes nested up to {depth} deep",
            self.loads,
            self.cuts,
            self.openings,
            self.opened_twice,
            self.verified,
            self.rolled_back,
            self.repaired,
            self.dropped,
            self.comparisons,
            self.told,
            self.doubt_there,
            self.doubt_gone,
            self.unawaited,
            self.log_switches,
            self.incremental,
            self.grown,
            self.two_sizes,
            self.segments_dropped,
            self.logs_changed,
            self.members_lost,
        )
    }
}
