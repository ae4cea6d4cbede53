//! Which blocks are being filled, each by one inserter, so that no two meet in one (rule SP17).
//!
//! Claims are in memory only. An inserter holds one end of a counted reference: its claims end when
//! that is dropped, and all claims end with the process. What room a block has is known on disk.
//!
//! Callers: `access`.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use ids::Dba;
use latch::{Latch, LatchKind};
use os::{Os, Session};

/// Ended claims are removed when there are this many claims, or twice as many as were left.
const SWEPT_AT_LEAST: usize = 256;

/// The blocks that are being filled.
pub struct Filling {
    claims: Latch<Claims>,
}

struct Claims {
    by: BTreeMap<Dba, Weak<()>>,
    swept_at: usize,
}

impl Filling {
    pub(crate) fn new(os: &Os) -> Filling {
        let claims = Claims { by: BTreeMap::new(), swept_at: SWEPT_AT_LEAST };
        Filling { claims: Latch::new(os, LatchKind::Innermost, claims) }
    }

    /// Claims a block for the inserter that holds the other end of `owner`; false if another
    /// inserter has claimed it.
    pub fn claim(&self, block: Dba, owner: &Arc<()>, session: &Session) -> bool {
        let mut claims = self.claims.exclusive(session);
        let is_free = claims.by.get(&block).is_none_or(|by| by.strong_count() == 0);
        if is_free {
            claims.add(block, owner);
        }
        is_free
    }

    /// Claims neighbouring blocks that were just handed out. An older claim is of a former life of
    /// the block.
    pub fn claim_new(&self, blocks: crate::Blocks, owner: &Arc<()>, session: &Session) {
        let mut claims = self.claims.exclusive(session);
        let (file, first) = (blocks.first.file.get(), blocks.first.block.get());
        for number in first..first + blocks.count {
            claims.add(Dba::new(file, number), owner);
        }
    }

    /// Ends the claim of a block.
    pub fn release(&self, block: Dba, session: &Session) {
        self.claims.exclusive(session).by.remove(&block);
    }
}

impl Claims {
    fn add(&mut self, block: Dba, owner: &Arc<()>) {
        if self.by.len() >= self.swept_at {
            self.by.retain(|_, by| by.strong_count() > 0);
            self.swept_at = SWEPT_AT_LEAST.max(2 * self.by.len());
        }
        self.by.insert(block, Arc::downgrade(owner));
    }
}
