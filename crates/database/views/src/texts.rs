//! Definitions as texts of SQL: types, conditions, indexes, constraints.
//!
//! Callers: views of the dictionary; `lookup`, for PostgreSQL's `pg_get_indexdef` and its like.

use relation::{
    Comparison, Condition, IndexColumn, IndexDefinition, OnDelete, Operand, TableDefinition,
};
use value::{Direction, NullOrdering, Type};

use crate::objects::{Constraint, Known, delete_rule};

/// A name as a statement writes it: in quotes if it needs them.
pub(crate) fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_$#".contains(c);
    let begins = |c: char| c.is_ascii_lowercase() || c == '_';
    match name.starts_with(begins) && name.chars().all(plain) {
        true => name.to_string(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// The columns at these places, with commas between.
fn listed(table: &TableDefinition, columns: &[usize]) -> String {
    let names = columns.iter().map(|place| quoted(&table.columns[*place].name));
    names.collect::<Vec<_>>().join(", ")
}

/// A type's name as PostgreSQL writes it.
pub(crate) fn type_text(kind: Type) -> String {
    match kind {
        Type::Number(None) => "numeric".into(),
        Type::Number(Some(digits)) => {
            format!("numeric({},{})", digits.precision(), digits.scale())
        }
        Type::Varchar(chars) => format!("character varying({})", chars.get()),
        Type::Char(chars) => format!("character({})", chars.get()),
        Type::Timestamp => "timestamp without time zone".into(),
        other => other.to_string().to_lowercase(),
    }
}

/// A type's name without precision and length, as `data_type` of the standard's views has it.
pub(crate) fn type_name(kind: Type) -> String {
    let text = type_text(kind);
    text.split('(').next().unwrap_or_default().to_string()
}

/// The condition of a CHECK.
pub(crate) fn condition_text(condition: &Condition, table: &TableDefinition) -> String {
    let parts = |all: &[Condition], between: &str| -> String {
        let all: Vec<String> =
            all.iter().map(|one| format!("({})", condition_text(one, table))).collect();
        all.join(between)
    };
    match condition {
        Condition::Compare(a, comparison, b) => {
            let (a, b) = (operand_text(a, table), operand_text(b, table));
            format!("{a} {} {b}", comparison_text(*comparison))
        }
        Condition::IsNull(operand) => format!("{} IS NULL", operand_text(operand, table)),
        Condition::And(all) if all.is_empty() => "TRUE".into(),
        Condition::Or(all) if all.is_empty() => "FALSE".into(),
        Condition::And(all) => parts(all, " AND "),
        Condition::Or(all) => parts(all, " OR "),
        Condition::Not(one) => match &**one {
            Condition::IsNull(operand) => format!("{} IS NOT NULL", operand_text(operand, table)),
            other => format!("NOT ({})", condition_text(other, table)),
        },
    }
}

fn operand_text(operand: &Operand, table: &TableDefinition) -> String {
    match operand {
        Operand::Column(place) => quoted(&table.columns[*place].name),
        Operand::Constant(value) => value.get().to_string(),
    }
}

fn comparison_text(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "=",
        Comparison::NotEqual => "<>",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}

/// A column of an index, with its order where that isn't the usual one.
pub(crate) fn index_column_text(table: &TableDefinition, of: &IndexColumn) -> String {
    let mut text = quoted(&table.columns[of.column].name);
    if of.direction == Direction::Descending {
        text.push_str(" DESC");
    }
    if of.nulls != NullOrdering::of(of.direction) {
        text.push_str(match of.nulls {
            NullOrdering::First => " NULLS FIRST",
            NullOrdering::Last => " NULLS LAST",
        });
    }
    text
}

/// The statement that makes an index.
pub(crate) fn index_text(table: &TableDefinition, index: &IndexDefinition) -> String {
    let columns: Vec<String> =
        index.columns.iter().map(|of| index_column_text(table, of)).collect();
    format!(
        "CREATE {}INDEX {} ON {}.{} USING btree ({})",
        if index.unique { "UNIQUE " } else { "" },
        quoted(&index.name),
        crate::names::PUBLIC,
        quoted(&table.name),
        columns.join(", ")
    )
}

/// What a table's definition says of a constraint, without its name.
pub(crate) fn constraint_text(constraint: &Constraint<'_>, known: &Known) -> String {
    use crate::objects::ConstraintKind::{Check, ForeignKey, PrimaryKey, Unique};
    let columns = listed(constraint.table, &constraint.columns);
    match (constraint.kind, constraint.foreign) {
        (PrimaryKey, _) => format!("PRIMARY KEY ({columns})"),
        (Unique, _) => format!("UNIQUE ({columns})"),
        (Check, _) => format!("CHECK ({})", constraint.condition.as_deref().unwrap_or_default()),
        (ForeignKey, None) => format!("FOREIGN KEY ({columns})"),
        (ForeignKey, Some(key)) => {
            let parent = known.table(key.references);
            let to = parent.map_or_else(String::new, |parent| {
                format!("{}({})", quoted(&parent.name), listed(parent, &key.referenced_columns))
            });
            let rule = match key.on_delete {
                OnDelete::NoAction => String::new(),
                other => format!(" ON DELETE {}", delete_rule(other)),
            };
            format!("FOREIGN KEY ({columns}) REFERENCES {to}{rule}")
        }
    }
}

#[cfg(test)]
mod tests {
    use ids::ObjectNo;
    use relation::ColumnDefinition;
    use value::Value;

    use super::*;

    fn table() -> TableDefinition {
        let mut table = TableDefinition::new(ObjectNo::new(7), "t", ObjectNo::new(7));
        let column = |name, kind| ColumnDefinition::new(name, kind, false);
        table.columns = vec![column("a", Type::BigInt), column("Big one", Type::Text)];
        table
    }

    #[test]
    fn a_name_is_in_quotes_if_it_needs_them() {
        let cases = [("a_1", "a_1"), ("v$x#", "v$x#"), ("A", "\"A\""), ("1a", "\"1a\"")];
        for (name, text) in cases.into_iter().chain([("a\"b", "\"a\"\"b\"")]) {
            assert_eq!(quoted(name), text);
        }
    }

    #[test]
    fn types_are_written_as_in_postgresql() {
        let number = Type::number(10, 2).expect("may be declared");
        let varchar = Type::varchar(20).expect("may be declared");
        let texts = [number, varchar, Type::Timestamp, Type::Double, Type::BigInt].map(type_text);
        let expected = [
            "numeric(10,2)",
            "character varying(20)",
            "timestamp without time zone",
            "double precision",
            "bigint",
        ];
        assert_eq!(texts, expected);
        assert_eq!(type_name(varchar), "character varying");
    }

    #[test]
    fn a_check_is_written_as_it_could_be_declared() {
        let (table, column) = (table(), Operand::Column);
        let constant = |value: Value<'_>| Operand::Constant(value.to_owned());
        let above = Condition::Compare(column(0), Comparison::Greater, constant(Value::Int(5)));
        let named =
            Condition::Compare(column(1), Comparison::NotEqual, constant(Value::Text("it's")));
        let not_null = Condition::Not(Box::new(Condition::IsNull(column(0))));
        let all = Condition::And(vec![above, Condition::Or(vec![named, not_null])]);
        let text = condition_text(&all, &table);
        assert_eq!(text, "(a > 5) AND ((\"Big one\" <> 'it''s') OR (a IS NOT NULL))");
        assert_eq!(condition_text(&Condition::And(vec![]), &table), "TRUE");
    }

    #[test]
    fn an_index_says_its_order_where_that_is_not_the_usual_one() {
        let mut table = table();
        let direction = Direction::Descending;
        let descending = IndexColumn { direction, ..IndexColumn::ascending(0) };
        let columns = vec![descending, IndexColumn::ascending(1)];
        let (object, segment) = (ObjectNo::new(8), ObjectNo::new(8));
        let (name, since) = ("i".to_string(), ids::Scn::ZERO);
        table.indexes.push(IndexDefinition {
            object,
            name,
            segment,
            columns,
            unique: true,
            primary: false,
            since,
        });
        let text = index_text(&table, &table.indexes[0]);
        let expected =
            "CREATE UNIQUE INDEX i ON public.t USING btree (a DESC NULLS LAST, \"Big one\")";
        assert_eq!(text, expected);
    }
}
