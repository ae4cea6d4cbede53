//! The tables of debit-credit, and filling them.
//!
//! | table    | rows                  | columns                                          |
//! |----------|-----------------------|--------------------------------------------------|
//! | branch   | few: hot              | balance, filler                                  |
//! | teller   | 10 a branch           | balance, filler                                  |
//! | account  | half of the data      | balance, filler                                  |
//! | stock    | half of the data      | quantity, filler; for mass updates               |
//! | history  | one a transaction     | session, number, account, teller, branch, amount |
//!
//! Rows are as long as TPC-B asks (100 bytes, history 50). Accounts, tellers and branches are found
//! by their number: they were loaded in order, so the number says block and slot.

use access::{Inserter, RowAddress, Table};
use instance::{Instance, Transaction};
use os::Session;
use space::Column;
use stop::Stop;

const FILLER: Column = Column::Bytes(84);
/// Rows of one loading transaction.
const LOAD_BATCH: u64 = 500;

/// How much there is of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scale {
    /// Branches.
    pub branches: u64,
    /// Tellers.
    pub tellers: u64,
    /// Accounts.
    pub accounts: u64,
    /// Articles in stock, for mass updates.
    pub stock: u64,
}

impl Scale {
    /// Rows of 100 bytes that fit into a MiB of 8 KiB blocks.
    const ROWS_PER_MIB: u64 = 9_200;

    /// So many MiB of rows, half of them accounts and half of them stock.
    pub const fn of_mib(mib: u64) -> Scale {
        let rows = mib * Scale::ROWS_PER_MIB;
        Scale { branches: 64, tellers: 640, accounts: rows / 2, stock: rows / 2 }
    }

    /// Rows in all.
    pub const fn rows(&self) -> u64 {
        self.branches + self.tellers + self.accounts + self.stock
    }
}

/// The tables, open.
pub struct Tables {
    pub(crate) branch: Numbered,
    pub(crate) teller: Numbered,
    pub(crate) account: Numbered,
    pub(crate) stock: Numbered,
    pub(crate) history: Table,
}

/// A table whose rows have numbers.
pub(crate) struct Numbered {
    pub(crate) table: Table,
    rows: access::Loaded,
}

impl Numbered {
    fn open(name: &str, instance: &Instance, session: &Session) -> Result<Numbered, Stop> {
        let table = instance.table(name, session)?;
        let rows = table.loaded(session)?;
        Ok(Numbered { table, rows })
    }

    pub(crate) fn count(&self) -> u64 {
        self.rows.count()
    }

    pub(crate) fn address(&self, number: u64) -> RowAddress {
        self.rows.address(number)
    }
}

impl Tables {
    /// The tables of a database that was loaded.
    pub fn open(instance: &Instance, session: &Session) -> Result<Tables, Stop> {
        Ok(Tables {
            branch: Numbered::open("branch", instance, session)?,
            teller: Numbered::open("teller", instance, session)?,
            account: Numbered::open("account", instance, session)?,
            stock: Numbered::open("stock", instance, session)?,
            history: instance.table("history", session)?,
        })
    }

    /// How much there is of each.
    pub fn scale(&self) -> Scale {
        let count = Numbered::count;
        Scale {
            branches: count(&self.branch),
            tellers: count(&self.teller),
            accounts: count(&self.account),
            stock: count(&self.stock),
        }
    }
}

/// The lowest number above those of all sessions that have left history.
pub fn next_session(instance: &Instance, session: &Session) -> Result<u32, Stop> {
    let mut next = 0;
    let history = instance.table("history", session)?;
    history.scan(|_, row| next = next.max(row.number(0) + 1), session)?;
    Ok(u32::try_from(next).unwrap_or(u32::MAX))
}

/// Makes the tables and fills them. `progress` is told rows done and rows in all, and says whether
/// to go on; if not, what was loaded stays, and the result is false.
pub fn load(
    instance: &Instance,
    scale: Scale,
    mut progress: impl FnMut(u64, u64) -> bool,
    session: &Session,
) -> Result<bool, Stop> {
    let numbered = [
        ("branch", scale.branches),
        ("teller", scale.tellers),
        ("account", scale.accounts),
        ("stock", scale.stock),
    ];
    let all = numbered.iter().map(|(_, rows)| rows).sum();
    let mut done = 0;
    for (name, rows) in numbered {
        let table =
            instance.create_table(name, &[Column::Number, Column::Number, FILLER], session)?;
        let mut inserter = Inserter::default();
        let mut number = 0;
        while number < rows {
            let mut transaction = Transaction::new();
            for row in number..rows.min(number + LOAD_BATCH) {
                let fill = |columns: &mut access::RowMut<'_>| columns.set_number(0, row as i64);
                table.insert(&mut transaction, &mut inserter, fill, session)?;
            }
            instance.commit(transaction, session)?;
            let batch = LOAD_BATCH.min(rows - number);
            (number, done) = (number + batch, done + batch);
            if !progress(done, all) {
                return Ok(false);
            }
        }
    }
    instance.create_table("history", &[Column::Number; 6], session)?;
    Ok(true)
}
