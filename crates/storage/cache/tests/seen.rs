//! What `v$bh` shows of each buffer.
#![forbid(unsafe_code)]

mod common;

use cache::{BufferSeen, BufferState};
use common::{Bed, Toy, dba, racy, small, version};
use os::Session;
use testbed::run;
use waits::Statistic;

/// Every buffer, with the version of its block.
fn all(bed: &Bed, session: &Session) -> Vec<BufferSeen<u64>> {
    let look = |number: u32| {
        let mut address = None;
        let seen = bed.cache.look_at_buffer(number, |block| block.to_vec(), session)?;
        if let BufferState::Current = seen.state {
            address = seen.address;
        }
        let BufferSeen { state, block_size, is_dirty, is_being_written, content, .. } = seen;
        let content = content.zip(address).map(|(block, address)| version(address, &block));
        Some(BufferSeen { state, block_size, address, is_dirty, is_being_written, content })
    };
    (0..bed.cache.buffers_max()).filter_map(look).collect()
}

/// A buffer shows its block and whether that is dirty. A look is no get and leaves no pin.
#[test]
fn a_buffer_shows_its_block() {
    let config = small();
    run(racy(1, &config, 8), move |world, session| {
        let bed = Bed::open(world, config, &Toy::default(), session);
        assert!(all(&bed, session).iter().all(|seen| seen.state == BufferState::Free));
        for block in 0..4 {
            bed.change(block, session).expect("changed");
        }
        bed.checkpoint(session);
        bed.change(2, session).expect("changed");
        let gets = session.account().statistic(Statistic::CurrentGets);
        let seen = all(&bed, session);
        assert_eq!(session.account().statistic(Statistic::CurrentGets), gets);
        let shown = |block| {
            let is_it = |one: &&BufferSeen<u64>| one.address == Some(dba(block));
            seen.iter().find(is_it).copied().expect("it is in the cache")
        };
        assert_eq!(seen.len(), 16);
        for (block, version, is_dirty) in [(0, 1, false), (1, 2, false), (2, 5, true)] {
            let one = shown(block);
            let BufferSeen { state, content, .. } = one;
            assert_eq!((state, content), (BufferState::Current, Some(version)));
            assert_eq!(one.is_dirty, is_dirty, "block {block}");
        }
        // A block whose latch is taken is shown without its bytes.
        let pin = bed.cache.pin(dba(0), session).expect("cached");
        let block = pin.exclusive(latch::FrameOrder::Heap, session);
        let seen = all(&bed, session);
        let first = seen.iter().find(|one| one.address == Some(dba(0))).expect("still there");
        assert_eq!((first.state, first.content), (BufferState::Current, None));
        drop(block);
        drop(pin);
        bed.close(session);
    });
}
