//! Plans by the texts of their statements, shared by all sessions.
//!
//! ```text
//!   text ─▶ plans of this text ─ same kinds of parameters, same methods, still holds? ─▶ plan
//!                                └─ no: the text is parsed, bound and planned, and kept here
//! ```
//!
//! Invariants
//!   * a plan is looked at again after the statement has its snapshot, so one that doesn't hold any
//!     more is never run (rule SQ30); one that a table has outgrown is made anew (rule SQ36)
//!   * parameters are not looked at: a text has one plan for all their values (rule SQ34)
//!   * no more than [`TEXTS_MAX`] texts are kept, none longer than [`TEXT_BYTES_MAX`], and for each
//!     plan its text counts up to [`BYTES_MAX`]; those that weren't used for longest go first
//!
//! Callers: `prepared`; `engine`, for views.
//! Source: Oracle's shared pool, with its parent and child cursors.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use catalog::Catalog;
use expression::Kind;
use latch::{Latch, LatchKind, Shared64};
use os::{Os, Session};
use rowsource::{Counts, Figures};
use syntax::{Binds, SqlId};
use waits::Nanos;

use crate::plan::{FramePlan, Methods, Plan, PlanLine, fingerprint, lines};
use crate::stack::with_stack;

/// The most texts whose plans are kept.
const TEXTS_MAX: usize = 2_000;

/// The longest text whose plan is kept, in bytes: a longer one has its rows in it, and doesn't come
/// again.
pub(crate) const TEXT_BYTES_MAX: usize = 64 << 10;

/// The most bytes of all plans, by [`Entry::bytes`].
const BYTES_MAX: usize = 16 << 20;

/// What a plan of a short text is taken to be.
const PLAN_BYTES: usize = 2 << 10;

/// A plan with its text.
pub(crate) struct Entry {
    text: Arc<str>,
    /// The name of the text.
    pub(crate) id: SqlId,
    /// The word for the statement, such as `SELECT`.
    pub(crate) tag: &'static str,
    /// Its parameters.
    pub(crate) binds: Binds,
    /// The kinds that were said of its parameters, before it was bound.
    said: Vec<Kind>,
    methods: Methods,
    pub(crate) plan: Arc<Plan>,
    pub(crate) counts: RunCounts,
    /// What its row sources did in the runs that were measured.
    measured: Latch<MeasuredRuns>,
    /// The time of its last use, by the cache's own clock.
    used: Shared64,
    /// How often it was looked for and found.
    found: Shared64,
    /// When it was made, by the wall clock.
    made_us: Shared64,
}

/// What a statement has done so far, in all sessions.
#[derive(Default)]
pub(crate) struct RunCounts {
    executions: Shared64,
    fetches: Shared64,
    ended: Shared64,
    rows: Shared64,
    gets: Shared64,
    reads: Shared64,
    elapsed_ns: Shared64,
    cpu_ns: Shared64,
    /// When it was run last, by the wall clock.
    last_us: Shared64,
}

/// What the row sources of a plan did in the runs that were measured.
#[derive(Clone, Default)]
struct MeasuredRuns {
    runs: u64,
    /// By the places of their nodes.
    figures: Vec<Figures>,
}

impl MeasuredRuns {
    fn add(&mut self, figures: &[Figures]) {
        self.runs += 1;
        if self.figures.len() < figures.len() {
            self.figures.resize(figures.len(), Figures::default());
        }
        for (all, one) in self.figures.iter_mut().zip(figures) {
            all.starts += one.starts;
            all.rows += one.rows;
            all.elapsed.0 += one.elapsed.0;
            all.counts.add(one.counts);
            all.memory_bytes_max = all.memory_bytes_max.max(one.memory_bytes_max);
            all.temp_bytes += one.temp_bytes;
        }
    }

    /// What the row source at this place did; none if no run was measured.
    fn of(&self, place: usize) -> Option<MeasuredOperation> {
        let figures = self.figures.get(place).copied().unwrap_or_default();
        let Counts { consistent_gets, current_gets, physical_reads } = figures.counts;
        (self.runs > 0).then_some(MeasuredOperation {
            runs: self.runs,
            starts: figures.starts,
            rows: figures.rows,
            consistent_gets,
            current_gets,
            physical_reads,
            temp_bytes: figures.temp_bytes,
            elapsed: figures.elapsed,
        })
    }
}

/// What runs of a statement, and fetches of its rows, have done.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Work {
    pub(crate) runs: u64,
    pub(crate) fetches: u64,
    /// The runs that have given all their rows.
    pub(crate) ended: u64,
    pub(crate) rows: u64,
    /// Consistent and current gets.
    pub(crate) gets: u64,
    /// Blocks read from disk.
    pub(crate) reads: u64,
    pub(crate) elapsed: Nanos,
    pub(crate) cpu: Nanos,
}

impl Work {
    /// This work and another together.
    pub(crate) fn plus(self, other: Work) -> Work {
        Work {
            runs: self.runs + other.runs,
            fetches: self.fetches + other.fetches,
            ended: self.ended + other.ended,
            rows: self.rows + other.rows,
            gets: self.gets + other.gets,
            reads: self.reads + other.reads,
            elapsed: Nanos(self.elapsed.0 + other.elapsed.0),
            cpu: Nanos(self.cpu.0 + other.cpu.0),
        }
    }
}

impl RunCounts {
    /// Counts what was done. Most runs do only a part of what is counted.
    pub(crate) fn add(&self, work: Work, session: &Session) {
        let Work { runs, fetches, ended, rows, gets, reads, elapsed, cpu } = work;
        let add = |count: &Shared64, more: u64| {
            if more > 0 {
                count.fetch_add(more, session);
            }
        };
        add(&self.executions, runs);
        add(&self.fetches, fetches);
        add(&self.ended, ended);
        add(&self.rows, rows);
        add(&self.gets, gets);
        add(&self.reads, reads);
        add(&self.elapsed_ns, elapsed.0);
        add(&self.cpu_ns, cpu.0);
        self.last_us.store(call_moment(session), session);
    }
}

/// The moment of the present call, by the wall clock: a statement that is planned and run in one
/// looks at that once.
fn call_moment(session: &Session) -> u64 {
    u64::try_from(session.call_moment()).unwrap_or(0)
}

/// What a plan is made for beside its text.
#[derive(Clone, Copy)]
pub(crate) struct Wish<'a> {
    pub(crate) said: &'a [Kind],
    pub(crate) methods: Methods,
}

impl Entry {
    /// A plan of this text.
    pub(crate) fn new(
        text: &str,
        tag: &'static str,
        binds: Binds,
        wish: Wish<'_>,
        plan: Arc<Plan>,
        os: &Os,
    ) -> Entry {
        Entry {
            text: Arc::from(text),
            id: SqlId::of(text),
            tag,
            binds,
            said: wish.said.to_vec(),
            methods: wish.methods,
            plan,
            counts: RunCounts::default(),
            measured: Latch::new(os, LatchKind::Innermost, MeasuredRuns::default()),
            used: Shared64::new(0),
            found: Shared64::new(0),
            made_us: Shared64::new(0),
        }
    }

    /// Its text.
    pub(crate) fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// A measure of the memory that it takes: a plan is large if its text is.
    fn bytes(&self) -> usize {
        PLAN_BYTES + self.text.len()
    }

    /// Keeps what the row sources did in a run, by the places of their nodes.
    pub(crate) fn add_figures(&self, figures: &[Figures], session: &Session) {
        self.measured.exclusive(session).add(figures);
    }

    /// Whether it is what is wished for.
    pub(crate) fn suits(&self, wish: Wish<'_>) -> bool {
        self.methods == wish.methods && self.said == wish.said
    }
}

/// The plans of an instance.
pub(crate) struct Plans {
    kept: Latch<Kept>,
    /// Goes up with each use.
    clock: Shared64,
}

/// Plans by the hashes of their texts: to compare texts of which many begin alike takes longer.
#[derive(Default)]
struct Kept {
    /// Those of one text stand in the order in which they were made, perhaps among others.
    texts: BTreeMap<u64, Vec<Arc<Entry>>>,
    /// The bytes of all of them.
    bytes: usize,
}

impl Kept {
    /// Puts a plan of a text with this hash in place of another one for the same wish. Whether
    /// there are too many now.
    fn put(&mut self, hash: u64, entry: &Arc<Entry>) -> bool {
        let wish = Wish { said: &entry.said, methods: entry.methods };
        let Kept { texts, bytes } = self;
        let of_hash = texts.entry(hash).or_default();
        of_hash.retain(|other| {
            let goes = other.text == entry.text && other.suits(wish);
            *bytes -= if goes { other.bytes() } else { 0 };
            !goes
        });
        of_hash.push(Arc::clone(entry));
        *bytes += entry.bytes();
        texts.len() > TEXTS_MAX || *bytes > BYTES_MAX
    }

    /// A plan of this text, which has this hash, that is what is wished for.
    fn get(&self, hash: u64, text: &str, wish: Wish<'_>) -> Option<&Arc<Entry>> {
        let of_hash = self.texts.get(&hash)?;
        of_hash.iter().find(|entry| *entry.text == *text && entry.suits(wish))
    }

    /// Forgets the plans of all texts with this hash.
    fn remove(&mut self, hash: u64) {
        let entries = self.texts.remove(&hash).unwrap_or_default();
        self.bytes -= entries.iter().map(|entry| entry.bytes()).sum::<usize>();
    }
}

/// The hash of a text: the same in each run.
fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}

impl Plans {
    pub(crate) fn new(os: &Os) -> Plans {
        let kept = Latch::new(os, LatchKind::Innermost, Kept::default());
        Plans { kept, clock: Shared64::new(0) }
    }

    /// The plan of a text, if there is one that holds by what is known now.
    pub(crate) fn find(
        &self,
        text: &str,
        wish: Wish<'_>,
        catalog: &Catalog,
        session: &Session,
    ) -> Option<Arc<Entry>> {
        // A longer text isn't there, and its hash takes its time.
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let hash = hash_of(text);
        let found = {
            let kept = self.kept.shared(session);
            Arc::clone(kept.get(hash, text, wish)?)
        };
        // The dictionary is asked without the latch.
        if !found.plan.basis.holds(catalog, session) {
            return None;
        }
        found.used.store(self.clock.fetch_add(1, session), session);
        found.found.fetch_add(1, session);
        Some(found)
    }

    /// Keeps a plan in place of another one for the same wish.
    pub(crate) fn keep(&self, entry: Entry, session: &Session) -> Arc<Entry> {
        entry.used.store(self.clock.fetch_add(1, session), session);
        entry.made_us.store(call_moment(session), session);
        let entry = Arc::new(entry);
        let hash = hash_of(&entry.text);
        let is_full = self.kept.exclusive(session).put(hash, &entry);
        if is_full {
            self.shrink(session);
        }
        entry
    }

    /// Forgets a tenth of the texts, those that weren't used for longest.
    #[cold]
    fn shrink(&self, session: &Session) {
        let entries: Vec<Arc<Entry>> = {
            let kept = self.kept.shared(session);
            kept.texts.values().flatten().cloned().collect()
        };
        // What was used longest ago is found out without the latch: it is a matter of speed only.
        let mut used: Vec<u64> = entries.iter().map(|entry| entry.used.load(session)).collect();
        if used.is_empty() {
            return;
        }
        let place = used.len() / 10;
        let bound = *used.select_nth_unstable(place).1;
        let old = entries.iter().filter(|entry| entry.used.load(session) <= bound);
        let old: Vec<u64> = old.map(|entry| hash_of(&entry.text)).collect();
        let mut kept = self.kept.exclusive(session);
        for hash in old {
            kept.remove(hash);
        }
    }

    /// Forgets all.
    pub(crate) fn forget(&self, session: &Session) {
        let kept = std::mem::take(&mut *self.kept.exclusive(session));
        drop(kept);
    }

    /// What is kept, in the order of the texts.
    pub(crate) fn views(&self, session: &Session) -> Vec<StatementView> {
        let mut entries: Vec<Arc<Entry>> = {
            let kept = self.kept.shared(session);
            kept.texts.values().flatten().cloned().collect()
        };
        // Those of one text stay in their order.
        entries.sort_by(|one, other| one.text.cmp(&other.text));
        let mut before: Option<Arc<str>> = None;
        let mut children = 0..0;
        let view = |entry: Arc<Entry>| {
            if before.as_ref() != Some(&entry.text) {
                (children, before) = (0..u32::MAX, Some(Arc::clone(&entry.text)));
            }
            let child = children.next().unwrap_or(u32::MAX);
            let of = |count: &Shared64| count.load(session);
            let counts = &entry.counts;
            let measured = MeasuredRuns::clone(&entry.measured.shared(session));
            StatementView {
                child,
                tag: entry.tag,
                plan_hash: with_stack(entry.plan.stack(), || fingerprint(&entry.plan.frame)),
                executions: of(&counts.executions),
                fetches: of(&counts.fetches),
                ended: of(&counts.ended),
                rows: of(&counts.rows),
                gets: of(&counts.gets),
                reads: of(&counts.reads),
                elapsed: Nanos(of(&counts.elapsed_ns)),
                cpu: Nanos(of(&counts.cpu_ns)),
                parse_calls: of(&entry.found) + 1,
                first_load_us: of(&entry.made_us),
                last_active_us: of(&counts.last_us).max(of(&entry.made_us)),
                measured,
                entry,
            }
        };
        entries.into_iter().map(view).collect()
    }
}

/// A statement whose plan is kept, for views into the instance.
#[derive(Clone)]
pub struct StatementView {
    entry: Arc<Entry>,
    measured: MeasuredRuns,
    /// The number of this plan among those of the same text.
    pub child: u32,
    /// The word for it, such as `SELECT`.
    pub tag: &'static str,
    /// `plan_hash_value`: plans that do the same have the same.
    pub plan_hash: u32,
    /// How often it was run.
    pub executions: u64,
    /// How often rows were asked for after its first ones.
    pub fetches: u64,
    /// How many of its runs have given all their rows.
    pub ended: u64,
    /// How many rows it gave or changed.
    pub rows: u64,
    /// Its consistent and current gets.
    pub gets: u64,
    /// The blocks that it read from disk.
    pub reads: u64,
    /// How long it took.
    pub elapsed: Nanos,
    /// The part of that on a CPU. Of short runs it is a sample.
    pub cpu: Nanos,
    /// How often it was planned, or its plan was found by its text.
    pub parse_calls: u64,
    /// When it came into memory: microseconds since 1970-01-01 00:00 UTC.
    pub first_load_us: u64,
    /// The moment of the call that has counted runs of it last, in the same way.
    pub last_active_us: u64,
}

impl StatementView {
    /// Its text.
    pub fn text(&self) -> &str {
        &self.entry.text
    }

    /// Its name.
    pub fn id(&self) -> SqlId {
        self.entry.id
    }

    /// The operations of its plan, each before those that feed it.
    pub fn operations(&self) -> Vec<OperationView> {
        let plan = &self.entry.plan;
        with_stack(plan.stack(), || operations(&plan.frame, &self.measured))
    }
}

/// An operation of a plan, for views into the instance.
#[derive(Clone, PartialEq, Debug)]
pub struct OperationView {
    /// How many operations are above it.
    pub depth: u32,
    /// What it does, such as `Hash join`.
    pub operation: String,
    /// What it reads: a table, and the index by which it does.
    pub object: Option<String>,
    /// The rows that it was thought to give.
    pub rows: f64,
    /// What it was thought to cost: microseconds.
    pub cost: f64,
    /// How it finds rows.
    pub access: Option<String>,
    /// By what it drops rows.
    pub filter: Option<String>,
    /// What it did in the runs that were measured; none if none was, and of a heading.
    pub measured: Option<MeasuredOperation>,
}

/// What an operation did in the runs that were measured. Gets, reads and time are those of the
/// operations below too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeasuredOperation {
    /// The runs that were measured.
    pub runs: u64,
    /// How often it was started.
    pub starts: u64,
    /// The rows that it gave.
    pub rows: u64,
    /// Consistent gets.
    pub consistent_gets: u64,
    /// Current gets.
    pub current_gets: u64,
    /// Blocks read from disk.
    pub physical_reads: u64,
    /// The bytes that it wrote to temporary files itself.
    pub temp_bytes: u64,
    /// The time in it.
    pub elapsed: Nanos,
}

fn operations(plan: &FramePlan, measured: &MeasuredRuns) -> Vec<OperationView> {
    let detail = |line: &PlanLine, wanted: &[&str]| {
        line.details.iter().find(|one| wanted.contains(&one.about)).map(|one| one.text.clone())
    };
    let operation = |line: PlanLine| OperationView {
        access: detail(&line, &["Search", "On"]),
        filter: detail(&line, &["Filter", "Condition"]),
        measured: line.place.and_then(|place| measured.of(place)),
        depth: u32::try_from(line.depth).unwrap_or(u32::MAX),
        rows: line.estimate.map_or(0.0, |estimate| estimate.rows),
        cost: line.estimate.map_or(0.0, |estimate| estimate.all),
        operation: line.operation,
        object: line.object,
    };
    lines(plan).into_iter().map(operation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;

    /// Such texts are rare, and a plan of another text would give other rows.
    #[test]
    fn texts_with_one_hash_have_plans_of_their_own() {
        let (os, world) = (os::linux::start(), World::new());
        let wish = Wish { said: &[], methods: Methods::default() };
        let entry = |text: &str| {
            let plan = Arc::new(world.plan(text));
            Arc::new(Entry::new(text, "SELECT", Binds::default(), wish, plan, &os))
        };
        let (one, other) = ("select id from emp", "select name from dept");
        let [first, second, newer] = [one, other, one].map(entry);
        let mut kept = Kept::default();
        assert!(!kept.put(7, &first) && !kept.put(7, &second));
        let is = |kept: &Kept, text: &str, wanted: &Arc<Entry>| {
            kept.get(7, text, wish).is_some_and(|entry| Arc::ptr_eq(entry, wanted))
        };
        assert!(is(&kept, one, &first) && is(&kept, other, &second));
        assert!(kept.get(7, "select id from dept", wish).is_none(), "it was never planned");
        assert!(kept.get(8, one, wish).is_none(), "another hash is another text's");
        // A new plan of the one leaves that of the other.
        assert!(!kept.put(7, &newer));
        assert!(is(&kept, one, &newer) && is(&kept, other, &second));
        assert_eq!(kept.bytes, newer.bytes() + second.bytes());
        kept.remove(7);
        assert!(kept.get(7, one, wish).is_none() && kept.get(7, other, wish).is_none());
        assert_eq!(kept.bytes, 0);
    }
}
