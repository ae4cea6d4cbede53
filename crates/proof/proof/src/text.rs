//! Statements as SQL text: what the API is told by values, written out.
//!
//! ```text
//!   Text:  parts of a text ─ values: `$1`, or as literals ─▶ text │ binds
//!   specs of definitions ─▶ CREATE TABLE, CREATE INDEX, ALTER TABLE, ...
//! ```
//!
//! Invariants
//!   * names are in quotes: what a word means to SQL makes no difference
//!   * a definition by its text and one by its spec make the same of the dictionary, but for a
//!     CHECK, of which the text is kept
//!
//! Callers: `defining`, `hands`, `model_check`.

use std::fmt::Write;

use database::{
    Alteration, ColumnSpec, Comparison, Condition, ConstraintSpec, DefaultSpec, ForeignKeySpec,
    IndexDirection, IndexSpec, NullOrdering, OnDelete, Operand, OwnedValue, Rule, SequenceOptions,
    TableSpec, Type, Value,
};

/// A statement under way: its text, and the values of its parameters.
#[derive(Debug, Default)]
pub(crate) struct Text {
    text: String,
    binds: Vec<OwnedValue>,
    /// Whether values are written out rather than bound.
    literals: bool,
}

impl Text {
    /// Begins a statement with these words.
    pub(crate) fn new(words: &str) -> Text {
        Text { text: words.to_string(), ..Text::default() }
    }

    /// The same, with values written out rather than bound if that is said.
    pub(crate) fn with_literals(self, literals: bool) -> Text {
        Text { literals, ..self }
    }

    /// Adds words.
    pub(crate) fn add(&mut self, words: &str) -> &mut Text {
        self.text.push_str(words);
        self
    }

    /// Adds a name, in quotes.
    pub(crate) fn name(&mut self, name: &str) -> &mut Text {
        self.add(&quoted(name))
    }

    /// Adds names with commas between them.
    pub(crate) fn names<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) -> &mut Text {
        self.add(&listed(names))
    }

    /// Adds a value.
    pub(crate) fn value(&mut self, value: Value<'_>) -> &mut Text {
        match self.literals {
            true => write!(self.text, "{value}").expect("writing to memory"),
            false => {
                self.binds.push(value.to_owned());
                write!(self.text, "${}", self.binds.len()).expect("writing to memory");
            }
        }
        self
    }

    /// Adds a value where nothing else says of which type it is.
    pub(crate) fn value_as(&mut self, value: Value<'_>, kind: Type) -> &mut Text {
        self.add("cast(").value(value).add(&format!(" as {kind})"))
    }

    /// Adds each of these by `one`, with `between` between them.
    pub(crate) fn each<T>(
        &mut self,
        all: impl IntoIterator<Item = T>,
        between: &str,
        mut one: impl FnMut(&mut Text, T),
    ) -> &mut Text {
        for (number, each) in all.into_iter().enumerate() {
            if number > 0 {
                self.add(between);
            }
            one(self, each);
        }
        self
    }

    /// The text.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The values of its parameters, in their order.
    pub(crate) fn binds(&self) -> Vec<Value<'_>> {
        self.binds.iter().map(OwnedValue::get).collect()
    }
}

/// A name as a text has it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    names.into_iter().map(quoted).collect::<Vec<_>>().join(", ")
}

fn listed_owned(names: &[String]) -> String {
    listed(names.iter().map(String::as_str))
}

/// CREATE TABLE.
pub(crate) fn create_table(spec: &TableSpec) -> String {
    let mut parts: Vec<String> = spec.columns.iter().map(column).collect();
    let name_of = |place: usize| quoted(&spec.columns[place].name);
    parts.extend(spec.constraints.iter().map(|one| constraint(one, &name_of)));
    let tablespace = spec.tablespace.as_ref().map(|name| format!(" tablespace {}", quoted(name)));
    let (name, all) = (quoted(&spec.name), parts.join(", "));
    format!("create table {name} ({all}){}", tablespace.unwrap_or_default())
}

fn column(spec: &ColumnSpec) -> String {
    let default = match &spec.default {
        DefaultSpec::Constant(value) if value.get().is_null() => String::new(),
        DefaultSpec::Constant(value) => format!(" default {}", value.get()),
        DefaultSpec::Expression { text, .. } => format!(" default {text}"),
        DefaultSpec::Identity { always, options } => {
            let when = if *always { "always" } else { "by default" };
            format!(" generated {when} as identity ({})", sequence_options(options))
                .replace(" ()", "")
        }
    };
    let not_null = if spec.not_null { " not null" } else { "" };
    format!("{} {}{default}{not_null}", quoted(&spec.name), spec.kind)
}

fn constraint(spec: &ConstraintSpec, name_of: &dyn Fn(usize) -> String) -> String {
    let name = spec.name.as_ref().map(|name| format!("constraint {} ", quoted(name)));
    let rule = match &spec.rule {
        Rule::PrimaryKey(columns) => format!("primary key ({})", listed_owned(columns)),
        Rule::Unique(columns) => format!("unique ({})", listed_owned(columns)),
        Rule::Check(check) => format!("check ({})", condition(check, name_of)),
        Rule::CheckExpression { text, .. } => format!("check ({text})"),
        Rule::ForeignKey(key) => foreign_key(key),
    };
    format!("{}{rule}", name.unwrap_or_default())
}

fn foreign_key(key: &ForeignKeySpec) -> String {
    let referenced = match key.referenced_columns.is_empty() {
        true => String::new(),
        false => format!(" ({})", listed_owned(&key.referenced_columns)),
    };
    let on_delete = match key.on_delete {
        OnDelete::NoAction => "",
        OnDelete::Cascade => " on delete cascade",
        OnDelete::SetNull => " on delete set null",
    };
    let (columns, parent) = (listed_owned(&key.columns), quoted(&key.references));
    format!("foreign key ({columns}) references {parent}{referenced}{on_delete}")
}

/// A condition of a CHECK, with the names of columns by their places.
pub(crate) fn condition(of: &Condition, name_of: &dyn Fn(usize) -> String) -> String {
    let operand = |of: &Operand| match of {
        Operand::Column(place) => name_of(*place),
        Operand::Constant(value) => value.get().to_string(),
    };
    let all = |parts: &[Condition], word: &str| {
        let parts = parts.iter().map(|part| format!("({})", condition(part, name_of)));
        parts.collect::<Vec<_>>().join(word)
    };
    match of {
        Condition::Compare(left, comparison, right) => {
            let sign = match comparison {
                Comparison::Equal => "=",
                Comparison::NotEqual => "<>",
                Comparison::Less => "<",
                Comparison::LessOrEqual => "<=",
                Comparison::Greater => ">",
                Comparison::GreaterOrEqual => ">=",
            };
            format!("{} {sign} {}", operand(left), operand(right))
        }
        Condition::IsNull(one) => format!("{} is null", operand(one)),
        Condition::And(parts) => all(parts, " and "),
        Condition::Or(parts) => all(parts, " or "),
        Condition::Not(part) => format!("not ({})", condition(part, name_of)),
    }
}

/// CREATE INDEX.
pub(crate) fn create_index(spec: &IndexSpec) -> String {
    let columns = spec.columns.iter().map(|of| {
        let falls = of.direction == IndexDirection::Descending;
        let nulls = match of.nulls {
            None => "",
            Some(NullOrdering::First) => " nulls first",
            Some(NullOrdering::Last) => " nulls last",
        };
        format!("{}{}{nulls}", quoted(&of.name), if falls { " desc" } else { "" })
    });
    let unique = if spec.unique { "unique " } else { "" };
    let tablespace = spec.tablespace.as_ref().map(|name| format!(" tablespace {}", quoted(name)));
    let (name, table) = (quoted(&spec.name), quoted(&spec.table));
    let columns = columns.collect::<Vec<_>>().join(", ");
    let tablespace = tablespace.unwrap_or_default();
    format!("create {unique}index {name} on {table} ({columns}){tablespace}")
}

/// ALTER TABLE, with the names of the table's columns by their places.
pub(crate) fn alter_table(
    name: &str,
    alteration: &Alteration,
    name_of: &dyn Fn(usize) -> String,
) -> String {
    let action = match alteration {
        Alteration::AddColumn(spec) => format!("add column {}", column(spec)),
        Alteration::DropColumn(name) => format!("drop column {}", quoted(name)),
        Alteration::RenameTable(to) => format!("rename to {}", quoted(to)),
        Alteration::RenameColumn { from, to } => {
            format!("rename column {} to {}", quoted(from), quoted(to))
        }
        Alteration::RenameConstraint { from, to } => {
            format!("rename constraint {} to {}", quoted(from), quoted(to))
        }
        Alteration::SetDefault { column, value } if value.get().is_null() => {
            format!("alter column {} drop default", quoted(column))
        }
        Alteration::SetDefault { column, value } => {
            format!("alter column {} set default {}", quoted(column), value.get())
        }
        Alteration::SetDefaultExpression { column, text } => {
            format!("alter column {} set default {text}", quoted(column))
        }
        Alteration::SetType { column, kind } => {
            format!("alter column {} type {kind}", quoted(column))
        }
        Alteration::SetNotNull(column) => format!("alter column {} set not null", quoted(column)),
        Alteration::DropNotNull(column) => {
            format!("alter column {} drop not null", quoted(column))
        }
        Alteration::AddConstraint(spec) => format!("add {}", constraint(spec, name_of)),
        Alteration::DropConstraint { name, cascade } => {
            format!("drop constraint {}{}", quoted(name), if *cascade { " cascade" } else { "" })
        }
    };
    format!("alter table {} {action}", quoted(name))
}

/// CREATE SEQUENCE.
pub(crate) fn create_sequence(name: &str, options: &SequenceOptions) -> String {
    format!("create sequence {} {}", quoted(name), sequence_options(options)).trim_end().to_string()
}

fn sequence_options(options: &SequenceOptions) -> String {
    let SequenceOptions { start, increment, min, max, cycles, cache } = options;
    let numbers = [
        ("start with", *start),
        ("increment by", *increment),
        ("minvalue", *min),
        ("maxvalue", *max),
        ("cache", cache.map(i64::from)),
    ];
    let numbers = numbers.into_iter();
    let mut all: Vec<String> =
        numbers.filter_map(|(word, number)| Some(format!("{word} {}", number?))).collect();
    all.extend(cycles.then(|| "cycle".to_string()));
    all.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_bound_or_written_out() {
        let made = |literals| {
            let mut text = Text::new("insert into ").with_literals(literals);
            text.name("odd \"one\"").add(" values (");
            text.each([Value::Int(-7), Value::Text("it's"), Value::Null], ", ", |text, value| {
                text.value(value);
            });
            text.add(", ").value_as(Value::Int(1), Type::BigInt).add(")");
            (text.as_str().to_string(), text.binds().len())
        };
        let bound = "insert into \"odd \"\"one\"\"\" values ($1, $2, $3, cast($4 as BIGINT))";
        assert_eq!(made(false), (bound.to_string(), 4));
        let written =
            "insert into \"odd \"\"one\"\"\" values (-7, 'it''s', NULL, cast(1 as BIGINT))";
        assert_eq!(made(true), (written.to_string(), 0));
    }

    #[test]
    fn a_table_is_written_as_its_spec_says() {
        let code = Type::varchar(9).expect("a type");
        let positive = Condition::Compare(
            Operand::Column(0),
            Comparison::Greater,
            Operand::Constant(Value::Int(0).to_owned()),
        );
        let spec = TableSpec::new("t")
            .in_tablespace("users")
            .column(ColumnSpec::new("id", Type::BigInt).identity(true))
            .column(ColumnSpec::new("code", code).not_null())
            .column(ColumnSpec::new("n", Type::Integer).default_value(Value::Int(7).to_owned()))
            .primary_key(["id"])
            .unique(["code", "n"])
            .named("both")
            .check(positive)
            .foreign_key(["n"], "u", OnDelete::SetNull);
        assert_eq!(
            create_table(&spec),
            "create table \"t\" (\"id\" BIGINT generated always as identity, \
             \"code\" VARCHAR(9) not null, \"n\" INTEGER default 7, primary key (\"id\"), \
             constraint \"both\" unique (\"code\", \"n\"), check (\"id\" > 0), \
             foreign key (\"n\") references \"u\" on delete set null) tablespace \"users\""
        );
    }

    #[test]
    fn indexes_sequences_and_alterations_are_written_out() {
        let spec = IndexSpec::new("i", "t", ["a", "b"]).descending(1).unique();
        assert_eq!(create_index(&spec), "create unique index \"i\" on \"t\" (\"a\", \"b\" desc)");
        let none = SequenceOptions::default();
        assert_eq!(create_sequence("s", &none), "create sequence \"s\"");
        let some = SequenceOptions { increment: Some(-3), cache: Some(2), cycles: true, ..none };
        let text = "create sequence \"s\" increment by -3 cache 2 cycle";
        assert_eq!(create_sequence("s", &some), text);
        let check = Rule::Check(Condition::Not(Box::new(Condition::And(vec![
            Condition::IsNull(Operand::Column(1)),
            Condition::Compare(Operand::Column(0), Comparison::Equal, Operand::Column(1)),
        ]))));
        let add = ConstraintSpec { name: Some("n".to_string()), rule: check };
        let name_of = |place: usize| quoted(["a", "b"][place]);
        let check = "check (not ((\"b\" is null) and (\"a\" = \"b\")))";
        assert_eq!(
            alter_table("t", &Alteration::AddConstraint(add), &name_of),
            format!("alter table \"t\" add constraint \"n\" {check}")
        );
        let drop = Alteration::DropConstraint { name: "n".to_string(), cascade: true };
        let text = "alter table \"t\" drop constraint \"n\" cascade";
        assert_eq!(alter_table("t", &drop, &name_of), text);
    }
}
