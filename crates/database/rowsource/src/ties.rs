//! FETCH FIRST n ROWS WITH TIES: the first rows of an order, and those behind them that are equal
//! to the last of them in it.
//!
//! Invariants
//!   * the input is in that order, so what is equal to a row follows it
//!   * when a row has come that isn't equal to the last one, the input isn't asked again
//!
//! Callers: plans.

use expression::Rows;
use stop::Stop;

use crate::hash::group_equal;
use crate::limit::CutRows;
use crate::source::with_batches;
use crate::{Cut, Source, World};

/// The first of the input's rows, and those that are equal to the last of them.
#[derive(Debug)]
pub struct Ties<S> {
    input: S,
    cut: Cut,
    /// The columns that are compared.
    columns: Vec<usize>,
    /// How many rows are to be left out yet, and how many are to come whatever is in them.
    left: CutRows,
    /// What the last of the first rows has in the columns; no row before that has come.
    last: Rows,
    batch: Rows,
    is_over: bool,
}

impl<S> Ties<S> {
    /// The rows of `input` that `cut` leaves, and those behind them that are equal to the last of
    /// them in these columns, by which the input is in order.
    pub fn new(input: S, cut: Cut, columns: Vec<usize>) -> Ties<S> {
        let (left, last) = (CutRows { offset: 0, count: 0 }, Rows::new(columns.len()));
        Ties { input, cut, columns, left, last, batch: Rows::new(0), is_over: true }
    }

    /// Takes rows of the batch, until one comes that isn't wanted.
    fn take(&mut self, into: &mut Rows) {
        for row in self.batch.iter() {
            if self.left.offset > 0 {
                self.left.offset -= 1;
            } else if self.left.count > 0 {
                self.left.count -= 1;
                into.push_row(&row);
                if self.left.count == 0 {
                    self.last.push(self.columns.iter().map(|column| row.get(*column)));
                }
            } else if group_equal(row, &self.columns, self.last.row(0)) {
                into.push_row(&row);
            } else {
                self.is_over = true;
                return;
            }
        }
    }
}

impl<W: World, S: Source<W>> Source<W> for Ties<S> {
    fn open(&mut self, world: &mut W) -> Result<(), Stop> {
        self.left = CutRows::read(&self.cut, world)?;
        self.batch.set_width(self.input.width());
        self.last.clear();
        self.is_over = self.left.count == 0;
        if self.is_over { Ok(()) } else { self.input.open(world) }
    }

    fn fetch(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop> {
        while into.is_empty() && !self.is_over {
            world.check()?;
            let most = world.batch() as u64;
            let wanted = match self.left.count {
                0 => most,
                // One more shows whether there are ties.
                count => self.left.offset.saturating_add(count).saturating_add(1).min(most),
            };
            let (input, batch) = (&mut self.input, &mut self.batch);
            batch.clear();
            let more = with_batches(wanted as usize, world, |world| input.fetch(world, batch))?;
            self.take(into);
            self.is_over |= !more;
        }
        Ok(!self.is_over)
    }

    fn close(&mut self, world: &mut W) {
        self.is_over = true;
        (self.batch, self.last) = (Rows::new(0), Rows::new(self.columns.len()));
        self.input.close(world);
    }

    fn width(&self) -> usize {
        self.input.width()
    }
}
