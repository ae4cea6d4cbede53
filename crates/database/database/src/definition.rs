//! Making, altering and dropping tables, indexes and sequences.
//!
//! Each of these is a transaction of its own, durable when it returns. It waits for transactions
//! that use the table, for at most the lock wait of [`Connection::set_ddl_lock_wait`].
//!
//! Callers: applications.

use catalog::{Alteration, IndexSpec, SequenceOptions, TableSpec};
use stop::Stop;
use txn::LockWait;

use crate::connection::Connection;
use crate::table::Table;

impl Connection<'_> {
    /// Sets the time for which DDL waits for transactions that use the table. At first it is
    /// `ddl_lock_timeout`, as it was when the connection was made.
    pub fn set_ddl_lock_wait(&mut self, lock_wait: LockWait) {
        self.ddl_lock_wait = lock_wait;
    }

    /// Makes a table.
    pub fn create_table(&mut self, spec: &TableSpec) -> Result<Table, Stop> {
        let _statement = self.begin_alone()?;
        let made = self.shared.catalog.create_table(spec, self.ddl_lock_wait, &self.session)?;
        // The table exists from here on, so nothing that can fail may follow.
        Ok(Table::made(made, &self.shared))
    }

    /// Makes an index of a table and fills it with the table's rows. Changes of the table wait
    /// meanwhile; readers don't.
    pub fn create_index(&mut self, spec: &IndexSpec) -> Result<(), Stop> {
        let _statement = self.begin_alone()?;
        self.shared.catalog.create_index(spec, self.ddl_lock_wait, &self.session).map(|_| ())
    }

    /// Makes a sequence.
    pub fn create_sequence(&mut self, name: &str, options: &SequenceOptions) -> Result<(), Stop> {
        let _statement = self.begin_alone()?;
        self.shared.catalog.create_sequence(name, options, &self.session).map(|_| ())
    }

    /// Changes a table's definition. No alteration rewrites rows, but for some changes of a type.
    /// Refused if a view would read a new column, or a new name of one (rule sql/SQ66).
    ///
    /// ```
    /// use database::Alteration;
    /// # use database::{ColumnSpec, Database, ErrorKind, Options, TableSpec, Type, Value};
    /// # fn main() -> Result<(), database::Error> {
    /// # let scratch = std::env::temp_dir().join(format!("forebay-alter-{}", std::process::id()));
    /// # let database = Database::create(&scratch, &Options::default())?;
    /// # let mut connection = database.connect("app");
    /// # let spec = TableSpec::new("account")
    /// #     .column(ColumnSpec::new("id", Type::BigInt))
    /// #     .column(ColumnSpec::new("owner", Type::Text))
    /// #     .primary_key(["id"]);
    /// # let account = connection.create_table(&spec)?;
    /// # let mut tx = connection.begin();
    /// # tx.insert(&account, &[Value::Int(1), Value::Text("Ann")])?;
    /// # tx.commit()?;
    /// let none = Value::Int(0).to_owned();
    /// let credit = ColumnSpec::new("credit", Type::Integer).not_null().default_value(none);
    /// connection.alter_table("account", &Alteration::AddColumn(credit))?;
    /// connection.alter_table("account", &Alteration::DropColumn("owner".into()))?;
    /// let account = connection.table("account")?;
    /// let credit = account.column("credit")?;
    /// let row = connection.get(&account, &[Value::Int(1)], |row| row.get_i64(credit))?;
    /// assert_eq!(row.flatten(), Some(0), "rows that were there have the default");
    /// let gone = account.column("owner").err().expect("it was dropped");
    /// assert_eq!(gone.refusal(), Some(ErrorKind::NotFound));
    /// # drop(connection);
    /// # database.shutdown()?;
    /// # std::fs::remove_dir_all(&scratch).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn alter_table(&mut self, name: &str, alteration: &Alteration) -> Result<(), Stop> {
        let _statement = self.begin_alone()?;
        self.alter(name, alteration, self.ddl_lock_wait)
    }

    /// Drops a table with its rows and indexes; with `cascade` also the foreign keys of others that
    /// refer to it.
    pub fn drop_table(&mut self, name: &str, cascade: bool) -> Result<(), Stop> {
        let _statement = self.begin_alone()?;
        self.shared.catalog.drop_table(name, cascade, self.ddl_lock_wait, &self.session)
    }

    /// Removes all rows of a table.
    pub fn truncate_table(&mut self, name: &str) -> Result<(), Stop> {
        let _statement = self.begin_alone()?;
        self.shared.catalog.truncate_table(name, self.ddl_lock_wait, &self.session)
    }

    /// Drops an index. A UNIQUE goes with its index. Refused if it is a primary key's, or a foreign
    /// key needs it.
    pub fn drop_index(&mut self, name: &str) -> Result<(), Stop> {
        let _statement = self.begin_alone()?;
        self.shared.catalog.drop_index(name, self.ddl_lock_wait, &self.session)
    }

    /// Drops a sequence.
    pub fn drop_sequence(&mut self, name: &str) -> Result<(), Stop> {
        let _statement = self.begin_alone()?;
        self.shared.catalog.drop_sequence(name, &self.session)
    }
}
