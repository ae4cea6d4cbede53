//! Every spec is built of what `database` itself exports, and every shape of it works.

use database::{
    Alteration, Bounds, ColumnSpec, Comparison, Condition, ConstraintSpec, Database, DefaultSpec,
    Direction, ForeignKeySpec, IndexColumnSpec, IndexDirection, IndexSpec, NullsPlace, OnDelete,
    Operand, OwnedValue, Rule, SequenceOptions, TableSpec, Type, Value,
};

use crate::common::{Scratch, options};

fn positive(column: usize) -> Condition {
    let zero = Operand::Constant(Value::Int(0).to_owned());
    let is_less = Condition::Compare(Operand::Column(column), Comparison::Less, zero);
    Condition::Not(Box::new(Condition::Or(vec![is_less, Condition::IsNull(Operand::Column(0))])))
}

fn place() -> TableSpec {
    TableSpec {
        name: "place".into(),
        tablespace: None,
        columns: vec![
            ColumnSpec {
                name: "id".into(),
                kind: Type::BigInt,
                not_null: true,
                default: DefaultSpec::Identity {
                    always: false,
                    options: SequenceOptions { increment: Some(5), ..SequenceOptions::default() },
                },
            },
            ColumnSpec {
                name: "size".into(),
                kind: Type::Integer,
                not_null: false,
                default: DefaultSpec::Constant(OwnedValue::NULL),
            },
        ],
        constraints: vec![
            ConstraintSpec { name: None, rule: Rule::PrimaryKey(vec!["id".into()]) },
            ConstraintSpec { name: Some("sound".into()), rule: Rule::Check(positive(1)) },
            ConstraintSpec { name: None, rule: Rule::Unique(vec!["size".into(), "id".into()]) },
        ],
    }
}

fn within() -> Rule {
    Rule::ForeignKey(ForeignKeySpec {
        columns: vec!["size".into()],
        references: "place".into(),
        referenced_columns: vec!["id".into()],
        on_delete: OnDelete::SetNull,
    })
}

fn by_size() -> IndexSpec {
    let direction = IndexDirection::Descending;
    let (name, nulls) = ("size".to_owned(), Some(NullsPlace::Last));
    IndexSpec {
        name: "by_size".into(),
        table: "place".into(),
        columns: vec![IndexColumnSpec { name, direction, nulls }],
        unique: false,
        tablespace: None,
    }
}

#[test]
fn every_spec_is_built_of_what_the_crate_exports() {
    let scratch = Scratch::new("specs");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    connection.create_table(&place()).expect("made");
    connection.create_index(&by_size()).expect("made");
    let within = ConstraintSpec { name: Some("within".into()), rule: within() };
    connection.alter_table("place", &Alteration::AddConstraint(within)).expect("added");
    let place = connection.table("place").expect("there");
    let definition: &database::TableDefinition = place.definition();
    assert_eq!(definition.columns[1].kind, Type::Integer);

    let mut tx = connection.begin();
    for size in [Value::Null, Value::Int(1), Value::Int(6)] {
        tx.insert_named(&place, &[("size", size)]).expect("inserted");
    }
    tx.commit().expect("committed");
    let mut sizes = Vec::new();
    let by_size = place.index("by_size").expect("there");
    let range = (by_size, &Bounds::equal(&[]), Direction::Ascending);
    let read = connection.range(&place, range, |row| {
        sizes.push(row.get_i64(1));
        std::ops::ControlFlow::Continue(())
    });
    read.expect("read");
    assert_eq!(sizes, [Some(6), Some(1), None]);
    drop(connection);
    database.shutdown().expect("in good order");
}
