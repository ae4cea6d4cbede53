//! CHECK constraints that are expressions: their texts become predicates.
//!
//! Invariant: a CHECK reads its row and nothing else, and has the same value at all times. So it
//! needs no connection.
//!
//! Callers: the catalog, when a table is opened; `define`, for the columns that a new one reads.

use expression::{Bare, Expression};
use ids::ObjectNo;
use relation::{CheckCompiler, CheckExpression, Predicate, TableDefinition, Truth};
use sqlparser::ast::Expr;
use stop::{RefusalKind, Stop};
use syntax::{Mention, quote_ident};
use value::Value;

use crate::bind::{Binder, CheckedColumn};
use crate::names::Name;
use crate::refuse::Bind;
use crate::schema::{Found, Schema};
use crate::stack::{self, MAKING, with_stack};

/// Makes predicates of CHECKs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checks;

/// A CHECK that can be evaluated.
struct Check {
    condition: Expression,
    /// The levels of the condition.
    levels: usize,
}

impl Check {
    fn new(condition: Expression) -> Check {
        Check { levels: condition.depth(), condition }
    }
}

/// It is dropped by whoever has the table open last, on a stack that may be short.
impl Drop for Check {
    fn drop(&mut self) {
        let condition = std::mem::replace(&mut self.condition, Expression::NULL);
        stack::dropped(self.levels, condition);
    }
}

/// A dictionary in which nothing is: a CHECK names no tables.
struct Nothing;

impl Schema for Nothing {
    fn find(&self, _: &Name) -> Result<Option<Found>, Stop> {
        Ok(None)
    }

    fn sequence(&self, _: &str) -> Result<Option<ObjectNo>, Stop> {
        Ok(None)
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The condition of a CHECK of a table with these columns, by their places; none for one that was
/// dropped.
pub(crate) fn bound(
    expr: &Expr,
    table: &str,
    columns: &[Option<CheckedColumn<'_>>],
) -> Bind<Expression> {
    Binder::new(&Nothing, 0).check_alone(expr, table, columns)
}

/// The columns of a table that a CHECK may name.
pub(crate) fn columns_of(table: &TableDefinition) -> Vec<Option<CheckedColumn<'_>>> {
    let mut columns = Vec::with_capacity(table.columns.len());
    for of in &table.columns {
        let is_there = !of.is_dropped();
        columns.push(is_there.then_some(CheckedColumn { name: &of.name, kind: of.kind }));
    }
    columns
}

impl CheckCompiler for Checks {
    fn compile(
        &self,
        check: &CheckExpression,
        table: &TableDefinition,
    ) -> Result<Box<dyn Predicate>, Stop> {
        let lead = format!("CHECK {} of table {} can't be read: ", check.name, table.name);
        let compiled = with_stack(MAKING, || {
            let expr = syntax::parse_expression(&check.text).map_err(Stop::from)?;
            let condition = bound(&expr, &table.name, &columns_of(table));
            condition.map(Check::new).map_err(|refused| refused.elsewhere().within(""))
        });
        let compiled =
            compiled.map_err(|stop| stop.map_refusal(|refusal| refusal.led_by(&lead)))?;
        Ok(Box::new(compiled))
    }

    /// Words are replaced where the old name may be meant; that it was meant there, and nowhere
    /// else, shows in the condition, which has to be the same as before.
    fn renamed(
        &self,
        check: &CheckExpression,
        before: &TableDefinition,
        after: &TableDefinition,
    ) -> Result<String, Stop> {
        let columns = before.columns.iter().zip(&after.columns);
        let other = |mention: Mention<'_>| {
            let new = match mention.next {
                Some('(') => None,
                Some('.') => (mention.name == before.name).then_some(&after.name),
                _ => {
                    let mut columns = columns.clone();
                    columns.find(|(old, _)| old.name == mention.name).map(|(_, new)| &new.name)
                }
            };
            new.filter(|new| *new != mention.name).map(|new| quote_ident(new))
        };
        let text = syntax::replace_names(&check.text, &other);
        let condition = |text: &str, table: &TableDefinition| {
            let expr = syntax::parse_expression(text).ok()?;
            bound(&expr, &table.name, &columns_of(table)).ok()
        };
        let is_same = with_stack(MAKING, || {
            let was = condition(&check.text, before);
            was.is_some() && was == condition(&text, after)
        });
        match is_same {
            true => Ok(text),
            false => {
                let message = format!(
                    "cannot rename what check {} of table {} says: CHECK ({}) can't be written \
                     with the new name; drop the check, and add it again",
                    check.name, before.name, check.text
                );
                Err(Stop::refuse(RefusalKind::WrongState, message))
            }
        }
    }
}

impl Predicate for Check {
    fn truth(&self, row: &[Value<'_>]) -> Result<Truth, Stop> {
        with_stack(stack::to_run(self.levels), || {
            let bare = Bare::new();
            Ok(match self.condition.truth(&row, &bare.evaluation())? {
                Some(true) => Truth::True,
                Some(false) => Truth::False,
                None => Truth::Unknown,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use value::Type;

    fn columns() -> Vec<Option<CheckedColumn<'static>>> {
        let column = |name, kind| Some(CheckedColumn { name, kind });
        vec![column("a", Type::Integer), None, column("b", Type::Text)]
    }

    fn check(text: &str) -> Bind<Expression> {
        let expr = syntax::parse_expression(text).expect("it is one");
        bound(&expr, "t", &columns())
    }

    fn truth(text: &str, a: Value<'_>, b: Value<'_>) -> Truth {
        let check = Check::new(check(text).expect("sound"));
        check.truth(&[a, Value::Null, b]).expect("it has a value")
    }

    #[test]
    fn a_check_reads_its_row_by_the_places_of_columns() {
        let (one, text) = (Value::Int(1), Value::Text("xyz"));
        assert_eq!(truth("a > 0 and length(t.b) = 3", one, text), Truth::True);
        assert_eq!(truth("a > 1", one, text), Truth::False);
        assert_eq!(truth("a > 1", Value::Null, text), Truth::Unknown);
    }

    #[test]
    fn what_may_change_by_itself_is_refused() {
        for text in ["a > random()", "b = now()", "a in (select 1)", "c > 0", "a"] {
            assert!(check(text).is_err(), "{text}");
        }
    }
}
