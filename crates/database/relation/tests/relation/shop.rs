//! Tables that refer to each other.

use ids::ObjectNo;
use os::Session;
use relation::{
    Comparison, Condition, ForeignKey, NamedCondition, OnDelete, Operand, Relation, TableDefinition,
};
use stop::Stop;
use txn::View;
use value::{Type, Value};

use crate::common::{Client, Known, Numbers, Table, ascending, check, descending, rows};

/// customers <-- orders <-- items (cascade), notes (set null); tree, whose rows refer to others of
/// it (cascade).
pub(crate) fn tables() -> Vec<Table> {
    vec![customers(), orders(), items(), notes(), tree()]
}

fn customers() -> Table {
    let name = Type::varchar(20).expect("may be declared");
    Table {
        name: "customers",
        columns: vec![("id", Type::BigInt, false), ("name", name, true)],
        indexes: vec![("customers_pk", vec![ascending(0)], true)],
        adjust: |_, _| (),
    }
}

fn orders() -> Table {
    Table {
        name: "orders",
        columns: vec![
            ("id", Type::BigInt, false),
            ("customer", Type::Integer, true),
            ("amount", Type::Integer, true),
        ],
        indexes: vec![
            ("orders_pk", vec![descending(0)], true),
            ("orders_customer", vec![ascending(1), ascending(0)], false),
        ],
        adjust: |orders, numbers| {
            refer(orders, numbers, ("orders_fk", "orders_customer"), "customers");
            let zero = Operand::Constant(Value::Int(0).to_owned());
            orders.checks.push(NamedCondition {
                name: "amount_is_positive".into(),
                condition: Condition::Compare(Operand::Column(2), Comparison::Greater, zero),
            });
        },
    }
}

fn items() -> Table {
    Table {
        name: "items",
        columns: vec![("id", Type::BigInt, false), ("in_order", Type::BigInt, false)],
        indexes: vec![
            ("items_pk", vec![ascending(0)], true),
            ("items_order", vec![descending(1)], false),
        ],
        adjust: |items, numbers| {
            refer(items, numbers, ("items_fk", "items_order"), "orders");
            items.foreign_keys[0].on_delete = OnDelete::Cascade;
        },
    }
}

fn notes() -> Table {
    Table {
        name: "notes",
        columns: vec![("id", Type::BigInt, false), ("of_order", Type::Number(None), true)],
        indexes: vec![
            ("notes_pk", vec![ascending(0)], true),
            ("notes_order", vec![ascending(1)], false),
        ],
        adjust: |notes, numbers| {
            refer(notes, numbers, ("notes_fk", "notes_order"), "orders");
            notes.foreign_keys[0].on_delete = OnDelete::SetNull;
        },
    }
}

fn tree() -> Table {
    Table {
        name: "tree",
        columns: vec![("id", Type::BigInt, false), ("above", Type::BigInt, true)],
        indexes: vec![
            ("tree_pk", vec![ascending(0)], true),
            ("tree_above", vec![ascending(1)], false),
        ],
        adjust: |tree, numbers| {
            refer(tree, numbers, ("tree_fk", "tree_above"), "tree");
            tree.foreign_keys[0].on_delete = OnDelete::Cascade;
        },
    }
}

/// The second column refers to the first of another table.
fn refer(table: &mut TableDefinition, numbers: &Numbers, (name, index): (&str, &str), other: &str) {
    let number = |name: &str| -> ObjectNo { numbers[name] };
    table.foreign_keys.push(ForeignKey {
        name: name.into(),
        table: table.object,
        columns: vec![1],
        index: number(index),
        references: number(other),
        referenced_columns: vec![0],
        referenced_index: number(&format!("{other}_pk")),
        on_delete: OnDelete::NoAction,
    });
}

pub(crate) fn int(value: i64) -> Value<'static> {
    Value::Int(value)
}

/// Inserts a row into a table of this name.
pub(crate) fn insert(
    client: &mut Client<'_>,
    table: &str,
    values: &[Value<'_>],
) -> Result<(), Stop> {
    let relation = client.known.named(table);
    relation.insert(&mut client.work(), values).map(drop)
}

/// Deletes the row with this key.
pub(crate) fn delete(client: &mut Client<'_>, table: &str, id: i64) -> Result<u64, Stop> {
    let relation = client.known.named(table);
    relation.delete_where(&mut client.work(), relation::Selection::Key(0, &[int(id)]), None)
}

/// Sets a column of the row with this key.
pub(crate) fn set(
    client: &mut Client<'_>,
    (table, id): (&str, i64),
    (column, value): (usize, Value<'_>),
) -> Result<u64, Stop> {
    let relation = client.known.named(table);
    let selection = relation::Selection::Key(0, &[int(id)]);
    let mut change =
        |_: &value::RowView<'_>, change: &mut relation::RowChange<'_>| change.set(column, value);
    relation.update_where(&mut client.work(), selection, None, &mut change)
}

/// A column of whole numbers, of all rows, in their order.
pub(crate) fn column(
    relation: &Relation,
    (column, view): (usize, View),
    session: &Session,
) -> Vec<Option<i64>> {
    let number = |value: Value<'_>| match value {
        Value::Int(int) => Some(int),
        Value::Number(number) => number.to_i64(),
        _ => None,
    };
    let rows = rows(relation, view, session);
    let mut all: Vec<_> = rows.iter().map(|(_, row)| number(row[column].get())).collect();
    all.sort_unstable();
    all
}

/// Indexes agree with rows, and whatever a row refers to is there.
pub(crate) fn check_all(known: &Known, session: &Session) {
    known.all().for_each(|relation| check(relation, session));
    if let Some(broken) = broken(known, session) {
        panic!("{broken}");
    }
}

/// A row that refers to none.
pub(crate) fn broken(known: &Known, session: &Session) -> Option<String> {
    let transactions = known.named("tree").transactions().clone();
    let snapshot = transactions.snapshot(None, session).expect("a snapshot");
    let view = transactions.view_of(&snapshot, None);
    for relation in known.all() {
        for key in &relation.definition().foreign_keys {
            let parent = known.all().find(|other| other.definition().object == key.references);
            let parents = column(parent.expect("known"), (0, view), session);
            for value in column(relation, (1, view), session) {
                if value.is_some() && !parents.contains(&value) {
                    return Some(format!("{}: nothing has {value:?}", key.name));
                }
            }
        }
    }
    None
}
