//! The nine tables of order entry, and one more, by which an audit knows what was acknowledged.
//!
//! Money is NUMBER(12,2), taxes and discounts NUMBER(4,4), dates TIMESTAMP. What nothing asks for
//! in parts (addresses, the ten texts of districts in a row of stock) is one column of as many
//! bytes.
//!
//! Callers: the load, the transactions, the audit.
//! Source: TPC Benchmark C, revision 5.11, clause 1.3.

use database::{ColumnSpec, Connection, IndexId, IndexSpec, Table, TableSpec};
use stop::Stop;
use value::Type;

use crate::tables::unloaded;

use Kind::{Int, Money, Rate, Text, Time};

/// What a column holds.
#[derive(Clone, Copy)]
enum Kind {
    Int,
    Money,
    Rate,
    Text(u16),
    Time,
}

/// A table: its name, its columns, how many of them, from the first on, are its primary key; and
/// those that may be NULL.
struct Shape {
    name: &'static str,
    columns: &'static [(&'static str, Kind)],
    key: usize,
    nullable: &'static [&'static str],
}

const SHAPES: [Shape; 10] = [
    Shape {
        name: "warehouse",
        columns: &[
            ("w_id", Int),
            ("w_ytd", Money),
            ("w_tax", Rate),
            ("w_name", Text(10)),
            ("w_address", Text(80)),
        ],
        key: 1,
        nullable: &[],
    },
    Shape {
        name: "district",
        columns: &[
            ("d_w_id", Int),
            ("d_id", Int),
            ("d_next_o_id", Int),
            ("d_ytd", Money),
            ("d_tax", Rate),
            ("d_name", Text(10)),
            ("d_address", Text(80)),
        ],
        key: 2,
        nullable: &[],
    },
    Shape {
        name: "customer",
        columns: &[
            ("c_w_id", Int),
            ("c_d_id", Int),
            ("c_id", Int),
            ("c_balance", Money),
            ("c_ytd_payment", Money),
            ("c_payment_cnt", Int),
            ("c_delivery_cnt", Int),
            ("c_credit_lim", Money),
            ("c_discount", Rate),
            ("c_since", Time),
            ("c_credit", Text(2)),
            ("c_first", Text(16)),
            ("c_middle", Text(2)),
            ("c_last", Text(16)),
            ("c_address", Text(80)),
            ("c_phone", Text(16)),
            ("c_data", Text(500)),
        ],
        key: 3,
        nullable: &[],
    },
    Shape {
        name: "history",
        columns: &[
            ("h_c_w_id", Int),
            ("h_c_d_id", Int),
            ("h_c_id", Int),
            ("h_w_id", Int),
            ("h_d_id", Int),
            ("h_date", Time),
            ("h_amount", Money),
            ("h_data", Text(24)),
        ],
        key: 0,
        nullable: &[],
    },
    Shape {
        name: "orders",
        columns: &[
            ("o_w_id", Int),
            ("o_d_id", Int),
            ("o_id", Int),
            ("o_c_id", Int),
            ("o_entry_d", Time),
            ("o_carrier_id", Int),
            ("o_ol_cnt", Int),
            ("o_all_local", Int),
        ],
        key: 3,
        nullable: &["o_carrier_id"],
    },
    Shape {
        name: "new_order",
        columns: &[("no_w_id", Int), ("no_d_id", Int), ("no_o_id", Int)],
        key: 3,
        nullable: &[],
    },
    Shape {
        name: "order_line",
        columns: &[
            ("ol_w_id", Int),
            ("ol_d_id", Int),
            ("ol_o_id", Int),
            ("ol_number", Int),
            ("ol_i_id", Int),
            ("ol_supply_w_id", Int),
            ("ol_delivery_d", Time),
            ("ol_quantity", Int),
            ("ol_amount", Money),
            ("ol_dist_info", Text(24)),
        ],
        key: 4,
        nullable: &["ol_delivery_d"],
    },
    Shape {
        name: "item",
        columns: &[
            ("i_id", Int),
            ("i_im_id", Int),
            ("i_price", Money),
            ("i_name", Text(24)),
            ("i_data", Text(50)),
        ],
        key: 1,
        nullable: &[],
    },
    Shape {
        name: "stock",
        columns: &[
            ("s_w_id", Int),
            ("s_i_id", Int),
            ("s_quantity", Int),
            ("s_ytd", Int),
            ("s_order_cnt", Int),
            ("s_remote_cnt", Int),
            ("s_dist", Text(240)),
            ("s_data", Text(50)),
        ],
        key: 2,
        nullable: &[],
    },
    Shape {
        name: "acknowledged",
        columns: &[("a_session", Int), ("a_commits", Int)],
        key: 1,
        nullable: &[],
    },
];

/// Places of columns in their tables.
pub(super) mod column {
    pub(in crate::order_entry) const W_ID: usize = 0;
    pub(in crate::order_entry) const W_YTD: usize = 1;
    pub(in crate::order_entry) const W_TAX: usize = 2;
    pub(in crate::order_entry) const W_NAME: usize = 3;
    pub(in crate::order_entry) const D_W_ID: usize = 0;
    pub(in crate::order_entry) const D_ID: usize = 1;
    pub(in crate::order_entry) const D_NEXT_O_ID: usize = 2;
    pub(in crate::order_entry) const D_YTD: usize = 3;
    pub(in crate::order_entry) const D_NAME: usize = 5;
    pub(in crate::order_entry) const C_W_ID: usize = 0;
    pub(in crate::order_entry) const C_D_ID: usize = 1;
    pub(in crate::order_entry) const C_ID: usize = 2;
    pub(in crate::order_entry) const C_BALANCE: usize = 3;
    pub(in crate::order_entry) const C_YTD_PAYMENT: usize = 4;
    pub(in crate::order_entry) const C_PAYMENT_CNT: usize = 5;
    pub(in crate::order_entry) const C_DELIVERY_CNT: usize = 6;
    pub(in crate::order_entry) const C_DISCOUNT: usize = 8;
    pub(in crate::order_entry) const C_CREDIT: usize = 10;
    pub(in crate::order_entry) const C_DATA: usize = 16;
    pub(in crate::order_entry) const H_C_W_ID: usize = 0;
    pub(in crate::order_entry) const H_C_D_ID: usize = 1;
    pub(in crate::order_entry) const H_C_ID: usize = 2;
    pub(in crate::order_entry) const H_W_ID: usize = 3;
    pub(in crate::order_entry) const H_D_ID: usize = 4;
    pub(in crate::order_entry) const H_AMOUNT: usize = 6;
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
    pub(in crate::order_entry) const OL_DELIVERY_D: usize = 6;
    pub(in crate::order_entry) const OL_AMOUNT: usize = 8;
    pub(in crate::order_entry) const I_ID: usize = 0;
    pub(in crate::order_entry) const I_PRICE: usize = 2;
    pub(in crate::order_entry) const S_QUANTITY: usize = 2;
    pub(in crate::order_entry) const S_YTD: usize = 3;
    pub(in crate::order_entry) const S_ORDER_CNT: usize = 4;
    pub(in crate::order_entry) const S_REMOTE_CNT: usize = 5;
    pub(in crate::order_entry) const S_DIST: usize = 6;
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
    /// Customers by their last names.
    by_name: Option<IndexId>,
    /// Orders by their customers, the newest first.
    by_customer: Option<IndexId>,
}

const BY_NAME: &str = "customer_by_name";
const BY_CUSTOMER: &str = "orders_by_customer";

impl Tables {
    /// The tables of a database that was loaded. The two indexes are made last, so a load that was
    /// cut off hasn't both.
    pub fn open(connection: &Connection<'_>) -> Result<Tables, Stop> {
        Tables::open_all(connection).map_err(|stop| unloaded("order entry", stop))
    }

    fn open_all(connection: &Connection<'_>) -> Result<Tables, Stop> {
        let tables = Tables::open_unindexed(connection)?;
        let by_name = tables.customer.index(BY_NAME).map(Some)?;
        let by_customer = tables.orders.index(BY_CUSTOMER).map(Some)?;
        Ok(Tables { by_name, by_customer, ..tables })
    }

    /// The index of customers by their last names.
    pub(super) fn by_name(&self) -> IndexId {
        self.by_name.expect("transactions run on tables that were opened with their indexes")
    }

    /// The index of orders by their customers.
    pub(super) fn by_customer(&self) -> IndexId {
        self.by_customer.expect("transactions run on tables that were opened with their indexes")
    }

    /// The same before the two other indexes are there.
    pub(super) fn open_unindexed(connection: &Connection<'_>) -> Result<Tables, Stop> {
        let table = |name| connection.table(name);
        Ok(Tables {
            by_name: None,
            by_customer: None,
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
        })
    }
}

/// Makes the tables, empty; those two indexes that aren't primary keys come after the load.
pub(super) fn create_tables(connection: &mut Connection<'_>) -> Result<(), Stop> {
    SHAPES.iter().try_for_each(|shape| connection.create_table(&shape.spec()).map(|_| ()))
}

/// Makes the two other indexes.
pub(super) fn create_indexes(connection: &mut Connection<'_>) -> Result<(), Stop> {
    let names = ["c_w_id", "c_d_id", "c_last", "c_first"];
    connection.create_index(&IndexSpec::new(BY_NAME, "customer", names))?;
    let orders = ["o_w_id", "o_d_id", "o_c_id", "o_id"];
    connection.create_index(&IndexSpec::new(BY_CUSTOMER, "orders", orders).descending(3))
}

impl Shape {
    fn spec(&self) -> TableSpec {
        let column = |spec: TableSpec, (name, kind): &(&str, Kind)| {
            let column = ColumnSpec::new(name, kind.stored());
            spec.column(match self.nullable.contains(name) {
                true => column,
                false => column.not_null(),
            })
        };
        let spec = self.columns.iter().fold(TableSpec::new(self.name), column);
        match self.key {
            0 => spec,
            key => spec.primary_key(self.columns[..key].iter().map(|(name, _)| *name)),
        }
    }
}

impl Kind {
    fn stored(self) -> Type {
        let digits = |precision, scale| Type::number(precision, scale).expect("within 38 digits");
        match self {
            Int => Type::Integer,
            Money => digits(12, 2),
            Rate => digits(4, 4),
            Text(count) => Type::varchar(count).expect("within 4000 characters"),
            Time => Type::Timestamp,
        }
    }
}
