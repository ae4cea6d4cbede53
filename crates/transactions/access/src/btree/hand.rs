//! The hand that goes around the leaves of an index and deletes empty ones that weren't noted
//! (BT14, BT32).
//!
//! ```text
//!   L ─▶ L ─▶ e ─▶ e ─▶ L ─▶ …      for each split: over empty leaves, which are deleted,
//!        ╰──────────────▶           to the second that stays; behind the last leaf it rests
//! ```
//!
//! Its position is a fence, as a cursor's is. It is kept in memory: after a restart it begins
//! again.
//!
//! Callers: `page_delete`, before a split; `index`, if the tablespace is full.

use cache::PinnedBlock;
use ids::Dba;
use os::Session;
use space::Hand;
use stop::{RefusalKind, Stop};

use super::content::{read_position, write_position};
use super::descent::Hint;
use super::node::Node;
use super::page_delete::{DELETES_MAX, PageDelete, PageDeleteResult, is_empty_leaf};
use super::position::{Position, Probe};

/// How far the hand goes.
struct Reach {
    /// Over how many leaves that stay.
    stays: u32,
    /// Over how many leaves that are deleted.
    deletes: u32,
}

/// For each split the hand passes two leaves that stay: so an index that grows by a leaf for each
/// split doesn't outrun it.
const FOR_SPLIT: Reach = Reach { stays: 2, deletes: DELETES_MAX };
const ALL: Reach = Reach { stays: u32::MAX, deletes: u32::MAX };

impl<'a> PageDelete<'a> {
    /// Moves the hand a little further, if it isn't at rest.
    pub(super) fn move_hand(&self, session: &'a Session) -> Result<(), Stop> {
        match self.splitter.space.emptied().hand(self.splitter.header, session) {
            Hand::Rests => Ok(()),
            hand => self.move_from(hand, FOR_SPLIT, session).map(drop),
        }
    }

    /// Looks at every leaf that can be empty: all that were noted, or all that the index has.
    /// Returns whether some were deleted.
    pub(super) fn once_around(&self, session: &'a Session) -> Result<bool, Stop> {
        let _held = session.hold_off();
        // A leaf that a rollback has emptied can be deleted once snapshots see the rollback, for
        // which no session has waited.
        self.splitter.transactions.see_rollbacks(session)?;
        let (emptied, header) = (self.splitter.space.emptied(), self.splitter.header);
        match emptied.hand(header, session) {
            Hand::Rests => self.delete_noted(emptied.count(header, session), session),
            _ => self.move_from(Hand::Begins, ALL, session),
        }
    }

    /// Moves the hand, and returns whether leaves were deleted. A leaf that can't be read doesn't
    /// stop the split of another, but the hand can't go on from it: so it rests.
    fn move_from(&self, hand: Hand, reach: Reach, session: &'a Session) -> Result<bool, Stop> {
        let mut deleted = 0;
        let moved = self.walk(hand.clone(), reach, &mut deleted, session);
        let hand = match moved {
            Ok(moved) => moved,
            Err(stop) if stop.refusal() == Some(RefusalKind::NoBuffer) => hand,
            Err(Stop::Refused(_)) => Hand::Rests,
            Err(halted) => return Err(halted),
        };
        self.splitter.space.emptied().set_hand(self.splitter.header, hand, session);
        Ok(deleted > 0)
    }

    /// Goes from leaf to leaf, deletes those that are empty, and counts them. Returns where the
    /// hand is then.
    fn walk(
        &self,
        mut hand: Hand,
        reach: Reach,
        deleted: &mut u32,
        session: &'a Session,
    ) -> Result<Hand, Stop> {
        let mut stayed = 0;
        while stayed < reach.stays && *deleted < reach.deletes {
            let (address, block) = self.leaf_at(&hand, session)?;
            let is_empty = is_empty_leaf(&Node(&block));
            hand = behind(&Node(&block));
            drop(block);
            let is_deleted = is_empty
                && matches!(self.delete_leaf(address, session)?, PageDeleteResult::Deleted(_));
            match is_deleted {
                true => *deleted += 1,
                false => stayed += 1,
            }
            if hand == Hand::Rests {
                break;
            }
        }
        Ok(hand)
    }

    /// The leaf in front of the hand.
    fn leaf_at(&self, hand: &Hand, session: &'a Session) -> Result<(Dba, PinnedBlock<'a>), Stop> {
        let tree = &self.splitter.tree;
        let (at, hint) = match hand {
            Hand::Before(leaf, low) => (read_position(low), Some(Hint::next(*leaf))),
            Hand::Begins | Hand::Rests => (Position::FIRST, None),
        };
        let reached = tree.reach(Probe::At(at), 0, hint, session)?;
        Ok((reached.address, reached.block))
    }
}

/// The position of the hand behind a leaf.
fn behind(leaf: &Node<'_>) -> Hand {
    let Some(right) = leaf.right() else { return Hand::Rests };
    let mut at = Vec::new();
    write_position(&mut at, right.low);
    Hand::Before(right.block, at)
}
