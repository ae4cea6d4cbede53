//! EXPLAIN: the plan of a statement as lines or as JSON. With ANALYZE the statement runs, and what
//! it did is said beside.
//!
//! ```text
//!   Update of emp
//!     ->  Index lookup of emp by emp_pkey  (cost=1.0..1.4 rows=1)
//!           Search: id = $1
//!   Plan hash value: 2731904462
//! ```
//!
//! A cost is an expected time in microseconds. `rows` in the first brackets is what is expected of
//! one start; what is measured is of all starts together, as in Oracle.
//!
//! | module | what it has |
//! |---|---|
//! | `analyze` | the statement runs and is measured |
//! | `figures` | what a row source did, as text and as JSON |
//! | `profile` | where the statement's time went, as text and as JSON |
//!
//! Callers: `session`.

mod analyze;
mod figures;
mod profile;

use std::fmt::Write;
use std::sync::Arc;

use expression::{Kind, Rows};
use rowsource::Figures;
use stop::Stop;
use syntax::{Explain, ExplainFormat, Statement, TableContent};
use value::Value;
use waits::Nanos;

use crate::cache::Wish;
use crate::engine::Frame;
use crate::plan::{Action, Plan, PlanLine, fingerprint, lines};
use crate::session::{Columns, Outcome, Written, elsewhere};
use analyze::Measured;

/// The name of the one column.
const COLUMN: &str = "QUERY PLAN";

impl Frame<'_> {
    /// EXPLAIN.
    pub(crate) fn explain(
        &mut self,
        explain: &Explain,
        written: Written<'_>,
        into: &mut Rows,
    ) -> Result<Outcome, Stop> {
        let measured = match explain.analyze {
            true => Some(self.analyze_run(explain, written)?),
            false => None,
        };
        let (plan, planning) = match &measured {
            Some(measured) => (Arc::clone(&measured.plan), measured.planning),
            None => {
                let began = self.session.now();
                let plan = self.plan_to_explain(&explain.statement, written)?;
                (plan, self.session.now().since(began))
            }
        };
        let action = self.action_line(&plan)?;
        let (plan, measured) = (&*plan, measured.as_ref());
        let lines = lines(&plan.frame);
        let all = Explained { asked: explain, plan, action, lines, measured, planning };
        into.set_width(1);
        match explain.format {
            ExplainFormat::Text => all.text().iter().for_each(|line| {
                into.push([Value::Text(line)]);
            }),
            ExplainFormat::Json => into.push([Value::Text(&all.json())]),
        }
        let (rows, columns) = (into.len() as u64, Columns::own(&[(COLUMN, Kind::Text)]));
        Ok(Outcome { rows, columns, ..Outcome::done("EXPLAIN") })
    }

    fn plan_to_explain(
        &self,
        statement: &Statement,
        written: Written<'_>,
    ) -> Result<Arc<Plan>, Stop> {
        match statement {
            Statement::Execute(execute) => {
                let prepared = self.state.statements.executed(execute)?;
                let now = self.session.now();
                let mut planned = self.planned(&prepared.0, false, now).map_err(elsewhere)?;
                if !planned.opened.plan().basis.holds(self.catalog, self.session) {
                    planned = self.planned(&prepared.0, true, now).map_err(elsewhere)?;
                }
                Ok(Arc::clone(planned.opened.plan()))
            }
            Statement::CreateTable(create) => match &create.content {
                TableContent::Query { query, .. } => {
                    self.plan_of(&query.tree, written).map(Arc::new)
                }
                TableContent::Defined { .. } => unreachable!("it has no plan, and isn't parsed"),
            },
            rows => {
                let methods = self.state.own.settings.used.methods;
                let wish = Wish { said: &[], methods };
                self.ground().plan(written.text, rows, written.binds, wish).map(Arc::new)
            }
        }
    }

    /// What is done with the rows, as a line; none if they are given.
    fn action_line(&self, plan: &Plan) -> Result<Option<String>, Stop> {
        let name = |table: usize| -> Result<String, Stop> {
            let relation = self.catalog.relation_of(plan.tables[table], self.session)?;
            Ok(relation.definition().name.clone())
        };
        Ok(match &plan.action {
            Action::Query => None,
            Action::Lock(lock) => {
                let names: Result<Vec<String>, Stop> =
                    lock.tables.iter().map(|one| name(one.table)).collect();
                Some(format!("Lock rows of {}", names?.join(", ")))
            }
            Action::Insert(insert) => Some(format!("Insert into {}", name(insert.table)?)),
            Action::Update(update) => Some(format!("Update of {}", name(update.table)?)),
            Action::Delete(delete) => Some(format!("Delete from {}", name(delete.table)?)),
            Action::Merge(merge) => Some(format!("Merge into {}", name(merge.table)?)),
        })
    }
}

/// A plan that is explained.
struct Explained<'p> {
    /// What is to be said.
    asked: &'p Explain,
    plan: &'p Plan,
    action: Option<String>,
    lines: Vec<PlanLine>,
    /// What it did, if it has run.
    measured: Option<&'p Measured>,
    /// How long it took to get the plan.
    planning: Nanos,
}

impl Explained<'_> {
    /// Whether the time of planning, and of the run if there was one, is said.
    fn has_summary(&self) -> bool {
        self.asked.summary.unwrap_or(self.measured.is_some())
    }

    /// The plan as lines of text.
    fn text(&self) -> Vec<String> {
        let mut out = Vec::new();
        if let Some(action) = &self.action {
            let rows = self.measured.map(|measured| format!(" (actual rows={})", measured.rows));
            out.push(format!("{action}{}", rows.unwrap_or_default()));
        }
        let inward = usize::from(self.action.is_some());
        for line in &self.lines {
            let depth = line.depth + inward;
            let arrow = if depth == 0 || line.place.is_none() { "" } else { "->  " };
            // Six blanks for each level, as PostgreSQL has them.
            let lead = match depth {
                0 => String::new(),
                depth => " ".repeat(2 + 6 * (depth - 1)),
            };
            let figures = self.figures_of(line);
            let beside = figures.map(|of| figures::beside(of, self.asked.timing));
            let (head, actual) = (heading(line, self.asked), beside.unwrap_or_default());
            out.push(format!("{lead}{arrow}{head}{actual}"));
            let inner = " ".repeat(lead.len() + arrow.len() + 2);
            let details = line.details.iter();
            out.extend(details.map(|one| format!("{inner}{}: {}", one.about, one.text)));
            let work = figures.filter(|_| self.asked.buffers).and_then(figures::below);
            out.extend(work.map(|work| format!("{inner}{work}")));
        }
        out.push(format!("Plan hash value: {}", fingerprint(&self.plan.frame)));
        match self.measured.filter(|_| self.has_summary()) {
            Some(measured) => out.extend(profile::text(&measured.account, self.planning)),
            None if self.has_summary() => out.push(profile::planning_line(self.planning)),
            None => {}
        }
        out
    }

    /// What the row source of a line did; none if the statement wasn't run, or for a heading. A
    /// source that was never started did nothing.
    fn figures_of(&self, line: &PlanLine) -> Option<Figures> {
        let (measured, place) = (self.measured?, line.place?);
        Some(measured.figures.get(place).copied().unwrap_or_default())
    }

    /// The plan as JSON.
    fn json(&self) -> String {
        let mut out = String::from("[{\"Plan Hash Value\": ");
        let _ = write!(out, "{}", fingerprint(&self.plan.frame));
        if let Some(action) = &self.action {
            let _ = write!(out, ", \"Action\": {}", quoted(action));
        }
        if let Some(measured) = self.measured {
            let _ = write!(out, ", \"Actual Rows\": {}", measured.rows);
        }
        out.push_str(", \"Nodes\": [");
        for (number, line) in self.lines.iter().enumerate() {
            let between = if number == 0 { "\n  {" } else { ",\n  {" };
            let _ = write!(out, "{between}\"Depth\": {}", line.depth);
            let _ = write!(out, ", \"Operation\": {}", quoted(&line.operation));
            if let Some(object) = &line.object {
                let _ = write!(out, ", \"Object\": {}", quoted(object));
            }
            if let Some(estimate) = line.estimate.as_ref().filter(|_| self.asked.costs) {
                let _ = write!(
                    out,
                    ", \"Rows\": {:.0}, \"Startup Cost\": {:.2}, \"Total Cost\": {:.2}",
                    estimate.rows, estimate.first, estimate.all
                );
            }
            for detail in &line.details {
                let _ = write!(out, ", {}: {}", quoted(detail.about), quoted(&detail.text));
            }
            if let Some(figures) = self.figures_of(line) {
                let Explain { timing, buffers, .. } = *self.asked;
                out.push_str(&figures::json(figures, timing, buffers));
            }
            out.push('}');
        }
        out.push_str("\n]");
        match self.measured.filter(|_| self.has_summary()) {
            Some(measured) => out.push_str(&profile::json(&measured.account, self.planning)),
            None if self.has_summary() => out.push_str(&profile::planning_json(self.planning)),
            None => {}
        }
        out.push_str("}]");
        out
    }
}

/// An operation, with what is expected of it if that is to be said.
fn heading(line: &PlanLine, asked: &Explain) -> String {
    let mut out = line.operation.clone();
    if let Some(object) = &line.object {
        let _ = write!(out, " of {object}");
    }
    if let Some(estimate) = line.estimate.as_ref().filter(|_| asked.costs) {
        let _ = write!(
            out,
            "  (cost={:.2}..{:.2} rows={:.0}",
            estimate.first, estimate.all, estimate.rows
        );
        if asked.verbose {
            let _ = write!(out, " bytes={:.0}", line.row_bytes);
        }
        out.push(')');
    }
    out
}

/// A text of JSON.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if u32::from(c) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_json_has_no_signs_of_its_own() {
        assert_eq!(quoted("a \"b\"\\\n"), "\"a \\\"b\\\"\\\\\\u000a\"");
    }
}
