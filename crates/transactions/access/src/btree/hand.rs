//! A hand that goes around the leaves of an index, for empty ones that nobody has noted (BT14).
//!
//! ```text
//!   L ─▶ L ─▶ e ─▶ e ─▶ L ─▶ …      for each split: over leaves that are empty, and go,
//!        ╰──────────────▶           to the second that stays; and rests behind the last
//! ```
//!
//! Its place is a fence, as a cursor's is. It is kept in memory: so after a restart it begins.
//!
//! Callers: `page_delete`, before a split; `index`, where the tablespace is full.

use cache::PinnedBlock;
use ids::Dba;
use os::Session;
use space::Hand;
use stop::{RefusalKind, Stop};

use super::content::{read_position, write_position};
use super::node::Node;
use super::page_delete::{AROUND_MAX, PageDelete, Tried, has_nothing};
use super::position::{Position, Probe};

/// How far the hand goes: over so many leaves that stay, and so many that go.
type Steps = (u32, u32);

/// For each split: an index that grows by a leaf for each doesn't outrun it.
const STEPS: Steps = (2, AROUND_MAX);
const ALL: Steps = (u32::MAX, u32::MAX);

impl<'a> PageDelete<'a> {
    /// The hand goes a little further, if it isn't at rest.
    pub(super) fn move_hand(&self, session: &'a Session) -> Result<(), Stop> {
        match self.splitter.space.emptied().hand(self.splitter.header, session) {
            Hand::Rests => Ok(()),
            hand => self.move_from(hand, STEPS, session).map(drop),
        }
    }

    /// Looks for empty leaves as far as there can be any: all that were noted, or all that the
    /// index has. Whether some were taken out.
    pub(super) fn once_around(&self, session: &'a Session) -> Result<bool, Stop> {
        // What a rollback has emptied goes when that is seen, for which nobody has waited.
        self.splitter.transactions.see_rollbacks(session)?;
        let (emptied, header) = (self.splitter.space.emptied(), self.splitter.header);
        match emptied.hand(header, session) {
            Hand::Rests => self.noted(emptied.count(header, session), session),
            _ => self.move_from(Hand::Begins, ALL, session),
        }
    }

    /// Whether leaves were taken out. What is wrong with a leaf is no business of who wants to
    /// split another; there is no way on from it, so the hand rests.
    fn move_from(&self, hand: Hand, steps: Steps, session: &'a Session) -> Result<bool, Stop> {
        let mut gone = 0;
        let moved = self.walk(hand.clone(), (steps, &mut gone), session);
        let hand = match moved {
            Ok(moved) => moved,
            Err(stop) if stop.refusal() == Some(RefusalKind::NoBuffer) => hand,
            Err(Stop::Refused(_)) => Hand::Rests,
            Err(halted) => return Err(halted),
        };
        self.splitter.space.emptied().set_hand(self.splitter.header, hand, session);
        Ok(gone > 0)
    }

    /// Goes from one leaf to the next, and takes out those that are empty; says where it is then.
    fn walk(
        &self,
        mut hand: Hand,
        ((staying, going), gone): (Steps, &mut u32),
        session: &'a Session,
    ) -> Result<Hand, Stop> {
        let mut stayed = 0;
        while stayed < staying && *gone < going {
            let (address, is_empty, behind) = {
                let (address, block) = self.leaf_at(&hand, session)?;
                let node = Node(&block);
                (address, has_nothing(&node), behind(&node))
            };
            match is_empty && matches!(self.leaf(address, session)?, Tried::Out(_)) {
                true => *gone += 1,
                false => stayed += 1,
            }
            hand = behind;
            if hand == Hand::Rests {
                break;
            }
        }
        Ok(hand)
    }

    /// The leaf before which the hand is.
    fn leaf_at(&self, hand: &Hand, session: &'a Session) -> Result<(Dba, PinnedBlock<'a>), Stop> {
        let tree = &self.splitter.tree;
        let (at, hint) = match hand {
            Hand::Before(leaf, low) => (read_position(low), Some(*leaf)),
            Hand::Begins | Hand::Rests => (Position::FIRST, None),
        };
        let reached = tree.reach((Probe::At(at), 0), hint, session)?;
        Ok((reached.address, reached.block))
    }
}

/// Where the hand is behind a leaf.
fn behind(leaf: &Node<'_>) -> Hand {
    let (Some(next), Some(high)) = (leaf.next(), leaf.high()) else { return Hand::Rests };
    let mut at = Vec::new();
    write_position(&mut at, high);
    Hand::Before(next, at)
}
