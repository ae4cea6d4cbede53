//! LIMIT and OFFSET: some rows are left out in front, and then so many come.
//!
//! Invariants
//!   * no more rows are asked of the input than are needed for what is wanted now
//!   * when all wanted rows have come, the input isn't asked again
//!
//! Callers: plans; `top`, for how many rows a sort has to keep.

use expression::{Expression, Fault, NoRow, Rows};
use stop::{SqlState, Stop};
use value::Value;

use crate::source::with_batches;
use crate::{BATCH_ROWS_MAX, Cut, Source, WorkArea, World};

/// A cut, as it was read at the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CutRows {
    /// How many rows are left out.
    pub(crate) offset: u64,
    /// How many come then, at most.
    pub(crate) count: u64,
}

impl CutRows {
    /// Evaluates a cut.
    pub(crate) fn read<W: World>(cut: &Cut, world: &mut W) -> Result<CutRows, Stop> {
        world.reset_arena();
        let state = SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE;
        let count = number(cut.count.as_ref(), "LIMIT", state, world)?;
        let state = SqlState::INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE;
        let offset = number(cut.offset.as_ref(), "OFFSET", state, world)?;
        Ok(CutRows { offset: offset.unwrap_or(0), count: count.unwrap_or(u64::MAX) })
    }
}

fn number<W: World>(
    of: Option<&Expression>,
    what: &str,
    state: SqlState,
    world: &W,
) -> Result<Option<u64>, Stop> {
    let Some(expression) = of else { return Ok(None) };
    let with = world.evaluation();
    let refused = |why: &str| Err(Fault::new(state, format!("{what} must {why}")).into());
    match expression.evaluate(&NoRow, &with)? {
        Value::Null => Ok(None),
        Value::Int(number) => match u64::try_from(number) {
            Ok(number) => Ok(Some(number)),
            Err(_) => refused("not be negative"),
        },
        _ => refused("be a whole number"),
    }
}

/// Some of the input's rows, in its order.
#[derive(Debug)]
pub struct Limit<S> {
    input: S,
    cut: Cut,
    /// How many rows are to be left out yet, and how many are to come.
    left: CutRows,
    batch: Rows,
    /// Whether what the input takes counts as its own.
    is_one: bool,
}

impl<S> Limit<S> {
    /// The rows of `input` that `cut` leaves.
    pub fn new(input: S, cut: Cut) -> Limit<S> {
        let left = CutRows { offset: 0, count: 0 };
        Limit { input, cut, left, batch: Rows::new(0), is_one: false }
    }

    /// The same, as one source with its input: what that takes is its own. For a sort that keeps
    /// no more rows than the cut needs ([`crate::Sort::top`]).
    pub fn one_with(input: S, cut: Cut) -> Limit<S> {
        Limit { is_one: true, ..Limit::new(input, cut) }
    }

    /// Asks for a batch with rows that are left out in front, and leaves these out.
    fn skip<W: World>(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop>
    where
        S: Source<W>,
    {
        let wanted = self.left.offset.saturating_add(self.left.count.min(world.batch() as u64));
        let wanted = wanted.min(BATCH_ROWS_MAX as u64) as usize;
        let (input, batch) = (&mut self.input, &mut self.batch);
        batch.clear();
        let more = with_batches(wanted, world, |world| input.fetch(world, batch))?;
        let skipped = self.left.offset.min(batch.len() as u64);
        self.left.offset -= skipped;
        for row in skipped as usize..batch.len() {
            into.push_row(&batch.row(row));
        }
        Ok(more)
    }
}

impl<W: World, S: Source<W>> Source<W> for Limit<S> {
    fn open(&mut self, world: &mut W) -> Result<(), Stop> {
        self.left = CutRows::read(&self.cut, world)?;
        self.batch.set_width(self.input.width());
        if self.left.count > 0 { self.input.open(world) } else { Ok(()) }
    }

    fn fetch(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop> {
        let mut more = true;
        while more && into.is_empty() && self.left.count > 0 {
            world.check()?;
            more = if self.left.offset > 0 {
                self.skip(world, into)?
            } else {
                let wanted = self.left.count.min(world.batch() as u64) as usize;
                with_batches(wanted, world, |world| self.input.fetch(world, into))?
            };
        }
        let count = self.left.count.saturating_sub(into.len() as u64);
        self.left.count = if more { count } else { 0 };
        Ok(self.left.count > 0)
    }

    fn close(&mut self, world: &mut W) {
        self.left.count = 0;
        self.batch = Rows::new(0);
        self.input.close(world);
    }

    fn width(&self) -> usize {
        self.input.width()
    }

    fn work_area(&self) -> WorkArea {
        if self.is_one { self.input.work_area() } else { WorkArea::default() }
    }
}
