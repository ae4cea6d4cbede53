//! The last leaf of an index, as a guess: entries behind all others go there without a descent
//! (BT42).
//!
//! ```text
//!   key > where the guessed leaf begins ──▶ the leaf ──covers the key──▶ changed
//!                └── not, or no guess ──▶ descent ◀──not: forgotten──┘
//! ```
//!
//! The parts of a guess are stored and read one by one, so they may be of different leaves: that
//! costs a look at a leaf for nothing.
//!
//! Callers: `index`.

use cache::Pin;
use ids::Dba;
use latch::Guess;
use os::Session;
use stop::Stop;

use super::Index;
use super::node::Node;
use super::position::{Position, Probe, number_of};

/// How many bytes of a key a number has.
const PART: usize = 8;

/// A guess at the last leaf, and at the first bytes of the position where it begins.
#[derive(Debug, Default)]
pub(super) struct LastLeaf {
    /// The packed address; 0 if there is no guess.
    address: Guess,
    low: [Guess; 2],
}

impl LastLeaf {
    /// The leaf, if a position is likely to be in it. Positions whose first bytes are those of the
    /// leaf's beginning aren't: there may be many, before it.
    pub(super) fn of(&self, at: Position<'_>) -> Option<Dba> {
        let address = self.address.load();
        let is_behind = address != 0 && numbers(at) > [self.low[0].load(), self.low[1].load()];
        is_behind.then(|| Dba::unpack(address)).flatten()
    }

    /// Notes a latched leaf, if it is the last one.
    pub(super) fn note(&self, address: Dba, leaf: &[u8]) {
        let node = Node(leaf);
        if node.next().is_some() || self.address.load() == address.pack() {
            return;
        }
        let low = numbers(node.low().unwrap_or(Position::FIRST));
        self.address.store(address.pack());
        self.low.iter().zip(low).for_each(|(guess, number)| guess.store(number));
    }

    /// Forgets the guess, which was wrong.
    pub(super) fn forget(&self) {
        self.address.store(0);
    }
}

impl Index {
    /// Pins the leaf that covers the position, as the descent finds it or the last one is guessed
    /// (BT42). The caller looks under its latch whether it covers it.
    pub(super) fn pin_to_change<'a>(
        &'a self,
        at: Position<'_>,
        session: &'a Session,
    ) -> Result<Pin<'a>, Stop> {
        let cache = self.changes().cache();
        if let Some(leaf) = self.last_leaf.of(at) {
            match cache.pin_at_hand(leaf, session) {
                Some(pin) => return Ok(pin),
                None => self.last_leaf.forget(),
            }
        }
        cache.pin(self.leaf_to_change(at, session)?, session)
    }

    /// The leaf that covers the position. Splits on the way that weren't posted are posted.
    fn leaf_to_change(&self, at: Position<'_>, session: &Session) -> Result<Dba, Stop> {
        let reached = self.tree().reach(Probe::At(at), 0, None, session)?;
        let (address, unposted) = (reached.address, reached.unposted);
        self.last_leaf.note(address, &reached.block);
        drop(reached.block);
        let _held = session.hold_off();
        for split in &unposted {
            self.splitter().post_to_parent(split, session)?;
        }
        Ok(address)
    }
}

/// Two numbers with the order of keys: the first bytes, and those that follow.
fn numbers(at: Position<'_>) -> [u64; 2] {
    [number_of(at.key), number_of(at.key.get(PART..).unwrap_or_default())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_positions_behind_the_beginning_are_guessed_to_be_in_the_leaf() {
        let guess = LastLeaf::default();
        let at = |key| Position { key, row: None };
        assert_eq!(guess.of(at(b"z")), None, "there is no guess yet");
        let leaf = Dba::new(1, 7);
        guess.address.store(leaf.pack());
        for (guess, number) in guess.low.iter().zip(numbers(at(b"a key of nine"))) {
            guess.store(number);
        }
        assert_eq!(guess.of(at(b"a key of ninf")), Some(leaf));
        assert_eq!(guess.of(at(b"b")), Some(leaf));
        for before in [&b"a key of nine"[..], b"a key of", b"a", b""] {
            assert_eq!(guess.of(at(before)), None, "{before:?}");
        }
        guess.forget();
        assert_eq!(guess.of(at(b"b")), None, "it was forgotten");
    }
}
