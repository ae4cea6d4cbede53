//! Which blocks are being filled: each by one inserter, so that no two meet in one (rule SP17).
//!
//! Known in memory only. Who fills a block has one end of a counted reference; with the last of it
//! the claim is over, and a restart ends them all. What the block has room for is known elsewhere,
//! on disk.
//!
//! Callers: `access`.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use ids::Dba;
use latch::{Latch, LatchKind};
use os::{Os, Session};

/// Claims that are over are swept away when there are so many, or twice as many as were left.
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

    /// Claims a block for who has the other end of `owner`; false if another has it.
    pub fn claim(&self, block: Dba, owner: &Arc<()>, session: &Session) -> bool {
        let mut claims = self.claims.exclusive(session);
        let is_free = claims.by.get(&block).is_none_or(|by| by.strong_count() == 0);
        if is_free {
            claims.add(block, owner);
        }
        is_free
    }

    /// Claims neighbouring blocks that were handed out just now: whoever had them had them in a
    /// former life.
    pub fn claim_new(&self, blocks: crate::Blocks, owner: &Arc<()>, session: &Session) {
        let mut claims = self.claims.exclusive(session);
        let (file, first) = (blocks.first.file.get(), blocks.first.block.get());
        for number in first..first + blocks.count {
            claims.add(Dba::new(file, number), owner);
        }
    }

    /// The block may be filled by others.
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
