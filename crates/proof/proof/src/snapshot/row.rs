//! A key of the model: its versions, and changes that aren't committed.

/// What a transaction has made of a key: `None` if it has only locked it.
pub(super) type Change = (u64, Option<Option<Box<[u8]>>>);

/// A version: when it was committed, in which turn it was locked, and the row, if there is one.
#[derive(Clone, Debug)]
struct Version {
    scn: u64,
    turn: u64,
    row: Option<Box<[u8]>>,
}

#[derive(Clone, Debug)]
struct Pending {
    txn: u64,
    change: Change,
}

/// Everything known of a key.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    versions: Vec<Version>,
    pending: Vec<Pending>,
}

impl Row {
    /// The transaction locks the key and makes this of it, or leaves it as it is. What it had made
    /// of it before, if it had it locked.
    pub(super) fn change(
        &mut self,
        txn: u64,
        turn: u64,
        row: Option<Option<Box<[u8]>>>,
    ) -> Option<Change> {
        let Some(own) = self.pending.iter_mut().find(|pending| pending.txn == txn) else {
            self.pending.push(Pending { txn, change: (turn, row) });
            return None;
        };
        let before = own.change.clone();
        if row.is_some() {
            own.change.1 = row;
        }
        Some(before)
    }

    pub(super) fn restore(&mut self, txn: u64, before: Option<Change>) {
        match before {
            None => self.pending.retain(|pending| pending.txn != txn),
            Some(change) => {
                let own = self.pending.iter_mut().find(|pending| pending.txn == txn);
                own.expect("it had the key locked").change = change;
            }
        }
    }

    /// The transaction's change becomes a version. Says what is wrong if SCNs don't have the
    /// order of locks.
    pub(super) fn commit(&mut self, txn: u64, scn: u64) -> Result<(), String> {
        let Some(at) = self.pending.iter().position(|pending| pending.txn == txn) else {
            return Ok(());
        };
        let (turn, row) = self.pending.remove(at).change;
        let Some(row) = row else { return Ok(()) };
        let at = self.versions.partition_point(|version| version.scn < scn);
        let before = at.checked_sub(1).map(|before| &self.versions[before]);
        let after = self.versions.get(at);
        let is_wrong = before.is_some_and(|before| before.turn > turn)
            || after.is_some_and(|after| after.turn < turn || after.scn == scn);
        let said = is_wrong.then(|| {
            let scns: Vec<u64> = self.versions.iter().map(|version| version.scn).collect();
            format!("committed at {scn}, in another order than the key was locked: {scns:?}")
        });
        self.versions.insert(at, Version { scn, turn, row });
        said.map_or(Ok(()), Err)
    }

    pub(super) fn own(&self, txn: u64) -> Option<Option<&[u8]>> {
        let own = self.pending.iter().find(|pending| pending.txn == txn)?;
        own.change.1.as_ref().map(Option::as_deref)
    }

    pub(super) fn at(&self, snapshot: u64) -> Option<&[u8]> {
        let seen = self.versions.partition_point(|version| version.scn <= snapshot);
        self.versions[..seen].last()?.row.as_deref()
    }

    /// The last that locked it.
    pub(super) fn holder(&self) -> Option<u64> {
        self.pending.last().map(|pending| pending.txn)
    }

    pub(super) fn newest(&self) -> Option<u64> {
        self.versions.last().map(|version| version.scn)
    }

    /// Drops versions that no snapshot from here on sees.
    pub(super) fn forget_below(&mut self, below: u64) {
        let seen = self.versions.partition_point(|version| version.scn <= below);
        self.versions.drain(..seen.saturating_sub(1));
    }

    pub(super) fn forget_above(&mut self, above: u64) {
        self.versions.retain(|version| version.scn <= above);
    }

    /// Whether it has no row and never had one, for any snapshot from this one on.
    pub(super) fn is_nothing(&self, floor: u64) -> bool {
        let is_old = |version: &Version| version.row.is_none() && version.scn <= floor;
        self.pending.is_empty()
            && (self.versions.is_empty() || self.versions.len() == 1 && is_old(&self.versions[0]))
    }

    pub(super) fn kept(&self) -> usize {
        self.versions.len() + self.pending.len()
    }
}
