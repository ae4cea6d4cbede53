//! Joins of two inputs that come in the order of their keys.
//!
//! ```text
//!   left   1  3  3  4        a left row below the right one has no match, and the other way round;
//!   right  2  3  3  3  5     right rows with one key are a group, kept for all left rows with it
//!             └─────┘
//!
//!   Seeking ──equal keys──▶ Pairing ──the left row is done──▶ Seeking
//!      │  ▲
//!      │  └─────────────────────────────────┐
//!      └──the group is done──▶ GroupAlone ──┘
//! ```
//!
//! Invariants
//!   * both inputs come in the order that the planner says, of the keys as they are compared
//!   * a group is kept in memory, and behind that in a spool, until a left row has another key
//!   * a NULL among the keys equals nothing
//!
//! Callers: plans. Source: PostgreSQL's merge join.

use std::cmp::Ordering;

use expression::{Joined, Nulls, RowOf, Rows};
use stop::Stop;
use value::{Direction, NullOrdering};

use crate::hash::KeyColumn;
use crate::source::{has_room, with_whole_batches};
use crate::store::Store;
use crate::{BATCH_ROWS_MAX, JoinKind, JoinPlan, KeyOrder, Source, WorkArea, World};

/// The rows in hand of one input.
#[derive(Default)]
struct Hand {
    rows: Rows,
    at: usize,
    /// Whether no more rows come behind those in hand.
    is_over: bool,
}

impl Hand {
    fn new(width: usize) -> Hand {
        Hand { rows: Rows::new(width), at: 0, is_over: false }
    }

    /// The current row; none behind the last of those in hand.
    fn row(&self) -> Option<RowOf<'_>> {
        (self.at < self.rows.len()).then(|| self.rows.row(self.at))
    }

    /// Whether the input has to be asked before the current row is known.
    fn is_dry(&self) -> bool {
        self.at == self.rows.len() && !self.is_over
    }

    fn refill<W: World, S: Source<W>>(&mut self, input: &mut S, world: &mut W) -> Result<(), Stop> {
        self.rows.clear();
        self.at = 0;
        self.is_over = !input.fetch(world, &mut self.rows)?;
        Ok(())
    }
}

/// What comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The current rows are compared.
    Seeking,
    /// The current left row is paired with the group.
    Pairing,
    /// Rows of the group that found no partner come.
    GroupAlone,
    Over,
}

/// What is joined, and how.
struct Shape {
    plan: JoinPlan,
    orders: Vec<KeyOrder>,
    left_keys: Vec<KeyColumn>,
    right_keys: Vec<KeyColumn>,
    widths: [usize; 2],
}

impl Shape {
    /// The order of the keys of two rows. NULLs are equal here.
    fn compare(
        &self,
        one: RowOf<'_>,
        keys: &[KeyColumn],
        other: RowOf<'_>,
        other_keys: &[KeyColumn],
    ) -> Ordering {
        for ((key, other_key), order) in keys.iter().zip(other_keys).zip(&self.orders) {
            let (a, b) = (key.of(one), other_key.of(other));
            let nulls_first = order.nulls == NullOrdering::First;
            let found = match (a.is_null(), b.is_null()) {
                (true, true) => Ordering::Equal,
                (true, false) if nulls_first => Ordering::Less,
                (false, true) if !nulls_first => Ordering::Less,
                (true, false) | (false, true) => Ordering::Greater,
                (false, false) => {
                    let found = a.compare(b).expect("the planner joins kinds that compare");
                    if order.direction == Direction::Descending { found.reverse() } else { found }
                }
            };
            if found.is_ne() {
                return found;
            }
        }
        Ordering::Equal
    }

    fn has_null(row: RowOf<'_>, keys: &[KeyColumn]) -> bool {
        keys.iter().any(|key| key.of(row).is_null())
    }

    /// Appends what comes for a left row without a match.
    fn left_alone(&self, row: RowOf<'_>, into: &mut Rows) {
        match self.plan.kind {
            JoinKind::Left | JoinKind::Full => into.push_joined(&row, &Nulls(self.widths[1])),
            JoinKind::Anti => into.push_row(&row),
            _ => {}
        }
    }

    /// Appends what comes for a right row without a match.
    fn right_alone(&self, row: RowOf<'_>, into: &mut Rows) {
        if self.plan.kind.pads_right() {
            into.push_joined(&Nulls(self.widths[0]), &row);
        }
    }
}

/// The rows of two inputs in the order of their keys whose keys are equal.
pub struct MergeJoin<L, R> {
    left: L,
    right: R,
    shape: Shape,
    lefts: Hand,
    rights: Hand,
    /// The right rows of the present key, and that key's first row; empty if there is none.
    group: Store,
    group_row: Rows,
    /// Whether each row of the group has found a partner, where that matters.
    marks: Vec<bool>,
    /// Whether the left row in hand has found one.
    is_matched: bool,
    phase: Phase,
}

impl<L, R> MergeJoin<L, R> {
    /// Joins `left` and `right`. Both come in the order of the plan's keys, each as its `orders`
    /// says.
    ///
    /// # Panics When there isn't an order for each key, or for NOT IN.
    pub fn new(left: L, right: R, plan: JoinPlan, orders: Vec<KeyOrder>) -> MergeJoin<L, R> {
        assert!(plan.kind != JoinKind::NotIn, "a merge join can't do NOT IN");
        assert_eq!(plan.keys.len(), orders.len(), "each key has its order");
        let [left_keys, right_keys] = KeyColumn::of_both(&plan.keys);
        MergeJoin {
            left,
            right,
            shape: Shape { plan, orders, left_keys, right_keys, widths: [0, 0] },
            lefts: Hand::default(),
            rights: Hand::default(),
            group: Store::new(0),
            group_row: Rows::new(0),
            marks: Vec::new(),
            is_matched: false,
            phase: Phase::Over,
        }
    }

    fn give_back<W: World>(&mut self, world: &W) {
        (self.lefts, self.rights) = (Hand::default(), Hand::default());
        (self.group_row, self.marks) = (Rows::new(0), Vec::new());
        self.group.close(world);
        self.phase = Phase::Over;
    }

    /// Compares rows until a pair is found, the batch is full, or an input has to be asked.
    fn seek<W: World>(&mut self, world: &W, into: &mut Rows, most: usize) -> Result<(), Stop> {
        while has_room(into, most) && !self.lefts.is_dry() {
            let left = self.lefts.row();
            if !self.group_row.is_empty() {
                let group = self.group_row.row(0);
                let (left_keys, right_keys) = (&self.shape.left_keys, &self.shape.right_keys);
                let is_of = |left| self.shape.compare(left, left_keys, group, right_keys).is_eq();
                let is_of_group = left.is_some_and(is_of);
                self.phase = if is_of_group { Phase::Pairing } else { Phase::GroupAlone };
                self.is_matched = false;
                self.group.rewind(world);
                return Ok(());
            }
            if self.rights.is_dry() {
                return Ok(());
            }
            let (left_keys, right_keys) = (&self.shape.left_keys, &self.shape.right_keys);
            match (left, self.rights.row()) {
                (None, None) => {
                    self.phase = Phase::Over;
                    return Ok(());
                }
                (None, Some(right)) => {
                    if !self.shape.plan.kind.pads_right() {
                        self.phase = Phase::Over;
                        return Ok(());
                    }
                    self.shape.right_alone(right, into);
                    self.rights.at += 1;
                }
                (Some(left), None) => {
                    self.shape.left_alone(left, into);
                    self.lefts.at += 1;
                }
                (Some(left), Some(right)) => {
                    match self.shape.compare(left, left_keys, right, right_keys) {
                        // Keys with NULLs are equal in their order and match nothing.
                        Ordering::Equal if !Shape::has_null(left, left_keys) => {
                            self.group_row.push_row(&right);
                            return Ok(());
                        }
                        Ordering::Less | Ordering::Equal => {
                            self.shape.left_alone(left, into);
                            self.lefts.at += 1;
                        }
                        Ordering::Greater => {
                            self.shape.right_alone(right, into);
                            self.rights.at += 1;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Keeps the right rows with the key that was found.
    fn collect<W: World>(&mut self, world: &mut W) -> Result<(), Stop>
    where
        R: Source<W>,
    {
        self.group.clear(world);
        let keys = &self.shape.right_keys;
        loop {
            world.check()?;
            while let Some(right) = self.rights.row()
                && self.shape.compare(right, keys, self.group_row.row(0), keys).is_eq()
            {
                self.group.append(&self.rights.rows, self.rights.at, world)?;
                self.rights.at += 1;
            }
            if !self.rights.is_dry() {
                break;
            }
            self.rights.refill(&mut self.right, world)?;
        }
        self.group.finish(world)?;
        self.marks.clear();
        if self.shape.plan.kind.pads_right() {
            let rows = usize::try_from(self.group.rows()).expect("a byte for each fits in memory");
            self.marks.resize(rows, false);
        }
        Ok(())
    }

    /// Pairs the current left row with rows of the group: at most a batch of them.
    fn pair<W: World>(&mut self, world: &W, into: &mut Rows, most: usize) -> Result<(), Stop> {
        let with = world.evaluation();
        let left = self.lefts.row().expect("it was compared");
        let Shape { plan, .. } = &self.shape;
        for _ in 0..BATCH_ROWS_MAX {
            if !has_room(into, most) || with.arena.is_large() {
                return Ok(());
            }
            let is_one_enough = matches!(plan.kind, JoinKind::Semi | JoinKind::Anti);
            if (is_one_enough && self.is_matched) || !self.group.advance(world)? {
                if !self.is_matched {
                    self.shape.left_alone(left, into);
                } else if plan.kind == JoinKind::Semi {
                    into.push_row(&left);
                }
                self.lefts.at += 1;
                self.phase = Phase::Seeking;
                return Ok(());
            }
            let right = self.group.row();
            if let Some(condition) = &plan.condition
                && condition.truth(&Joined::new(&left, &right), &with)? != Some(true)
            {
                continue;
            }
            self.is_matched = true;
            if plan.kind.gives_both() {
                into.push_joined(&left, &right);
            }
            if let Some(mark) = self.marks.get_mut(self.group.number() as usize) {
                *mark = true;
            }
        }
        Ok(())
    }

    /// Appends the rows of the group that found no partner: at most a batch is looked at.
    fn group_alone<W: World>(
        &mut self,
        world: &W,
        into: &mut Rows,
        most: usize,
    ) -> Result<(), Stop> {
        for _ in 0..BATCH_ROWS_MAX {
            if !has_room(into, most) {
                return Ok(());
            }
            if self.marks.is_empty() || !self.group.advance(world)? {
                self.group_row.clear();
                self.phase = Phase::Seeking;
                return Ok(());
            }
            if !self.marks[self.group.number() as usize] {
                self.shape.right_alone(self.group.row(), into);
            }
        }
        Ok(())
    }
}

impl<W: World, L: Source<W>, R: Source<W>> Source<W> for MergeJoin<L, R> {
    fn open(&mut self, world: &mut W) -> Result<(), Stop> {
        self.give_back(world);
        let widths = [self.left.width(), self.right.width()];
        self.shape.widths = widths;
        (self.lefts, self.rights) = (Hand::new(widths[0]), Hand::new(widths[1]));
        self.group_row = Rows::new(widths[1]);
        self.group.set_width(widths[1]);
        self.phase = Phase::Seeking;
        self.left.open(world)?;
        self.right.open(world)
    }

    fn fetch(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop> {
        let most = world.batch();
        while has_room(into, most) {
            world.check()?;
            match self.phase {
                Phase::Seeking if self.lefts.is_dry() => {
                    self.lefts.refill(&mut self.left, world)?
                }
                Phase::Seeking if self.group_row.is_empty() && self.rights.is_dry() => {
                    self.rights.refill(&mut self.right, world)?;
                }
                Phase::Seeking => {
                    let had_none = self.group_row.is_empty();
                    self.seek(world, into, most)?;
                    if had_none && !self.group_row.is_empty() {
                        with_whole_batches(world, |world| self.collect(world))?;
                    }
                }
                Phase::Pairing => {
                    world.reset_arena();
                    self.pair(world, into, most)?;
                }
                Phase::GroupAlone => self.group_alone(world, into, most)?,
                Phase::Over => {
                    self.give_back(world);
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn close(&mut self, world: &mut W) {
        self.give_back(world);
        self.left.close(world);
        self.right.close(world);
    }

    fn width(&self) -> usize {
        let right = if self.shape.plan.kind.gives_both() { self.right.width() } else { 0 };
        self.left.width() + right
    }

    fn work_area(&self) -> WorkArea {
        self.group.most()
    }
}
