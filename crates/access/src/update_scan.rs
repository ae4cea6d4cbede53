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
        let mut changed = 0;
        let mut visit = |block| {
            if !goes_on() {
                return Ok(false);
            }
            for slot in 0..self.rows_in(block, session)? {
                let address = RowAddress { block, slot };
                changed += u64::from(self.update(transaction, address, &mut change, session)?);
            }
            Ok(true)
        };
        let blocks = (&*self.spans(session)?, self.block_size(session));
        self.through_cache(blocks, &mut visit, session)?;
        Ok(changed)
    }
}
