//! The number of writers changes while sessions are at work: nothing is lost or written twice at
//! once, and nobody waits for a writer that has gone.
#![forbid(unsafe_code)]

mod common;

use common::{Bed, Toy, racy, versions, with_long};
use ids::Dba;
use os::{Session, ThreadHandle};
use testbed::Dice;
use waits::{Nanos, WaitEvent};

const BLOCKS: u64 = 40;

/// Starts or ends writers until there are so many.
fn change_writers(bed: &Bed, writers: &mut Vec<ThreadHandle>, count: usize, session: &Session) {
    bed.cache.set_writers(count as u32, session);
    for ended in writers.drain(count.min(writers.len())..) {
        ended.join(session).expect("a writer ends in good order");
    }
    while writers.len() < count {
        writers.push(bed.start_writer(writers.len() as u32, session));
    }
}

#[test]
fn writers_come_and_go_while_sessions_are_at_work() {
    for seed in 0..400 {
        let mut dice = Dice(seed);
        let mut config = with_long();
        config.working_sets = 1 + dice.below(4) as u32;
        config.pools[0].frames = 16;
        config.writers_max = 4;
        let toy = Toy { flush: Nanos(dice.one_of(&[0, 100_000])), ..Toy::default() };
        let outside = toy.clone();
        let simulation = racy(seed, &config, BLOCKS as u32);
        let report = simulation.run(move |world, session| {
            let bed = Bed::without_writers(world, config, &toy, session);
            let mut writers = Vec::new();
            change_writers(&bed, &mut writers, 1, session);
            let users = (0..4).map(|user| {
                let mut dice = Dice(seed << 8 | user);
                bed.session("user", session, move |bed, session| {
                    for _ in 0..30 {
                        let block = dice.below(BLOCKS) as u32;
                        let address = Dba::new(1 + dice.below(2) as u16, block);
                        bed.change_at(address, session).expect("no fault");
                        if dice.below(8) == 0 {
                            bed.checkpoint(session);
                        }
                    }
                })
            });
            let users: Vec<_> = users.collect();
            let mut seen = 0;
            while !users.iter().all(|user| user.has_ended()) {
                change_writers(&bed, &mut writers, 1 + dice.below(4) as usize, session);
                assert_eq!(bed.cache.writers(session) as usize, writers.len());
                session.charge_nanos(Nanos(dice.below(200_000)));
                seen = bed.check_checkpoint(seen, session);
            }
            users.iter().for_each(|user| user.join(session).expect("no panic"));
            bed.checkpoint(session);
            bed.close(session);
            writers.iter().for_each(|writer| writer.join(session).expect("in good order"));
            let totals = world.os().totals();
            for event in [WaitEvent::FreeBufferWaits, WaitEvent::RdbmsIpcReply] {
                assert_eq!(totals.event(event).timeouts, 0, "a post was lost: {event}");
            }
        });
        report.result.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        let newest = outside.log().newest(u64::MAX);
        for (address, version) in versions(&report.disks["disk"]) {
            let expected = newest.get(&address).copied().unwrap_or(0);
            assert_eq!(version, Some(expected), "seed {seed}: block {address}");
        }
    }
}

/// CB41: writers that are begun set themselves up side by side, and are waited for afterwards. One
/// that finds no threads for its I/O slaves is refused then, and the instance halts, too.
#[test]
fn writers_that_are_begun_set_themselves_up_meanwhile() {
    for lacks_slaves in [false, true] {
        let mut config = with_long();
        (config.working_sets, config.writers_max, config.io_slaves) = (2, 2, 2);
        let simulation = racy(1, &config, BLOCKS as u32);
        let report = simulation.run(move |world, session| {
            let bed = Bed::without_writers(world, config, &Toy::default(), session);
            let begin = |number| bed.cache.begin_writer(number, session).expect("a thread");
            if lacks_slaves {
                world.limit_threads(Some(1));
                let refused = begin(0).wait(session).expect_err("it has no slaves");
                let says = refused.to_string();
                assert!(says.starts_with("cannot start database writer 0: "), "{says}");
                assert!(refused.refusal().is_some() && bed.halt.is_raised(session));
                return;
            }
            bed.cache.set_writers(2, session);
            let begun = [begin(0), begin(1)];
            let ready = begun.map(|writer| writer.wait(session).expect("it has what it needs"));
            bed.change_at(Dba::new(1, 3), session).expect("no fault");
            bed.checkpoint(session);
            bed.close(session);
            ready.iter().for_each(|writer| writer.join(session).expect("in good order"));
        });
        report.result.unwrap_or_else(|failure| panic!("{lacks_slaves}: {failure}"));
    }
}
