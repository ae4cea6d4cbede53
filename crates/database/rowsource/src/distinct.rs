//! Rows that differ: by a hash table, or of an input that has equal rows together.
//!
//! Invariants
//!   * NULL equals NULL here
//!   * of equal rows the first comes, as far as they were in memory
//!
//! Callers: plans, for DISTINCT and UNION; [`Unique`] above a sort for DISTINCT ON.

use expression::Rows;
use stop::Stop;

use crate::groups::Groups;
use crate::hash::{group_equal, group_hash};
use crate::partitions::ReadRows;
use crate::passes::{Area, Passes};
use crate::source::has_room;
use crate::{Source, WorkArea, World};

/// One row of each that are equal in some columns, in any order.
pub struct Distinct<S> {
    input: S,
    columns: Vec<usize>,
    groups: Groups,
    area: Area,
    passes: Passes,
    batch: ReadRows,
    at: usize,
    /// Whether the rows of this pass are over, and whether all are.
    is_pass_over: bool,
    is_over: bool,
}

impl<S> Distinct<S> {
    /// One row of each of `input` that are equal in these columns.
    pub fn new(input: S, columns: Vec<usize>) -> Distinct<S> {
        Distinct {
            input,
            groups: Groups::new(columns.len()),
            columns,
            area: Area::new(1),
            passes: Passes::default(),
            batch: ReadRows::default(),
            at: 0,
            is_pass_over: true,
            is_over: true,
        }
    }

    fn give_back<W: World>(&mut self, world: &W) {
        self.groups.clear();
        self.passes = Passes::default();
        self.batch = ReadRows::default();
        self.at = 0;
        (self.is_pass_over, self.is_over) = (true, true);
        self.area.give_back(world);
    }

    /// Appends those of the rows in hand that are new.
    fn look<W: World>(&mut self, world: &W, into: &mut Rows, most: usize) -> Result<(), Stop> {
        let Distinct { columns, groups, area, passes, batch, .. } = self;
        while self.at < batch.rows.len() && has_room(into, most) {
            let (row, hash) = (batch.rows.row(self.at), batch.hashes[self.at]);
            let hash = hash.expect("each row has a hash");
            if groups.find(row, columns, hash).is_none() {
                let bytes = groups.bytes_with(row, columns);
                let fits = !passes.is_full()
                    && groups.has_numbers()
                    && (area.memory.ask(bytes, world) || groups.count() == 0);
                if fits {
                    area.memory.need(bytes, world);
                    groups.add(row, columns, hash);
                    into.push_row(&row);
                } else {
                    passes.set_aside(&batch.rows, self.at, hash, area, world)?;
                }
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Gets the next rows of this pass.
    fn next_rows<W: World>(&mut self, world: &mut W) -> Result<(), Stop>
    where
        S: Source<W>,
    {
        self.at = 0;
        let more = if self.passes.is_first() {
            self.batch.clear();
            let more = self.input.fetch(world, &mut self.batch.rows)?;
            let hash = |row| Some(group_hash(row, &self.columns));
            self.batch.hashes.extend(self.batch.rows.iter().map(hash));
            more
        } else {
            self.passes.read(&mut self.batch, &mut self.area, world)?
        };
        self.is_pass_over = !more;
        Ok(())
    }
}

impl<W: World, S: Source<W>> Source<W> for Distinct<S> {
    fn open(&mut self, world: &mut W) -> Result<(), Stop> {
        self.give_back(world);
        self.batch = ReadRows::new(self.input.width());
        (self.is_pass_over, self.is_over) = (false, false);
        self.input.open(world)
    }

    fn fetch(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop> {
        let most = world.batch();
        while !self.is_over && has_room(into, most) {
            world.check()?;
            if self.at < self.batch.rows.len() {
                self.look(world, into, most)?;
            } else if !self.is_pass_over {
                self.next_rows(world)?;
            } else {
                self.groups.clear();
                if self.passes.next(&mut self.area, world)? {
                    self.is_pass_over = false;
                } else {
                    self.give_back(world);
                }
            }
        }
        Ok(!self.is_over)
    }

    fn close(&mut self, world: &mut W) {
        self.give_back(world);
        self.input.close(world);
    }

    fn width(&self) -> usize {
        self.input.width()
    }

    fn work_area(&self) -> WorkArea {
        self.area.most()
    }
}

/// The first of neighbouring rows that are equal in some columns.
#[derive(Debug)]
pub struct Unique<S> {
    input: S,
    columns: Vec<usize>,
    /// The columns of the row that came last, if there is one.
    last: Rows,
    batch: Rows,
}

impl<S> Unique<S> {
    /// The first of each rows of `input` that are equal in these columns. The input has them
    /// together, as a sort does.
    pub fn new(input: S, columns: Vec<usize>) -> Unique<S> {
        Unique { input, last: Rows::new(columns.len()), columns, batch: Rows::new(0) }
    }
}

impl<W: World, S: Source<W>> Source<W> for Unique<S> {
    fn open(&mut self, world: &mut W) -> Result<(), Stop> {
        self.last.clear();
        self.batch.set_width(self.input.width());
        self.input.open(world)
    }

    fn fetch(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop> {
        let Unique { input, columns, last, batch } = self;
        loop {
            world.check()?;
            batch.clear();
            let more = input.fetch(world, batch)?;
            for row in batch.iter() {
                if last.is_empty() || !group_equal(row, columns, last.row(0)) {
                    last.clear();
                    last.push(columns.iter().map(|column| row.get(*column)));
                    into.push_row(&row);
                }
            }
            if !more || !into.is_empty() {
                return Ok(more);
            }
        }
    }

    fn close(&mut self, world: &mut W) {
        (self.last, self.batch) = (Rows::new(self.columns.len()), Rows::new(0));
        self.input.close(world);
    }

    fn width(&self) -> usize {
        self.input.width()
    }
}
