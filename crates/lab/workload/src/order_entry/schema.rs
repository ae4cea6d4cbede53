//! The nine tables of order entry, and one more, by which an audit knows what was acknowledged.
//! They are made by SQL (`texts`); the audit opens them by the embedded API.
//!
//! Money is NUMBER(12,2), taxes and discounts NUMBER(4,4), dates TIMESTAMP. What nothing asks for
//! in parts (addresses, the ten texts of districts in a row of stock) is one column of as many
//! bytes.
//!
//! ```text
//!   warehouse ◀── district ◀── customer ◀── orders ◀── new_order
//!      ▲             ▲           ▲            ▲
//!      │             └─ history ─┘            │
//!      └── stock ◀───────────────────── order_line       (arrows: foreign keys)
//!            └──▶ item
//! ```
//!
//! The benchmark gives history no key. Here an identity column is one: its numbers come from a
//! sequence, and the key refuses a number that a crash would have the sequence give twice. CHECKs
//! hold the values that the benchmark says a column may have.
//!
//! Callers: the load, the audit, `order_entry`.
//! Source: TPC Benchmark C, revision 5.11, clauses 1.3 and 2.4.2.2 (quantities in stock).

use database::{Connection, Table};
use stop::Stop;

use crate::tables::{Load, unloaded};
use crate::texts::order_entry as texts;

/// Places of columns that the audit reads, in their tables.
pub(super) mod column {
    pub(in crate::order_entry) const W_ID: usize = 0;
    pub(in crate::order_entry) const W_YTD: usize = 1;
    pub(in crate::order_entry) const D_W_ID: usize = 0;
    pub(in crate::order_entry) const D_ID: usize = 1;
    pub(in crate::order_entry) const D_NEXT_O_ID: usize = 2;
    pub(in crate::order_entry) const D_YTD: usize = 3;
    pub(in crate::order_entry) const C_W_ID: usize = 0;
    pub(in crate::order_entry) const C_D_ID: usize = 1;
    pub(in crate::order_entry) const C_ID: usize = 2;
    pub(in crate::order_entry) const C_BALANCE: usize = 3;
    pub(in crate::order_entry) const C_YTD_PAYMENT: usize = 4;
    pub(in crate::order_entry) const C_DELIVERY_CNT: usize = 6;
    pub(in crate::order_entry) const H_C_W_ID: usize = 1;
    pub(in crate::order_entry) const H_C_D_ID: usize = 2;
    pub(in crate::order_entry) const H_C_ID: usize = 3;
    pub(in crate::order_entry) const H_W_ID: usize = 4;
    pub(in crate::order_entry) const H_D_ID: usize = 5;
    pub(in crate::order_entry) const H_AMOUNT: usize = 7;
    pub(in crate::order_entry) const O_W_ID: usize = 0;
    pub(in crate::order_entry) const O_D_ID: usize = 1;
    pub(in crate::order_entry) const O_ID: usize = 2;
    pub(in crate::order_entry) const O_C_ID: usize = 3;
    pub(in crate::order_entry) const O_CARRIER_ID: usize = 5;
    pub(in crate::order_entry) const O_OL_CNT: usize = 6;
    pub(in crate::order_entry) const NO_W_ID: usize = 0;
    pub(in crate::order_entry) const NO_D_ID: usize = 1;
    pub(in crate::order_entry) const NO_O_ID: usize = 2;
    pub(in crate::order_entry) const OL_W_ID: usize = 0;
    pub(in crate::order_entry) const OL_D_ID: usize = 1;
    pub(in crate::order_entry) const OL_O_ID: usize = 2;
    pub(in crate::order_entry) const OL_I_ID: usize = 4;
    pub(in crate::order_entry) const OL_SUPPLY_W_ID: usize = 5;
    pub(in crate::order_entry) const OL_DELIVERY_D: usize = 6;
    pub(in crate::order_entry) const OL_QUANTITY: usize = 7;
    pub(in crate::order_entry) const OL_AMOUNT: usize = 8;
    pub(in crate::order_entry) const I_ID: usize = 0;
    pub(in crate::order_entry) const S_W_ID: usize = 0;
    pub(in crate::order_entry) const S_I_ID: usize = 1;
    pub(in crate::order_entry) const S_YTD: usize = 3;
    pub(in crate::order_entry) const S_ORDER_CNT: usize = 4;
    pub(in crate::order_entry) const S_REMOTE_CNT: usize = 5;
    pub(in crate::order_entry) const A_SESSION: usize = 0;
    pub(in crate::order_entry) const A_COMMITS: usize = 1;
}

/// The tables, open.
pub struct Tables {
    pub(super) warehouse: Table,
    pub(super) district: Table,
    pub(super) customer: Table,
    pub(super) history: Table,
    pub(super) orders: Table,
    pub(super) new_order: Table,
    pub(super) order_line: Table,
    pub(super) item: Table,
    pub(super) stock: Table,
    pub(super) acknowledged: Table,
}

/// The two indexes that are made behind the rows.
const BY_NAME: &str = "customer_by_name";
const BY_CUSTOMER: &str = "orders_by_customer";

impl Tables {
    /// The tables of a database that was loaded. The two indexes are made last, so a load that was
    /// cut off hasn't both.
    pub fn open(connection: &Connection<'_>) -> Result<Tables, Stop> {
        Tables::open_all(connection).map_err(|stop| unloaded(Load::OrderEntry, stop, connection))
    }

    fn open_all(connection: &Connection<'_>) -> Result<Tables, Stop> {
        let table = |name| connection.table(name);
        let tables = Tables {
            warehouse: table("warehouse")?,
            district: table("district")?,
            customer: table("customer")?,
            history: table("history")?,
            orders: table("orders")?,
            new_order: table("new_order")?,
            order_line: table("order_line")?,
            item: table("item")?,
            stock: table("stock")?,
            acknowledged: table("acknowledged")?,
        };
        tables.customer.index(BY_NAME)?;
        tables.orders.index(BY_CUSTOMER)?;
        Ok(tables)
    }
}

/// Makes the tables, empty.
pub(super) fn create_tables(connection: &mut Connection<'_>) -> Result<(), Stop> {
    run_all(&texts::CREATE_TABLES, connection)
}

/// Makes what comes behind the rows: the two other indexes, the foreign key of orders, statistics.
pub(super) fn finish(connection: &mut Connection<'_>) -> Result<(), Stop> {
    run_all(&texts::FINISH, connection)
}

fn run_all(all: &[&str], connection: &mut Connection<'_>) -> Result<(), Stop> {
    all.iter().try_for_each(|text| connection.execute(text, &[]).map(drop))
}
