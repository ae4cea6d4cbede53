//! Partitions: which table comes next, and what is done with one that is too large.
//!
//! ```text
//!   pair ──fits──────────────▶ one table, which is probed with all of the pair's probe rows
//!     │
//!     ├──too large──▶ dealt again by the next bits: smaller pairs
//!     │
//!     └──as large as before, or no more bits──▶ blocks: each is probed with all probe rows
//! ```
//!
//! Invariants
//!   * a block has one batch of rows at least, so blocks come to an end
//!   * a spool is discarded when its last reader is gone (rule sort/ST5)
//!
//! Callers: `HashJoin`.

use sort::{Spool, SpoolReader};
use stop::Stop;

use super::shape::{Alone, Shape};
use super::{Phase, State};
use crate::partitions::{Aside, ReadRows};
use crate::{BATCH_BYTES_MAX, World};

/// Two partitions with the same bits in their hashes.
pub(super) struct Pair {
    pub(super) build: Spool,
    pub(super) probe: Spool,
    /// The level by which it would be dealt next.
    pub(super) level: u32,
    /// How many build rows were dealt together, of which these are a part.
    pub(super) dealt_rows: u64,
}

/// The pair that is being joined.
pub(super) struct Current {
    pair: Pair,
    /// The build rows that haven't been in a block yet, behind `State::moving`.
    rest: Option<SpoolReader>,
    /// Whether the block is the last one.
    pub(super) is_last: bool,
    /// Of each probe row, whether it matched an earlier block; none if that doesn't matter.
    pub(super) marks: Option<Marks>,
}

/// A bit for each of many rows.
pub(super) struct Marks(Vec<u64>);

impl Marks {
    fn bytes(rows: u64) -> u64 {
        rows.div_ceil(64) * 8
    }

    fn new(rows: u64) -> Marks {
        let words = usize::try_from(rows.div_ceil(64)).expect("a bit for each row fits in memory");
        Marks(vec![0; words])
    }

    pub(super) fn has(&self, row: u64) -> bool {
        (self.0[(row / 64) as usize] >> (row % 64)) & 1 == 1
    }

    pub(super) fn set(&mut self, row: u64) {
        self.0[(row / 64) as usize] |= 1 << (row % 64);
    }
}

impl State {
    /// Goes on with the next table, or ends.
    pub(super) fn next_phase<W: World>(&mut self, shape: &Shape, world: &W) -> Result<(), Stop> {
        self.table.clear();
        if self.aside.is_none() || !self.next_table(shape, world)? {
            self.give_back(world);
            return Ok(());
        }
        self.table.index();
        let reader = {
            let current = self.current.as_ref().expect("the table is of a pair");
            let file = self.aside.as_mut().expect("pairs lie in a file");
            file.reader(&current.pair.probe, world)?
        };
        self.probe.begin(Some(reader), shape.probe_width);
        self.phase = Phase::Probing;
        Ok(())
    }

    /// Fills the table with the next block or the next pair. Returns false if there is none.
    fn next_table<W: World>(&mut self, shape: &Shape, world: &W) -> Result<bool, Stop> {
        drop(self.probe.take_reader());
        if let Some(mut current) = self.current.take() {
            if let Some(mut rest) = current.rest.take() {
                self.load_block(&mut rest, &mut current, world)?;
                current.rest = Some(rest).filter(|_| !current.is_last);
                self.current = Some(current);
                return Ok(true);
            }
            self.discard(current.pair);
            if current.marks.is_some() {
                let buffers = self.file().buffer_bytes();
                self.memory.set_base(buffers, world);
            }
        }
        while let Some(pair) = self.pairs.pop() {
            world.check()?;
            let is_needed = |spool: &Spool, alone| spool.rows() > 0 || alone != Alone::No;
            let may_give = is_needed(&pair.build, shape.probe_alone)
                && is_needed(&pair.probe, shape.build_alone);
            if !may_give {
                self.discard(pair);
            } else if let Some(current) = self.load(pair, shape, world)? {
                self.current = Some(current);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Fills the table with the build rows of a pair, or with the first block of them. Returns none
    /// if the pair was dealt again.
    fn load<W: World>(
        &mut self,
        pair: Pair,
        shape: &Shape,
        world: &W,
    ) -> Result<Option<Current>, Stop> {
        self.moving = ReadRows::new(shape.build_width);
        let mut reader = self.file().reader(&pair.build, world)?;
        let mut current = Current { pair, rest: None, is_last: false, marks: None };
        if self.fill(&mut reader, world)? {
            current.is_last = true;
            return Ok(Some(current));
        }
        let has_shrunk = current.pair.build.rows() * 8 <= current.pair.dealt_rows * 7;
        if has_shrunk && self.file().fan().has_level(current.pair.level) {
            self.file().close_reader(reader, world);
            self.table.clear();
            self.deal_again(current.pair, shape, world)?;
            return Ok(None);
        }
        if shape.marks_probe() {
            let rows = current.pair.probe.rows();
            let buffers = self.file().buffer_bytes();
            self.memory.set_base(buffers + Marks::bytes(rows), world);
            current.marks = Some(Marks::new(rows));
        }
        if self.table.rows() == 0 {
            self.load_block(&mut reader, &mut current, world)?;
        }
        current.rest = Some(reader).filter(|_| !current.is_last);
        Ok(Some(current))
    }

    /// Fills the table with a block: the rows that were read last, and as many more as fit.
    fn load_block<W: World>(
        &mut self,
        reader: &mut SpoolReader,
        current: &mut Current,
        world: &W,
    ) -> Result<(), Stop> {
        self.memory.need(self.table.bytes_with(&self.moving.rows), world);
        self.table.add(&mut self.moving.rows, &self.moving.hashes);
        current.is_last = self.fill(reader, world)?;
        Ok(())
    }

    /// Reads build rows into the table. Returns whether these were all; if not, those that didn't
    /// fit are in `moving`.
    fn fill<W: World>(&mut self, reader: &mut SpoolReader, world: &W) -> Result<bool, Stop> {
        loop {
            world.check()?;
            let most = self.memory.bytes() / 4;
            let file = self.aside.as_mut().expect("pairs lie in a file");
            let more = file.read(reader, &mut self.moving, most, world)?;
            if self.moving.rows.is_empty() {
                assert!(!more, "a batch is empty at the end only");
                return Ok(true);
            }
            if !self.fits(self.table.bytes_with(&self.moving.rows), world) {
                return Ok(false);
            }
            self.table.add(&mut self.moving.rows, &self.moving.hashes);
        }
    }

    /// Deals both spools of a pair by the bits of its level.
    fn deal_again<W: World>(&mut self, pair: Pair, shape: &Shape, world: &W) -> Result<(), Stop> {
        let Pair { build, probe, level, .. } = pair;
        let dealt_rows = build.rows();
        let build = self.deal_spool(build, level, shape.build_width, world)?;
        let probe = self.deal_spool(probe, level, shape.probe_width, world)?;
        let pairs = build.into_iter().zip(probe);
        let level = level + 1;
        self.pairs.extend(pairs.map(|(build, probe)| Pair { build, probe, level, dealt_rows }));
        Ok(())
    }

    fn deal_spool<W: World>(
        &mut self,
        spool: Spool,
        level: u32,
        width: usize,
        world: &W,
    ) -> Result<Vec<Spool>, Stop> {
        self.moving = ReadRows::new(width);
        let file = self.aside.as_mut().expect("pairs lie in a file");
        let mut partitions = file.partitions();
        let mut reader = file.reader(&spool, world)?;
        let mut more = true;
        while more {
            world.check()?;
            more = file.read(&mut reader, &mut self.moving, BATCH_BYTES_MAX as u64, world)?;
            for (row, hash) in self.moving.hashes.iter().enumerate() {
                file.deal(&mut partitions, level, *hash, &self.moving.rows, row, world)?;
            }
        }
        drop(reader);
        file.discard(spool);
        file.finish(&mut partitions, world)?;
        Ok(partitions)
    }

    /// Gives the space of a pair back.
    fn discard(&mut self, pair: Pair) {
        let file = self.file();
        file.discard(pair.build);
        file.discard(pair.probe);
    }

    fn file(&mut self) -> &mut Aside {
        self.aside.as_mut().expect("pairs lie in a file")
    }
}
