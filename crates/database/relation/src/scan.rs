//! Scans that live between calls, and samples.
//!
//! ```text
//!   begin_scan ──▶ ScanState ──▶ scan_next, a block or a run of blocks in each call ──▶ false
//! ```
//!
//! Callers: SQL; statistics.

use access::{EachRow, HeapScan, RowAddress, Sampled};
use os::Session;
use stop::Stop;
use txn::View;
use value::{Misreads, RowView};

use crate::Relation;

/// A scan of all rows, between two calls. It borrows nothing, and has no pin and no latch (RL70).
#[derive(Debug)]
pub struct ScanState {
    view: View,
    /// The view that the next call takes instead: own changes behind that call may make it wrong.
    renewed: Option<View>,
    scan: HeapScan,
}

impl ScanState {
    /// Has the next call take the view of the same snapshot, as it is now. Without this the state
    /// sees the same rows, but copies each block that its own transaction has changed.
    ///
    /// # Panics
    /// When it is the view of another snapshot.
    pub fn renew(&mut self, view: View) {
        assert_eq!(view.scn, self.view.scn, "a scan has one snapshot");
        self.renewed = Some(view);
    }
}

impl Relation {
    /// Begins a scan of all rows that goes on from call to call. The caller keeps the view's
    /// snapshot in use until the scan has ended; if its transaction changes rows meanwhile, the
    /// view is that of a kept snapshot (rule txn/TX51). Nothing is read yet.
    pub fn begin_scan(&self, view: View, session: &Session) -> Result<ScanState, Stop> {
        self.check_view(view)?;
        self.check_there(session)?;
        let scan = self.heap().begin_scan();
        Ok(ScanState { view: view.for_later(), renewed: None, scan })
    }

    /// Visits the rows of the next block, under its latch if possible, or of the next run of a
    /// large table: so `visit` only computes. False if there was no block left. After a refusal,
    /// which has shown some rows, the scan is over.
    pub fn scan_next(
        &self,
        state: &mut ScanState,
        mut visit: impl FnMut(RowAddress, RowView<'_>),
        session: &Session,
    ) -> Result<bool, Stop> {
        let view = state.renewed.take().unwrap_or(state.view);
        self.check_view(view)?;
        let (mut damaged, misreads) = (Ok(()), Misreads::default());
        let mut visit = EachRow::new(|address, row: &[u8]| match self.row_for(row, &misreads) {
            Ok(row) => visit(address, row),
            Err(stop) => damaged = Err(stop),
        });
        let scanned = self.heap().scan_next(&mut state.scan, view, &mut visit, session);
        self.check_there(session)?;
        let goes_on = scanned?;
        damaged?;
        self.check_misreads(&misreads)?;
        Ok(goes_on)
    }

    /// Visits the rows of some blocks as the view sees them: of this share of all blocks, from 0 to
    /// 1, and of one at least, drawn by `seed`. `visit` only computes; rows of one block are alike
    /// often enough, and an address says which block a row has.
    pub fn sample_blocks(
        &self,
        view: View,
        share: f64,
        seed: u64,
        visit: &mut dyn FnMut(RowAddress, RowView<'_>),
        session: &Session,
    ) -> Result<Sampled, Stop> {
        self.check_view(view)?;
        let (mut damaged, misreads) = (Ok(()), Misreads::default());
        let mut visit = |address, row: &[u8]| match self.row_for(row, &misreads) {
            Ok(row) => visit(address, row),
            Err(stop) => damaged = Err(stop),
        };
        let sampled = self.heap().sample_blocks(view, share, seed, &mut visit, session);
        self.check_there(session)?;
        let sampled = sampled?;
        damaged?;
        self.check_misreads(&misreads)?;
        Ok(sampled)
    }
}
