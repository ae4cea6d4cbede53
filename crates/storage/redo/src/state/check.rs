//! Checks of the state under redo allocation: the invariants of `state`, `groups`, `flights` and
//! `batch` (RD23).
//!
//! Caller: the redo allocation latch, as a session that has changed the state lets go of it.

use super::{LANES, State, Waiters, lane};

impl State {
    /// Checks every invariant, and returns how many parts were looked at.
    ///
    /// # Panics
    /// When an invariant doesn't hold.
    pub(crate) fn assert_consistent(&self) -> usize {
        if let Err(what) = self.check_all() {
            panic!("the redo is broken: {what}");
        }
        LANES + self.groups.count_all() + self.active.blocks() as usize
    }

    fn check_all(&self) -> Result<(), String> {
        self.groups.check()?;
        self.flights.check()?;
        self.active.check()?;
        self.check_room()?;
        self.check_batches()?;
        self.check_active()?;
        self.check_waiters()?;
        self.check_queue()
    }

    /// The credits fit into the batch and into the logs.
    fn check_room(&self) -> Result<(), String> {
        let (credits, batch) = (self.credits, u64::from(self.batch_blocks));
        let begun = u64::from(self.active.blocks());
        if begun + credits > batch {
            return Err(format!(
                "{begun} blocks of {batch} are begun, and {credits} are promised (RD3)"
            ));
        }
        if !(1..=self.groups.blocks()).contains(&self.next_block) {
            let blocks = self.groups.blocks();
            return Err(format!("block {} is next in a log of {blocks}", self.next_block));
        }
        let left = u64::from(self.blocks_left()) + self.groups.free_room();
        match credits <= left {
            true => Ok(()),
            false => Err(format!(
                "{credits} blocks are promised, and the logs have room for {left} (RD4)"
            )),
        }
    }

    /// The active batch follows those in flight, and there is a spare for each one not being
    /// written.
    fn check_batches(&self) -> Result<(), String> {
        if self.number != self.flights.next_number() {
            let next = self.flights.next_number();
            return Err(format!(
                "the active batch has number {}, and {next} is next to those in flight",
                self.number
            ));
        }
        let spares = self.spares.len() + self.flights.unwritten();
        if spares != self.writes_max as usize {
            return Err(format!(
                "{} spares and {} batches in flight are not {}",
                self.spares.len(),
                self.flights.unwritten(),
                self.writes_max
            ));
        }
        match self.flights.last_through() < self.next_scn {
            true => Ok(()),
            false => Err(format!(
                "SCN {} is in flight, and {} is next",
                self.flights.last_through(),
                self.next_scn
            )),
        }
    }

    /// The active batch ends where the current log ends.
    fn check_active(&self) -> Result<(), String> {
        let Some((sequence, end)) = self.active.end() else { return Ok(()) };
        match (sequence, end) == (self.sequence(), self.next_block) {
            true => Ok(()),
            false => Err(format!(
                "the active batch ends before block {end} of log {sequence}, and block {} of log \
                 {} is next",
                self.next_block,
                self.sequence()
            )),
        }
    }

    /// Only batches that aren't durable have waiters.
    fn check_waiters(&self) -> Result<(), String> {
        let first = self.flights.oldest_number();
        for number in self.number + 1..first + LANES as u64 {
            let Waiters { urgent, patient } = self.waiters[lane(number)];
            if urgent + patient > 0 {
                let waiters = urgent + patient;
                return Err(format!(
                    "{waiters} wait in lane {}, which is no batch's",
                    lane(number)
                ));
            }
        }
        Ok(())
    }

    /// A session that makes room hands it out before it lets go of the latch.
    fn check_queue(&self) -> Result<(), String> {
        match self.queue.first().filter(|request| self.check(*request).is_ok()) {
            Some(request) => {
                Err(format!("the first in line waits for {request:?}, and there is room"))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use ids::{Rba, Scn};
    use os::Session;
    use os::probe::DurableWrite;
    use sim::{Simulation, World};
    use stop::{Failpoints, Halt};

    use super::*;
    use crate::config::blocks_of;
    use crate::groups::{Entry, Groups};
    use crate::log_file::OpenGroup;
    use crate::state::RoomRequest;
    use crate::{
        CommitLeader, Hooks, LOG_BLOCKS_MIN, LOG_BUFFER_BYTES_MIN, LogGroup, LogStart, Redo,
        RedoConfig,
    };

    const START: LogStart = LogStart {
        sequence: 1,
        next_scn: Scn::new(1),
        checkpoint: Rba::block(1, 1),
        previous_end: 0,
    };

    fn config() -> RedoConfig {
        RedoConfig {
            database: 1,
            incarnation: (1, Scn::new(1)),
            newest_log: 0,
            groups: LogGroup::usual(Path::new("/"), 3, LOG_BLOCKS_MIN),
            log_buffer_bytes: LOG_BUFFER_BYTES_MIN,
            durable_write: DurableWrite::DirectThenSync,
            writes_in_flight: 1,
            commit_leader: CommitLeader::Session,
            owned: os::OwnedFiles::default(),
            failpoints: Failpoints::NONE,
        }
    }

    fn opened(world: &World, session: &Session) -> Redo {
        let config = config();
        crate::create(&world.disk(), &config.groups, session).expect("there is room");
        let checkpoint_wanted = Box::new(|_: &Session| ());
        let hooks = Hooks { checkpoint_wanted, keep_members: Box::new(|_, _, _| Ok(())) };
        let halt = Halt::new(world.os());
        Redo::open(&world.disk(), &config, START, &halt, hooks, session).expect("it opens")
    }

    /// A group of this many blocks, without files.
    fn group(number: u16, blocks: u32) -> Arc<OpenGroup> {
        Arc::new(OpenGroup { number, blocks, members: Vec::new() })
    }

    /// All the room that is ever promised is there (RD3, RD4): everything that can be reserved is,
    /// then all of it is appended at once, with records that waste as much of a log's end as they
    /// can, while logs are switched and groups come and go.
    #[test]
    fn all_that_was_promised_is_there() {
        let (mut random, mut gone) = (1_u64, 0);
        let mut draw = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % below
        };
        for seed in 0..300 {
            let blocks: Vec<u32> =
                (0..2 + seed % 4).map(|n| LOG_BLOCKS_MIN + (seed * (n + 7) % 90) as u32).collect();
            let all = (1..).zip(&blocks).map(|(number, blocks)| {
                Entry::new(group(number, *blocks), u32::from(number == 1), false)
            });
            let mut state = State::new(
                // Larger than all logs together.
                &RedoConfig { log_buffer_bytes: 600 * 4_096, ..config() },
                &START,
                Groups::new(all.collect(), 1, 1),
            )
            .expect("there is memory");
            for round in 0..6 {
                let mut promised = Vec::new();
                for _ in 0..draw(200) {
                    let bytes = match draw(3) {
                        0 => 65_000,
                        1 => 4_048 * draw(16) as usize + 4_000,
                        _ => 48 + draw(65_000) as usize,
                    };
                    let request = RoomRequest::Blocks(blocks_of(bytes));
                    if state.check(request).is_err() {
                        break;
                    }
                    state.grant(request);
                    promised.push(bytes);
                }
                if round % 2 == 1 {
                    let unused = promised.split_off(promised.len() / 2);
                    unused.iter().for_each(|bytes| state.return_credits(blocks_of(*bytes)));
                }
                if round % 4 == 2 && state.check(RoomRequest::Switch).is_ok() {
                    state.grant(RoomRequest::Switch);
                }
                let number = 1 + draw(blocks.len() as u64) as u16;
                let goes = state.retire(number).is_ok();
                if goes {
                    state.groups.end_retirement(number, true);
                }
                for bytes in promised {
                    state.append(&vec![0; bytes]);
                    state.return_credits(blocks_of(bytes));
                    assert_eq!(state.check_room(), Ok(()), "seed {seed}");
                }
                if round % 4 == 2 || draw(2) == 0 {
                    if !state.active.is_empty() {
                        let flight = state.take();
                        state.land(flight.batch, flight.number);
                    }
                    state.advance_checkpoint(state.position());
                }
                if goes {
                    state.groups.add(group(number, blocks[usize::from(number) - 1]));
                    gone += 1;
                }
            }
            assert!(state.sequence() > 1, "seed {seed}");
        }
        assert!(gone > 200, "{gone} groups went");
    }

    type Break = fn(&mut State);

    /// Each broken invariant is named by the check.
    #[test]
    fn what_is_broken_in_the_redo_is_named() {
        let cases: [(&str, Break); 12] = [
            ("are promised (RD3)", |state| state.credits = u64::from(state.batch_blocks) + 1),
            ("and the logs have room for", |state| {
                (state.batch_blocks, state.credits) = (2_000, 1_000);
            }),
            ("block 0 is next", |state| state.next_block = 0),
            ("is next to those in flight", |state| state.number += 1),
            ("spares and 0 batches", |state| drop(state.spares.pop())),
            ("is in flight, and 0 is next", |state| state.next_scn = Scn::ZERO),
            ("the active batch ends before block", |state| {
                state.begin_block();
                state.next_block += 1;
            }),
            ("wait in lane 9", |state| state.waiters[9].patient = 1),
            ("the first in line waits for", |state| {
                state.queue.enter(RoomRequest::Blocks(1));
            }),
            ("free groups have room", |state| state.groups.spoil(0)),
            ("is the current", |state| state.groups.spoil(1)),
            ("lies in two groups", |state| state.groups.spoil(2)),
        ];
        for (named, break_it) in cases {
            let mut simulation = Simulation::new(1);
            // The broken state must not be checked again when the latch is released.
            simulation.check_effort = Some(0);
            let report = simulation.run(move |world, session| {
                let redo = opened(world, session);
                let mut state = redo.shared.state.exclusive(session);
                state.assert_consistent();
                break_it(&mut state);
                state.check_all().expect_err(named)
            });
            let said = report.result.expect("it is looked at");
            assert!(said.contains(named), "{named}: {said}");
        }
    }
}
