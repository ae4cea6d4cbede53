//! A change of every row of a table, in the order of the blocks: what an UPDATE without a WHERE
//! does.
//!
//! Blocks are read in runs as by a scan, and each row is changed as by [`Table::update`], so it may
//! wait for other transactions' rows.
//!
//! Callers: loads that change more than a cache holds.

use os::Session;
use stop::Stop;
use txn::Transaction;

use crate::Table;
use crate::row::{RowAddress, RowMut};
use crate::scan::after;

impl Table {
    /// Changes every row that is there when its block is met; how many there were. `goes_on` is
    /// asked before each block; where it says no, the rest stays as it is.
    pub fn update_every(
        &self,
        transaction: &mut Transaction,
        mut change: impl FnMut(&mut RowMut<'_>),
        goes_on: &dyn Fn() -> bool,
        session: &Session,
    ) -> Result<u64, Stop> {
        let cache = self.changes().cache();
        let (mut reader, mut changed) = (cache.multiblock_reader(session), 0);
        let run_max = cache.run_max(self.block_size(session), session);
        for span in self.spans(session)? {
            for at in 0..span.count {
                if !goes_on() {
                    return Ok(changed);
                }
                let block = after(span.first, at);
                if at % run_max == 0 {
                    reader.read_run(block, run_max.min(span.count - at))?;
                }
                for slot in 0..self.rows_in(block, session)? {
                    let address = RowAddress { block, slot };
                    changed +=
                        u64::from(self.update(transaction, address, &mut change, session)?);
                }
            }
        }
        Ok(changed)
    }
}
