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

use crate::row::{RowAddress, RowMut};
use crate::table::{Table, neighbours};

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
        let (mut reader, mut in_run, mut changed) = (cache.multiblock_reader(session), 0, 0);
        let run_max = self.run_max(session);
        // The segment's first block is its header.
        let blocks = self.data_blocks(session)?.split_off(1);
        for (place, block) in blocks.iter().copied().enumerate() {
            if !goes_on() {
                break;
            }
            if in_run == 0 {
                in_run = neighbours(&blocks[place..]).min(run_max);
                reader.read_run(block, in_run)?;
            }
            in_run -= 1;
            for slot in 0..self.rows_in(block, session)? {
                let address = RowAddress { block, slot };
                changed += u64::from(self.update(transaction, address, &mut change, session)?);
            }
        }
        Ok(changed)
    }
}
