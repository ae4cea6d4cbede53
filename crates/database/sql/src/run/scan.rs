//! All rows of a table, block by block.
//!
//! ```text
//!   block ─ under its latch: columns ─▶ pending rows ─ the filter ─▶ batch
//! ```
//!
//! Invariants
//!   * no expression runs under a latch: columns are copied out first (rule SQ42)
//!   * between calls it has a position, and no pin and no latch
//!
//! Callers: `build`.

use expression::{Expression, Rows};
use relation::ScanState;
use rowsource::{Source, World};
use stop::Stop;
use value::RowView;

use super::copy::Copier;
use super::machine::{Env, Running};
use super::pending::{Pending, has_room};
use crate::logical::ScanColumn;
use crate::plan::TableScan;

/// A batch with this many rows is worth the call.
const ROWS_ENOUGH: usize = 64;

/// Blocks are read together until they have this many rows, so that what is done once for a batch
/// isn't done for each block; or as many as a batch takes.
const ROWS_TOGETHER: usize = 256;

/// The rows of a table for which a filter is true.
pub(super) struct Scan {
    /// The table's place among those of the plan.
    table: usize,
    columns: Vec<ScanColumn>,
    filter: Option<Expression>,
    pending: Pending,
    /// None while it is closed, and behind the last block.
    state: Option<ScanState>,
    /// The call in which the state had its view.
    call: u64,
}

impl Scan {
    /// The scan of a plan.
    pub(super) fn new(scan: &TableScan) -> Scan {
        Scan {
            table: scan.table,
            columns: scan.columns.clone(),
            filter: scan.filter.clone(),
            pending: Pending::new(scan.columns.len()),
            state: None,
            call: 0,
        }
    }

    /// Reads the next blocks, or a run of blocks of a large table, for a batch of at most `most`
    /// rows.
    fn read(&mut self, most: usize, env: &Env<'_>) -> Result<(), Stop> {
        let Scan { columns, pending, state, .. } = self;
        let Some(scan) = state else { return Ok(()) };
        if self.call != env.call {
            scan.renew(env.view);
            self.call = env.call;
        }
        let relation = &env.relations[self.table];
        let mut copier = Copier::new(columns, pending.refill());
        let mut read = Ok(true);
        while matches!(read, Ok(true)) && copier.wants(most.min(ROWS_TOGETHER)) {
            let copy = |address, row: RowView<'_>| copier.copy(address, &row);
            read = relation.scan_next(scan, copy, env.host.session);
        }
        copier.end(&relation.definition().name)?;
        if !read? {
            *state = None;
        }
        Ok(())
    }
}

impl<'a> Source<Running<'a>> for Scan {
    fn open(&mut self, world: &mut Running<'a>) -> Result<(), Stop> {
        let env = world.env;
        self.pending.restart();
        let relation = &env.relations[self.table];
        self.state = Some(relation.begin_scan(env.view, env.host.session)?);
        self.call = env.call;
        Ok(())
    }

    fn fetch(&mut self, world: &mut Running<'a>, into: &mut Rows) -> Result<bool, Stop> {
        let most = world.batch();
        loop {
            world.check()?;
            self.pending.give(self.filter.as_ref(), most, into, world)?;
            if !has_room(into, most) {
                return Ok(true);
            }
            if self.state.is_none() {
                return Ok(false);
            }
            // What was found is given before another block is read, once it is worth the call.
            if into.len() >= most.min(ROWS_ENOUGH) {
                return Ok(true);
            }
            self.read(most, world.env)?;
            self.pending.reckon(world);
        }
    }

    fn close(&mut self, world: &mut Running<'a>) {
        self.state = None;
        self.pending.close(world);
    }

    fn width(&self) -> usize {
        self.columns.len()
    }
}
