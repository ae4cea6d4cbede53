//! What an opening found by its probe of the disk, as the control file keeps it for later openings
//! (rule instance/IN53).
//!
//! Invariant: it is kept whole or not at all.
//!
//! Callers: `content`, which stores and loads it; `instance`, which says when it counts.

use format::{Control, U32Le, U64Le};
use os::probe::{AtOnce, DurableWrite};
use waits::Nanos;

use crate::place::hash_of;

/// What was found by a probe of the ways to make a write of redo durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probed {
    /// A hash of the text of all that it depends on.
    pub surroundings: u64,
    /// When it was found: microseconds since 1970-01-01 00:00 UTC.
    pub at_us: u64,
    /// The fastest way.
    pub way: DurableWrite,
    /// The time that a write in this way takes.
    pub takes: Nanos,
    /// What several at once take, if that is known.
    pub at_once: Option<AtOnce>,
}

impl Probed {
    /// The hash by which surroundings are known again.
    pub fn hash_of_surroundings(text: &str) -> u64 {
        hash_of(text.as_bytes())
    }

    /// Stores it in the head of a control file that has none. There is no room for times of four
    /// seconds and more: then nothing is kept.
    pub(crate) fn store(self, head: &mut Control) {
        let unknown = AtOnce { one: Nanos::ZERO, all: Nanos::ZERO };
        let at_once = self.at_once.unwrap_or(unknown);
        let stored = |time: Nanos| u32::try_from(time.0).ok().map(U32Le::new);
        let (Some(takes), Some(one), Some(all)) =
            (stored(self.takes), stored(at_once.one), stored(at_once.all))
        else {
            return;
        };
        let place = DurableWrite::ALL.iter().position(|way| *way == self.way);
        head.probed_way = 1 + place.expect("every way is in the list") as u8;
        head.probed_us = U64Le::new(self.at_us);
        head.probed_surroundings = U64Le::new(self.surroundings);
        (head.probed_write_ns, head.probed_one_ns, head.probed_all_ns) = (takes, one, all);
    }

    /// What the head of a control file has; `None` if nothing, or what no program has stored.
    pub(crate) fn load(head: &Control) -> Option<Probed> {
        let way = *DurableWrite::ALL.get(usize::from(head.probed_way).checked_sub(1)?)?;
        let time = |stored: U32Le| Nanos(stored.get().into());
        let at_once = AtOnce { one: time(head.probed_one_ns), all: time(head.probed_all_ns) };
        let probed = Probed {
            surroundings: head.probed_surroundings.get(),
            at_us: head.probed_us.get(),
            way,
            takes: time(head.probed_write_ns),
            at_once: (at_once.all > Nanos::ZERO).then_some(at_once),
        };
        (probed.surroundings != 0).then_some(probed)
    }
}

#[cfg(test)]
mod tests {
    use format::CONTROL_BLOCK;

    use super::*;

    fn probed(way: DurableWrite) -> Probed {
        let at_once = AtOnce { one: Nanos(700), all: Nanos(1_900) };
        let takes = Nanos(600);
        Probed { surroundings: 7, at_us: 1 << 50, way, takes, at_once: Some(at_once) }
    }

    fn stored(probed: Probed) -> Vec<u8> {
        let mut block = vec![0; CONTROL_BLOCK.bytes()];
        probed.store(Control::at_mut(&mut block, Control::START));
        block
    }

    fn loaded(block: &[u8]) -> Option<Probed> {
        Probed::load(Control::at(block, Control::START))
    }

    /// Of each way, with and without what several writes at once take.
    #[test]
    fn what_was_found_comes_back() {
        for way in DurableWrite::ALL {
            for found in [probed(way), Probed { at_once: None, ..probed(way) }] {
                assert_eq!(loaded(&stored(found)), Some(found));
            }
        }
        assert_eq!(loaded(&vec![0; CONTROL_BLOCK.bytes()]), None);
    }

    /// The numbers of ways are on disks, as docs/FORMAT.md says.
    #[test]
    fn each_way_keeps_its_number() {
        let number = |way| Control::at(&stored(probed(way)), Control::START).probed_way;
        let direct = [DurableWrite::DirectWriteThrough, DurableWrite::DirectThenSync];
        let buffered = [DurableWrite::BufferedWriteThrough, DurableWrite::BufferedThenSync];
        assert_eq!((direct.map(number), buffered.map(number)), ([1, 2], [3, 4]));
    }

    /// A time that has no room, a way that there isn't, and surroundings of nothing.
    #[test]
    fn what_cant_be_kept_whole_is_not_kept() {
        let way = DurableWrite::DirectThenSync;
        let slow = Nanos::from_secs(5);
        assert_eq!(loaded(&stored(Probed { takes: slow, ..probed(way) })), None);
        let at_once = Some(AtOnce { one: Nanos(1), all: slow });
        assert_eq!(loaded(&stored(Probed { at_once, ..probed(way) })), None);
        let changes: [fn(&mut Control); 3] = [
            |head| head.probed_way = 0,
            |head| head.probed_way = 5,
            |head| head.probed_surroundings = U64Le::new(0),
        ];
        for change in changes {
            let mut block = stored(probed(way));
            change(Control::at_mut(&mut block, Control::START));
            assert_eq!(loaded(&block), None);
        }
    }
}
