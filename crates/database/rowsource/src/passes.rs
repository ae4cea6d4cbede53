//! Work in passes: what doesn't fit in memory in one pass is set aside, and done in later ones.
//!
//! ```text
//!   pass 1: the input ──▶ what memory holds is done
//!               └─ the rest ──▶ partitions ──▶ pass 2: the first of them ──▶ …
//! ```
//!
//! In a pass rows go into a table as long as there is memory. From then on the table gets no more:
//! a row that isn't in it is set aside, with all that are equal to it. So what is in the table at
//! the end of a pass is whole.
//!
//! Invariants
//!   * each pass does one row at least for good, so passes come to an end
//!   * the rows of a partition come in the order in which they were set aside
//!
//! Callers: DISTINCT, GROUP BY, set operations, aggregates of distinct values.

use expression::Rows;
use sort::{Spool, SpoolReader};
use stop::Stop;

use crate::memory::Memory;
use crate::partitions::{Aside, ReadRows};
use crate::{BATCH_BYTES_MAX, WorkArea, World};

/// The work area of a source: memory, and a temporary file once that has ended.
pub(crate) struct Area {
    pub(crate) memory: Memory,
    file: Option<Aside>,
    /// How many sets of partitions are written at once, at most.
    sets: usize,
    /// The bytes written to files that were given back.
    temp_bytes: u64,
}

impl Area {
    /// Without memory yet; `sets` of partitions are written at once, at most.
    pub(crate) fn new(sets: usize) -> Area {
        Area { memory: Memory::default(), file: None, sets, temp_bytes: 0 }
    }

    /// The temporary file; it is made if there is none.
    fn file<W: World>(&mut self, world: &W) -> &mut Aside {
        let (memory, sets) = (&mut self.memory, self.sets);
        self.file.get_or_insert_with(|| Aside::new(sets, memory, world))
    }

    /// Gives memory and the file back.
    pub(crate) fn give_back<W: World>(&mut self, world: &W) {
        if let Some(mut file) = self.file.take() {
            self.temp_bytes += file.temp_bytes();
            file.close(world);
        }
        self.memory.close(world);
    }

    /// The most that it has taken.
    pub(crate) fn most(&self) -> WorkArea {
        let now = self.file.as_ref().map_or(0, Aside::temp_bytes);
        let memory_bytes_max = self.memory.bytes_max();
        WorkArea { memory_bytes_max, temp_bytes: self.temp_bytes + now }
    }
}

/// Rows that were set aside together.
struct Part {
    spool: Spool,
    /// The level by which its rows are dealt if they are set aside again.
    level: u32,
}

/// The passes of one table.
#[derive(Default)]
pub(crate) struct Passes {
    /// The level by which rows of this pass are dealt.
    level: u32,
    /// The partitions of this pass, from the first row that is set aside on.
    dealt: Option<Vec<Spool>>,
    parts: Vec<Part>,
    /// What this pass reads; none: the input.
    current: Option<(Spool, SpoolReader)>,
}

impl Passes {
    /// Whether rows were set aside in this pass: the table gets no more.
    pub(crate) fn is_full(&self) -> bool {
        self.dealt.is_some()
    }

    /// Whether this pass reads the input, and not what was set aside.
    pub(crate) fn is_first(&self) -> bool {
        self.current.is_none()
    }

    /// Sets a row aside.
    pub(crate) fn set_aside<W: World>(
        &mut self,
        rows: &Rows,
        row: usize,
        hash: u64,
        area: &mut Area,
        world: &W,
    ) -> Result<(), Stop> {
        let file = area.file(world);
        let dealt = self.dealt.get_or_insert_with(|| file.partitions());
        file.deal(dealt, self.level, Some(hash), rows, row, world)
    }

    /// Ends a pass and begins the next one. Returns false if nothing is set aside any more.
    pub(crate) fn next<W: World>(&mut self, area: &mut Area, world: &W) -> Result<bool, Stop> {
        if self.dealt.is_none() && self.parts.is_empty() && self.current.is_none() {
            return Ok(false);
        }
        let file = area.file(world);
        if let Some((spool, reader)) = self.current.take() {
            drop(reader);
            file.discard(spool);
        }
        if let Some(mut dealt) = self.dealt.take() {
            file.finish(&mut dealt, world)?;
            let level = self.level + 1;
            let parts = dealt.into_iter().filter(|spool| spool.rows() > 0);
            self.parts.extend(parts.map(|spool| Part { spool, level }));
        }
        let Some(Part { spool, level }) = self.parts.pop() else { return Ok(false) };
        let reader = file.reader(&spool, world)?;
        self.current = Some((spool, reader));
        self.level = level;
        Ok(true)
    }

    /// Reads the next rows of this pass, which isn't the first. Returns false if there are no more.
    pub(crate) fn read<W: World>(
        &mut self,
        into: &mut ReadRows,
        area: &mut Area,
        world: &W,
    ) -> Result<bool, Stop> {
        let (_, reader) = self.current.as_mut().expect("the first pass reads the input");
        area.file(world).read(reader, into, BATCH_BYTES_MAX as u64, world)
    }
}
