//! The rows of a virtual table: made when the statement asks, kept, and given; or read bit by bit.
//!
//! Invariant: a virtual table without a reader gives its rows at once and may hold latches
//! meanwhile. So they are kept before an expression looks at them (rule SQ42).
//!
//! Callers: `build`.

use std::sync::Arc;

use expression::{Expression, Rows};
use rowsource::{BATCH_ROWS_MAX, Source, World};
use stop::Stop;

use super::kept::{KeptReader, KeptRows};
use super::machine::{Env, Running};
use super::pending::{Pending, has_room};
use crate::schema::{VirtualReader, VirtualTable};

/// The rows of a virtual table for which a filter is true.
pub(super) struct VirtualRows {
    table: Arc<dyn VirtualTable>,
    columns: Vec<usize>,
    filter: Option<Expression>,
    /// Reads the rows, if they can be had bit by bit; then none are kept.
    direct: Option<Box<dyn VirtualReader>>,
    kept: KeptRows,
    reader: KeptReader,
    /// Whether more rows are kept than were read.
    goes_on: bool,
    pending: Pending,
}

impl VirtualRows {
    /// These columns of the table's rows.
    pub(super) fn new(
        table: &Arc<dyn VirtualTable>,
        columns: &[usize],
        filter: Option<&Expression>,
    ) -> VirtualRows {
        VirtualRows {
            table: Arc::clone(table),
            columns: columns.to_vec(),
            filter: filter.cloned(),
            direct: None,
            kept: KeptRows::new(columns.len(), 1),
            reader: KeptReader::default(),
            goes_on: false,
            pending: Pending::new(columns.len()),
        }
    }

    /// Keeps all rows of the table.
    fn keep(&mut self, env: &Env<'_>) -> Result<(), Stop> {
        let VirtualRows { table, columns, kept, .. } = self;
        let (host, mut batch) = (env.host, Rows::new(columns.len()));
        table.rows(&host.virtual_context(), &mut |row| {
            batch.push(columns.iter().map(|column| row[*column]));
            if batch.len() == BATCH_ROWS_MAX {
                host.check()?;
                kept.append(&batch, host)?;
                batch.clear();
            }
            Ok(())
        })?;
        kept.append(&batch, host)?;
        kept.finish(host)
    }

    fn close_direct(&mut self, env: &Env<'_>) {
        if let Some(mut reader) = self.direct.take() {
            reader.close(&env.host.virtual_context());
        }
    }
}

impl<'a> Source<Running<'a>> for VirtualRows {
    fn open(&mut self, world: &mut Running<'a>) -> Result<(), Stop> {
        self.kept.clear(world.env.host);
        self.reader = KeptReader::default();
        self.pending.restart();
        self.goes_on = true;
        self.close_direct(world.env);
        self.direct = self.table.reader(&self.columns);
        match self.direct {
            Some(_) => Ok(()),
            None => self.keep(world.env),
        }
    }

    fn fetch(&mut self, world: &mut Running<'a>, into: &mut Rows) -> Result<bool, Stop> {
        let most = world.batch();
        loop {
            world.check()?;
            self.pending.give(self.filter.as_ref(), most, into, world)?;
            if !has_room(into, most) {
                return Ok(true);
            }
            if !self.goes_on {
                return Ok(false);
            }
            let (rows, host) = (self.pending.refill(), world.env.host);
            self.goes_on = match &mut self.direct {
                Some(reader) => reader.next(&host.virtual_context(), most, rows)?,
                None => self.kept.read(&mut self.reader, most, rows, host)?,
            };
        }
    }

    fn close(&mut self, world: &mut Running<'a>) {
        self.goes_on = false;
        self.close_direct(world.env);
        self.kept.clear(world.env.host);
        self.pending.close(world);
    }

    fn width(&self) -> usize {
        self.columns.len()
    }
}
