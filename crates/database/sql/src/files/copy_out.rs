//! COPY TO: the rows of a query as lines.
//!
//! Callers: `copy_in`, which has COPY.

use std::rc::Rc;
use std::sync::Arc;

use expression::Rows;
use rowsource::BATCH_ROWS_MAX;
use stop::Stop;
use syntax::{Copy, CopyWhat, quote_ident};

use super::form::Form;
use super::lines::{add_field, add_row};
use super::output::Output;
use crate::engine::Frame;
use crate::names::{Name, fold};
use crate::plan::Plan;
use crate::run::{Execution, Host, Opened, Ran};
use crate::session::{Outcome, Parts, TRIES, Written, changes_all_the_time};

/// Lines are written when this many bytes of them are there.
const PIECE_BYTES: usize = 64 << 10;

impl Frame<'_> {
    /// COPY TO.
    pub(super) fn copy_out(
        &mut self,
        copy: &Copy,
        form: &Form,
        written: Written<'_>,
    ) -> Result<Outcome, Stop> {
        for _ in 0..TRIES {
            let plan = self.plan_out(&copy.what, written)?;
            let opened = Rc::new(Opened::open(Arc::new(plan), self.catalog, self.session)?);
            let ran = self.with_host(|host, Parts { transaction, .. }| {
                let begun = Execution::begin(&opened, &[], host, transaction.as_ref())?;
                let Ran::Done(mut execution) = begun else { return Ok(Ran::Stale) };
                let written = write_all(copy, form, &opened, host, &mut |rows| {
                    execution.fetch(host, transaction.as_ref(), BATCH_ROWS_MAX, rows)
                });
                // Unless it has given its last row.
                execution.close(host);
                written.map(Ran::Done)
            })?;
            if let Ran::Done(rows) = ran {
                return Ok(Outcome { rows, ..Outcome::done("COPY") });
            }
        }
        Err(changes_all_the_time())
    }

    /// The plan of what is copied.
    fn plan_out(&self, what: &CopyWhat, written: Written<'_>) -> Result<Plan, Stop> {
        match what {
            CopyWhat::Query(query) => self.plan_of(query, written),
            CopyWhat::OutOf { table, columns } | CopyWhat::Into { table, columns } => {
                let Name { schema, name } = Name::written(table);
                let schema = schema.map(|schema| format!("{}.", quote_ident(&schema)));
                let columns: Vec<_> =
                    columns.iter().map(|column| quote_ident(&fold(column))).collect();
                let columns = if columns.is_empty() { "*".into() } else { columns.join(", ") };
                let (schema, name) = (schema.unwrap_or_default(), quote_ident(&name));
                let text = format!("select {columns} from {schema}{name}");
                let query = syntax::parse_query(&text).map_err(Stop::from)?;
                // Places would be those of a text that nobody has written.
                self.plan_of(&query, Written { text: "", ..written })
            }
        }
    }
}

/// Writes the rows of a query. Returns how many. If that is refused, no file is left.
fn write_all(
    copy: &Copy,
    form: &Form,
    opened: &Opened,
    host: &Host<'_>,
    fetch: &mut dyn FnMut(&mut Rows) -> Result<bool, Stop>,
) -> Result<u64, Stop> {
    let of = host.virtual_context();
    let mut output = Output::open(&copy.end, form.compression, &of)?;
    let mut write = || -> Result<u64, Stop> {
        let mut bytes = Vec::new();
        if form.header_lines > 0 {
            for (number, column) in opened.plan().columns.iter().enumerate() {
                if number > 0 {
                    bytes.push(form.delimiter);
                }
                add_field(form, &column.name, &mut bytes);
            }
            bytes.push(b'\n');
        }
        let mut batch = Rows::new(opened.plan().frame.root.width());
        let (mut rows, mut goes_on) = (0, true);
        while goes_on {
            batch.clear();
            goes_on = fetch(&mut batch)?;
            rows += batch.len() as u64;
            for row in batch.iter() {
                add_row(form, (0..batch.width()).map(|column| row.get(column)), &mut bytes);
                if bytes.len() >= PIECE_BYTES {
                    output.write(&bytes, &of)?;
                    bytes.clear();
                }
            }
        }
        if !bytes.is_empty() {
            output.write(&bytes, &of)?;
        }
        output.finish(&of)?;
        Ok(rows)
    };
    match write() {
        Ok(rows) => Ok(rows),
        Err(stop) => Err(output.take_back(stop, &of)),
    }
}
