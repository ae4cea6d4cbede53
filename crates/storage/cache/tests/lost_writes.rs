//! A device that acknowledges a write and a flush and has the old block all the same: the next read
//! finds it.
#![forbid(unsafe_code)]

mod common;

use cache::CacheConfig;
use common::{Bed, DATA, SIZE, Toy, dba, racy, small};
use sim::fs::Operation;
use sim::fs::faults::{Fault, FaultPlan, Injection, Scope};
use stop::RefusalKind;
use testbed::{Dice, run};

const BLOCKS: u32 = 40;

/// Reads other blocks until the cache has none of these any more.
fn evict(bed: &Bed, session: &os::Session) {
    for block in 20..BLOCKS {
        let _ = bed.cache.pin_or_unwritten(dba(block), session).expect("no fault");
    }
}

/// Changes block 7 a few times, each change written, the last write lost; what a read says then.
fn read_after_a_lost_write(writes: u64, protect: bool) -> Result<u64, String> {
    let config = CacheConfig { lost_write_protect: protect, ..small() };
    let mut simulation = racy(1, &config, BLOCKS);
    let scope = Scope::of(&[Operation::Write]).under(DATA);
    let plan = FaultPlan::new(1).nth(writes, Fault::LostWrite, scope);
    simulation.disks[0].content.plan_faults(plan);
    run(simulation, move |world, session| {
        let bed = Bed::open(world, config, &Toy::default(), session);
        for _ in 0..writes {
            bed.change(7, session).expect("no fault");
            bed.checkpoint(session);
        }
        evict(&bed, session);
        let read = bed.cache.pin_or_unwritten(dba(7), session).map(|pin| {
            let block = pin.shared(latch::FrameOrder::Heap, session);
            common::version(dba(7), &block)
        });
        bed.close(session);
        read.map_err(|stop| {
            assert_eq!(stop.refusal(), Some(RefusalKind::Corrupt), "{stop}");
            stop.to_string()
        })
    })
}

/// The refusal names the file, the block, what was written and what was found.
#[test]
fn a_lost_write_is_found_by_the_next_read() {
    let said = read_after_a_lost_write(2, true).expect_err("refused");
    for part in ["file 1 block 7", "written as of SCN 2", "as of SCN 1", DATA] {
        assert!(said.contains(part), "{said}");
    }
    let said = read_after_a_lost_write(1, true).expect_err("refused");
    assert!(said.contains("written as of SCN 1, and read is nothing"), "{said}");
}

/// Switched off, the old block comes back unnoticed: so it is the comparison that finds it.
#[test]
fn without_the_protection_the_old_block_is_returned() {
    assert_eq!(read_after_a_lost_write(2, false), Ok(1));
    assert_eq!(read_after_a_lost_write(1, false), Ok(0));
}

/// The first block that the plan's fault hit.
fn hit(injection: &Injection) -> u32 {
    (injection.offset / SIZE.bytes() as u64) as u32
}

/// Whether these blocks may be of one write: with doublewrite a write has neighbours (CB66).
fn are_of_one_write(blocks: [u32; 2], config: &CacheConfig) -> bool {
    let most = if config.doublewrite { config.batch_blocks } else { 1 };
    blocks[0].abs_diff(blocks[1]) < most
}

/// Among sessions that change and read blocks, in schedules bent by seeds: as long as a block whose
/// write was lost isn't written again, reads of it are refused, and no other read ever is.
#[test]
fn the_lost_block_is_refused_and_no_other() {
    let mut found = 0;
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let mut config = small();
        config.working_sets = 1 + dice.below(3) as u32;
        config.writers = 1 + dice.below(3) as u32;
        config.doublewrite = dice.below(2) == 0;
        let of_all = config.clone();
        let mut simulation = racy(seed, &config, BLOCKS);
        let scope = Scope::of(&[Operation::Write]).under(DATA);
        let plan = FaultPlan::new(seed).nth(1 + dice.below(20), Fault::LostWrite, scope);
        simulation.disks[0].content.plan_faults(plan);
        let of_users = config.clone();
        let report = simulation.run(move |world, session| {
            let bed = Bed::open(world, config, &Toy::default(), session);
            let users = (0..3).map(|user| {
                let config = of_users.clone();
                let mut dice = Dice(seed << 8 | user);
                let body = move |bed: &Bed, session: &os::Session| {
                    let mut refused: Option<u32> = None;
                    for _ in 0..40 {
                        let block = dice.below(BLOCKS.into()) as u32;
                        let done = match dice.below(2) {
                            0 => bed.read(block, session),
                            _ => bed.change(block, session),
                        };
                        if let Err(stop) = done {
                            assert_eq!(stop.refusal(), Some(RefusalKind::Corrupt), "{stop}");
                            let of_one = |first| are_of_one_write([first, block], &config);
                            assert!(refused.is_none_or(of_one), "two blocks are refused");
                            refused = Some(block);
                        }
                    }
                };
                bed.session("user", session, body)
            });
            let users: Vec<_> = users.collect();
            users.iter().for_each(|user| user.join(session).expect("no panic"));
            bed.checkpoint(session);
            bed.close(session);
            let read = |block| bed.cache.pin_or_unwritten(dba(block), session).map(drop);
            let refused = (0..BLOCKS).filter(|block| read(*block).is_err());
            refused.collect::<Vec<_>>()
        });
        let refused = report.result.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        let injected: Vec<u32> = report.disks["disk"].injected().iter().map(hit).collect();
        for block in &refused {
            let is_of =
                |first: &u32| *first <= *block && are_of_one_write([*first, *block], &of_all);
            assert!(injected.iter().any(is_of), "seed {seed}: block {block} is refused");
        }
        found += refused.len();
    }
    assert!(found > 50, "only {found} lost writes were met");
}
