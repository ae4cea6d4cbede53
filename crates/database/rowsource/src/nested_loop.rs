//! Joins by a nested loop: for each left row the right input starts again.
//!
//! ```text
//!   left row ──▶ slots ──▶ right input: open, fetch … ──▶ pairs for which the condition is true
//! ```
//!
//! Invariants
//!   * the rows come in the order of the left input
//!   * where one match is enough, few right rows are asked for at first
//!
//! Callers: plans, for joins by an index, LATERAL, joins without equal keys, correlated subqueries.

use expression::{Joined, Nulls, Rows};
use stop::Stop;

use crate::source::{has_room, with_batches};
use crate::{BATCH_ROWS_MAX, JoinKind, LoopPlan, Source, World};

/// The rows in hand of one input.
#[derive(Debug, Default)]
struct Hand {
    rows: Rows,
    at: usize,
    is_over: bool,
}

impl Hand {
    fn begin(&mut self, width: usize) {
        if self.rows.width() == width {
            self.rows.clear();
        } else {
            self.rows.set_width(width);
        }
        (self.at, self.is_over) = (0, false);
    }
}

/// For each left row, the right rows that come when its values are in the slots.
#[derive(Debug)]
pub struct NestedLoop<L, R> {
    left: L,
    right: R,
    plan: LoopPlan,
    lefts: Hand,
    rights: Hand,
    /// Whether the right input was started for the current left row.
    is_begun: bool,
    /// Whether the left row needs no more right rows.
    is_done: bool,
    is_matched: bool,
    /// How many right rows the left row was compared with.
    looked: usize,
}

impl<L, R> NestedLoop<L, R> {
    /// Joins `left` and `right`, whose rows may depend on the slots that the plan sets.
    ///
    /// # Panics When the kind isn't Inner, Left, Semi or Anti.
    pub fn new(left: L, right: R, plan: LoopPlan) -> NestedLoop<L, R> {
        let kinds = [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti];
        assert!(kinds.contains(&plan.kind), "a nested loop can't do a join of {:?}", plan.kind);
        NestedLoop {
            left,
            right,
            plan,
            lefts: Hand { is_over: true, ..Hand::default() },
            rights: Hand::default(),
            is_begun: false,
            is_done: false,
            is_matched: false,
            looked: 0,
        }
    }

    fn is_one_enough(&self) -> bool {
        matches!(self.plan.kind, JoinKind::Semi | JoinKind::Anti)
    }

    /// Starts the right input for the current left row.
    fn begin<W: World>(&mut self, world: &mut W) -> Result<(), Stop>
    where
        R: Source<W>,
    {
        for from in &self.plan.slots {
            let value = self.lefts.rows.get(self.lefts.at, from.column).to_owned();
            world.set_slot(from.slot, value);
        }
        self.rights.begin(self.right.width());
        self.right.open(world)?;
        (self.is_begun, self.is_done, self.is_matched, self.looked) = (true, false, false, 0);
        Ok(())
    }

    /// Gets more right rows: few at first where one match is enough.
    fn next_rights<W: World>(&mut self, world: &mut W) -> Result<(), Stop>
    where
        R: Source<W>,
    {
        self.looked += self.rights.rows.len();
        let wanted = match self.is_one_enough() {
            true => (self.looked * 4).clamp(1, BATCH_ROWS_MAX),
            false => world.batch(),
        };
        self.rights.rows.clear();
        self.rights.at = 0;
        let (right, rows) = (&mut self.right, &mut self.rights.rows);
        self.rights.is_over = !with_batches(wanted, world, |world| right.fetch(world, rows))?;
        Ok(())
    }

    /// Compares the current left row with the right rows in hand.
    fn compare<W: World>(&mut self, world: &W, into: &mut Rows, most: usize) -> Result<(), Stop> {
        let with = world.evaluation();
        let left = self.lefts.rows.row(self.lefts.at);
        while self.rights.at < self.rights.rows.len()
            && has_room(into, most)
            && !with.arena.is_large()
        {
            let right = self.rights.rows.row(self.rights.at);
            self.rights.at += 1;
            let joined = Joined::new(&left, &right);
            let condition = self.plan.condition.as_ref();
            let truth = condition.map(|condition| condition.truth(&joined, &with)).transpose()?;
            if truth.is_some_and(|truth| truth != Some(true)) {
                continue;
            }
            self.is_matched = true;
            if self.is_one_enough() {
                self.is_done = true;
                return Ok(());
            }
            into.push_row(&joined);
        }
        Ok(())
    }

    /// Ends with a left row, and appends what comes for it alone.
    fn end(&mut self, right_width: usize, into: &mut Rows) {
        let left = self.lefts.rows.row(self.lefts.at);
        match self.plan.kind {
            JoinKind::Left if !self.is_matched => into.push_joined(&left, &Nulls(right_width)),
            JoinKind::Semi if self.is_matched => into.push_row(&left),
            JoinKind::Anti if !self.is_matched => into.push_row(&left),
            _ => {}
        }
        self.lefts.at += 1;
        self.is_begun = false;
    }
}

impl<W: World, L: Source<W>, R: Source<W>> Source<W> for NestedLoop<L, R> {
    fn open(&mut self, world: &mut W) -> Result<(), Stop> {
        self.lefts.begin(self.left.width());
        self.is_begun = false;
        self.left.open(world)
    }

    fn fetch(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop> {
        let most = world.batch();
        while has_room(into, most) {
            world.check()?;
            if self.lefts.at == self.lefts.rows.len() {
                if self.lefts.is_over {
                    return Ok(false);
                }
                self.lefts.rows.clear();
                self.lefts.at = 0;
                self.lefts.is_over = !self.left.fetch(world, &mut self.lefts.rows)?;
            } else if !self.is_begun {
                self.begin(world)?;
            } else if !self.is_done && self.rights.at < self.rights.rows.len() {
                world.reset_arena();
                self.compare(world, into, most)?;
            } else if !self.is_done && !self.rights.is_over {
                self.next_rights(world)?;
            } else {
                let right_width = self.right.width();
                self.end(right_width, into);
            }
        }
        Ok(true)
    }

    fn close(&mut self, world: &mut W) {
        (self.lefts, self.rights) = (Hand::default(), Hand::default());
        self.lefts.is_over = true;
        self.left.close(world);
        self.right.close(world);
    }

    fn width(&self) -> usize {
        let right = if self.plan.kind.gives_both() { self.right.width() } else { 0 };
        self.left.width() + right
    }
}
