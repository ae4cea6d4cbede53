//! The build side: into the table, or, with the probe side, into partitions.
//!
//! Callers: `HashJoin::start`.

use sort::Spool;
use stop::Stop;

use super::shape::{Alone, Shape};
use super::tables::Pair;
use super::{Inputs, State};
use crate::hash::{KeyColumn, join_hash};
use crate::partitions::{Aside, ReadRows};
use crate::{Source, World};

/// Takes all rows of the build side. Returns its partitions if they didn't fit in memory.
pub(super) fn build<W: World, L: Source<W>, R: Source<W>>(
    inputs: &mut Inputs<L, R>,
    shape: &Shape,
    state: &mut State,
    world: &mut W,
) -> Result<Option<Vec<Spool>>, Stop> {
    let mut dealt: Option<Vec<Spool>> = None;
    let mut batch = ReadRows::new(shape.build_width);
    loop {
        batch.clear();
        let more = inputs.fetch(shape.build_is_left, world, &mut batch.rows)?;
        world.check()?;
        hash_all(&mut batch, &shape.build_keys);
        state.seen.build_rows |= !batch.rows.is_empty();
        state.seen.build_null |= batch.hashes.contains(&None);
        match &mut dealt {
            Some(dealt) => state.deal_build(&batch, shape, dealt, world)?,
            None if state.fits(state.table.bytes_with(&batch.rows), world) => {
                state.table.add(&mut batch.rows, &batch.hashes);
            }
            None => {
                let mut partitions = state.set_table_aside(shape, world)?;
                state.deal_build(&batch, shape, &mut partitions, world)?;
                dealt = Some(partitions);
            }
        }
        if !more {
            return Ok(dealt);
        }
    }
}

/// Deals all rows of the probe side as those of the build side were dealt, and pairs the
/// partitions.
pub(super) fn deal_probe<W: World, L: Source<W>, R: Source<W>>(
    inputs: &mut Inputs<L, R>,
    shape: &Shape,
    state: &mut State,
    mut build: Vec<Spool>,
    world: &mut W,
) -> Result<(), Stop> {
    let mut probe = {
        let aside = state.aside.as_mut().expect("rows were dealt");
        aside.finish(&mut build, world)?;
        aside.partitions()
    };
    let mut batch = ReadRows::new(shape.probe_width);
    loop {
        batch.clear();
        let more = inputs.fetch(!shape.build_is_left, world, &mut batch.rows)?;
        world.check()?;
        hash_all(&mut batch, &shape.probe_keys);
        state.seen.probe_rows |= !batch.rows.is_empty();
        state.seen.probe_null |= batch.hashes.contains(&None);
        let aside = state.aside.as_mut().expect("rows were dealt");
        let fan = aside.fan();
        for (row, hash) in batch.hashes.iter().enumerate() {
            let has_partners = hash.is_some_and(|hash| build[fan.partition(hash, 0)].rows() > 0);
            if has_partners || shape.probe_alone != Alone::No {
                aside.deal(&mut probe, 0, *hash, &batch.rows, row, world)?;
            }
        }
        if !more {
            aside.finish(&mut probe, world)?;
            break;
        }
    }
    let dealt_rows = build.iter().map(Spool::rows).sum();
    let pairs = build.into_iter().zip(probe);
    state.pairs.extend(pairs.map(|(build, probe)| Pair { build, probe, level: 1, dealt_rows }));
    Ok(())
}

/// Makes the hash of each row of a batch.
pub(super) fn hash_all(batch: &mut ReadRows, keys: &[KeyColumn]) {
    batch.hashes.extend(batch.rows.iter().map(|row| join_hash(row, keys)));
}

impl State {
    /// Whether the table may take this many bytes.
    pub(super) fn fits<W: World>(&mut self, bytes: u64, world: &W) -> bool {
        self.table.has_numbers() && self.memory.ask(bytes, world)
    }

    /// Deals the rows of the table to partitions, which it returns.
    fn set_table_aside<W: World>(&mut self, shape: &Shape, world: &W) -> Result<Vec<Spool>, Stop> {
        let aside = self.aside.insert(Aside::new(1, &mut self.memory, world));
        let mut partitions = aside.partitions();
        for rows in self.table.chunks() {
            world.check()?;
            for (number, row) in rows.iter().enumerate() {
                // The table has half of each hash.
                let hash = join_hash(row, &shape.build_keys);
                if hash.is_some() || shape.build_alone != Alone::No {
                    aside.deal(&mut partitions, 0, hash, rows, number, world)?;
                }
            }
        }
        self.table.clear();
        Ok(partitions)
    }

    /// Deals a batch of build rows.
    fn deal_build<W: World>(
        &mut self,
        batch: &ReadRows,
        shape: &Shape,
        partitions: &mut [Spool],
        world: &W,
    ) -> Result<(), Stop> {
        let aside = self.aside.as_mut().expect("it was made for the first rows");
        for (row, hash) in batch.hashes.iter().enumerate() {
            if hash.is_some() || shape.build_alone != Alone::No {
                aside.deal(partitions, 0, *hash, &batch.rows, row, world)?;
            }
        }
        Ok(())
    }
}
