//! What follows from a delete doesn't depend on the order of foreign keys: rows that go by CASCADE
//! go first, and SET NULL changes what is left.

use database::{
    Alteration, ColumnSpec, Connection, ConstraintSpec, Database, ForeignKeySpec, OnDelete, Rule,
    TableSpec, Type, Value,
};

use crate::common::{Folder, options};

/// A table with these columns, of which `unique` are so, each by itself.
fn make(connection: &mut Connection<'_>, name: &str, columns: &[&str], unique: &[&str]) {
    let columns = columns.iter().map(|name| ColumnSpec::new(name, Type::BigInt));
    let spec = columns.fold(TableSpec::new(name), TableSpec::column);
    let spec = unique.iter().fold(spec, |spec, column| spec.unique([*column]));
    connection.create_table(&spec).expect("made");
}

/// A foreign key: of which table and column, to which, and what follows.
type Refers<'a> = (&'a str, &'a str, (&'a str, &'a str), OnDelete);

fn refer(connection: &mut Connection<'_>, (table, column, (to, of), on_delete): Refers<'_>) {
    let key = ForeignKeySpec {
        columns: vec![column.into()],
        references: to.into(),
        referenced_columns: vec![of.into()],
        on_delete,
    };
    let spec = ConstraintSpec { name: None, rule: Rule::ForeignKey(key) };
    connection.alter_table(table, &Alteration::AddConstraint(spec)).expect("referred");
}

/// One row of ones in each table, then that of `p` is deleted: how many rows the others have.
fn left_of<const N: usize>(
    connection: &mut Connection<'_>,
    others: [(&str, usize); N],
) -> [usize; N] {
    let p = connection.table("p").expect("there");
    let tables = others.map(|(name, _)| connection.table(name).expect("there"));
    let mut tx = connection.begin();
    tx.insert(&p, &[Value::Int(1)]).expect("inserted");
    for (table, (_, columns)) in tables.iter().zip(others) {
        tx.insert(table, &vec![Value::Int(1); columns]).expect("inserted");
    }
    assert_eq!(tx.delete_where(&p, database::Selection::All, None).expect("deleted"), 1);
    tx.commit().expect("committed");
    tables.map(|table| {
        let mut rows = 0;
        connection.scan(&table, |_| rows += 1).expect("read");
        rows
    })
}

/// Runs `work` with the foreign keys given in both orders, each in a database of its own.
fn in_both_orders<const N: usize>(
    name: &str,
    keys: [Refers<'_>; 2],
    work: impl Fn(&mut Connection<'_>, [Refers<'_>; 2]) -> [usize; N],
) -> [[usize; N]; 2] {
    [false, true].map(|turned| {
        let scratch = Folder::absent(&format!("cascades-{name}-{turned}"));
        let database = Database::create(&scratch.0, &options()).expect("created");
        let mut connection = database.connect("app");
        let [one, other] = keys;
        let left = work(&mut connection, if turned { [other, one] } else { [one, other] });
        drop(connection);
        database.shutdown().expect("in good order");
        left
    })
}

#[test]
fn a_row_that_goes_by_one_foreign_key_goes_whatever_another_of_its_column_says() {
    let keys =
        [("c", "a", ("p", "id"), OnDelete::Cascade), ("c", "a", ("p", "id"), OnDelete::SetNull)];
    let left = in_both_orders("column", keys, |connection, keys| {
        make(connection, "p", &["id"], &["id"]);
        make(connection, "c", &["a"], &[]);
        keys.into_iter().for_each(|key| refer(connection, key));
        left_of(connection, [("c", 1)])
    });
    assert_eq!(left, [[0]; 2]);
}

/// The row of `c` goes, and so does the one that refers to the key which SET NULL would take away.
#[test]
fn a_row_that_goes_takes_those_along_that_refer_to_what_it_was() {
    let keys =
        [("c", "a", ("p", "id"), OnDelete::Cascade), ("c", "b", ("p", "id"), OnDelete::SetNull)];
    let left = in_both_orders("grandchild", keys, |connection, keys| {
        make(connection, "p", &["id"], &["id"]);
        make(connection, "c", &["a", "b"], &["b"]);
        make(connection, "g", &["b"], &[]);
        keys.into_iter().for_each(|key| refer(connection, key));
        refer(connection, ("g", "b", ("c", "b"), OnDelete::Cascade));
        left_of(connection, [("c", 2), ("g", 1)])
    });
    assert_eq!(left, [[0, 0]; 2]);
}

/// The row of `x` refers to none after its grandparent went, and goes as its parent does.
#[test]
fn a_row_that_goes_by_a_longer_way_goes() {
    let keys =
        [("x", "a", ("p", "id"), OnDelete::SetNull), ("x", "a", ("d", "id"), OnDelete::Cascade)];
    let left = in_both_orders("longer", keys, |connection, keys| {
        make(connection, "p", &["id"], &["id"]);
        make(connection, "d", &["id"], &["id"]);
        make(connection, "x", &["a"], &[]);
        refer(connection, ("d", "id", ("p", "id"), OnDelete::Cascade));
        keys.into_iter().for_each(|key| refer(connection, key));
        left_of(connection, [("d", 1), ("x", 1)])
    });
    assert_eq!(left, [[0, 0]; 2]);
}
