//! A small database with accounts.

use database::{
    ColumnSpec, Connection, Database, Options, Parameters, Table, TableSpec, Type, Value,
};
pub(crate) use testbed::Folder;

pub(crate) fn options() -> Options {
    let parameters = Parameters { db_cache_size: 8 << 20, ..Parameters::default() };
    Options { parameters, ..Options::default() }
}

pub(crate) fn account() -> TableSpec {
    TableSpec::new("account")
        .column(ColumnSpec::new("id", Type::BigInt).not_null())
        .column(ColumnSpec::new("owner", Type::Text))
        .column(ColumnSpec::new("balance", Type::BigInt).not_null())
        .primary_key(["id"])
}

pub(crate) fn filled(database: &Database) -> Table {
    filled_by(&mut database.connect("filler"))
}

pub(crate) fn filled_by(connection: &mut Connection<'_>) -> Table {
    let account = connection.create_table(&account()).expect("made");
    let mut tx = connection.begin();
    for id in 0..100 {
        let owner = format!("owner {}", id % 10);
        let row = [Value::Int(id), Value::Text(&owner), Value::Int(100)];
        tx.insert(&account, &row).expect("inserted");
    }
    tx.commit().expect("committed");
    account
}

pub(crate) fn balance(connection: &mut Connection<'_>, account: &Table, id: i64) -> Option<i64> {
    let found = connection.get(account, &[Value::Int(id)], |row| row.get_i64(2));
    found.expect("read").flatten()
}
