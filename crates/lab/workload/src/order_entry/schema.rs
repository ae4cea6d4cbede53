//! The nine tables of order entry, and one more, by which an audit knows what was acknowledged.
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
//! Callers: the load, the transactions, the audit.
//! Source: TPC Benchmark C, revision 5.11, clauses 1.3 and 2.4.2.2 (quantities in stock).

use database::{
    Alteration, ColumnSpec, Comparison, Condition, Connection, ConstraintSpec, ForeignKeySpec,
    IndexId, IndexSpec, OnDelete, Operand, Rule, Table, TableSpec, Tx,
};
use stop::Stop;
use value::{Type, Value};

use crate::tables::{Load, unloaded};

use Kind::{Int, Money, Number, Rate, Text, Time};

/// What a column holds.
#[derive(Clone, Copy)]
enum Kind {
    Int,
    /// The next number of a sequence.
    Number,
    Money,
    Rate,
    Text(u16),
    Time,
}

/// Which values a column may have.
#[derive(Clone, Copy)]
enum Domain {
    /// From the first to the second.
    Between(i64, i64),
    /// One of these.
    OneOf(&'static [&'static str]),
}

/// A table: its name, its columns, how many of them, from the first on, are its primary key; those
/// that may be NULL; columns that refer to another table's primary key; and CHECKs.
struct Shape {
    name: &'static str,
    columns: &'static [(&'static str, Kind)],
    key: usize,
    nullable: &'static [&'static str],
    references: &'static [(&'static [&'static str], &'static str)],
    checks: &'static [(usize, Domain)],
}

/// A table that refers to none, and whose columns may have any value of their types.
const PLAIN: Shape =
    Shape { name: "", columns: &[], key: 1, nullable: &[], references: &[], checks: &[] };

/// Tables; each behind those that it refers to.
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
        ..PLAIN
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
        references: &[(&["d_w_id"], "warehouse")],
        ..PLAIN
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
        references: &[(&["c_w_id", "c_d_id"], "district")],
        checks: &[(column::C_CREDIT, Domain::OneOf(&["GC", "BC"]))],
        ..PLAIN
    },
    Shape {
        name: "history",
        columns: &[
            ("h_id", Number),
            ("h_c_w_id", Int),
            ("h_c_d_id", Int),
            ("h_c_id", Int),
            ("h_w_id", Int),
            ("h_d_id", Int),
            ("h_date", Time),
            ("h_amount", Money),
            ("h_data", Text(24)),
        ],
        references: &[
            (&["h_c_w_id", "h_c_d_id", "h_c_id"], "customer"),
            (&["h_w_id", "h_d_id"], "district"),
        ],
        ..PLAIN
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
        checks: &[(column::O_CARRIER_ID, Domain::Between(1, 10))],
        ..PLAIN
    },
    Shape {
        name: "new_order",
        columns: &[("no_w_id", Int), ("no_d_id", Int), ("no_o_id", Int)],
        key: 3,
        references: &[(&["no_w_id", "no_d_id", "no_o_id"], "orders")],
        ..PLAIN
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
        ..PLAIN
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
        references: &[(&["s_w_id"], "warehouse"), (&["s_i_id"], "item")],
        checks: &[(column::S_QUANTITY, Domain::Between(10, 100))],
        ..PLAIN
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
        references: &[
            (&["ol_w_id", "ol_d_id", "ol_o_id"], "orders"),
            (&["ol_supply_w_id", "ol_i_id"], "stock"),
        ],
        checks: &[(column::OL_QUANTITY, Domain::Between(1, 10))],
    },
    Shape { name: "acknowledged", columns: &[("a_session", Int), ("a_commits", Int)], ..PLAIN },
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
    pub(in crate::order_entry) const I_PRICE: usize = 2;
    pub(in crate::order_entry) const S_W_ID: usize = 0;
    pub(in crate::order_entry) const S_I_ID: usize = 1;
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
        Tables::open_all(connection).map_err(|stop| unloaded(Load::OrderEntry, stop, connection))
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

    /// Inserts a row of history: a value for each column but the first, which counts.
    pub(super) fn insert_history(
        &self,
        tx: &mut Tx<'_, '_>,
        values: [Value<'_>; 8],
    ) -> Result<(), Stop> {
        let mut values = values.into_iter();
        let given = HISTORY.map(|name| (name, values.next().expect("there are as many values")));
        tx.insert_named(&self.history, &given).map(drop)
    }
}

/// The columns of history that a payment gives.
const HISTORY: [&str; 8] =
    ["h_c_w_id", "h_c_d_id", "h_c_id", "h_w_id", "h_d_id", "h_date", "h_amount", "h_data"];

/// Makes the tables, empty; the two indexes that no constraint makes come after the load.
pub(super) fn create_tables(connection: &mut Connection<'_>) -> Result<(), Stop> {
    SHAPES.iter().try_for_each(|shape| connection.create_table(&shape.spec()).map(|_| ()))
}

/// Makes the two other indexes. Orders refer to customers from then on: the foreign key finds the
/// index that begins with its columns, and needs none of its own.
pub(super) fn create_indexes(connection: &mut Connection<'_>) -> Result<(), Stop> {
    let names = ["c_w_id", "c_d_id", "c_last", "c_first"];
    connection.create_index(&IndexSpec::new(BY_NAME, "customer", names))?;
    let orders = ["o_w_id", "o_d_id", "o_c_id", "o_id"];
    connection.create_index(&IndexSpec::new(BY_CUSTOMER, "orders", orders).descending(3))?;
    let refers = ForeignKeySpec {
        columns: orders[..3].iter().map(|name| (*name).to_owned()).collect(),
        references: "customer".to_owned(),
        referenced_columns: Vec::new(),
        on_delete: OnDelete::NoAction,
    };
    let refers = ConstraintSpec { name: None, rule: Rule::ForeignKey(refers) };
    connection.alter_table("orders", &Alteration::AddConstraint(refers))
}

impl Shape {
    fn spec(&self) -> TableSpec {
        let column = |spec: TableSpec, (name, kind): &(&str, Kind)| {
            let column = ColumnSpec::new(name, kind.stored());
            let column = if let Number = kind { column.identity(true) } else { column };
            spec.column(match self.nullable.contains(name) {
                true => column,
                false => column.not_null(),
            })
        };
        let spec = self.columns.iter().fold(TableSpec::new(self.name), column);
        let spec = spec.primary_key(self.columns[..self.key].iter().map(|(name, _)| *name));
        let spec = self.references.iter().fold(spec, |spec, (columns, parent)| {
            spec.foreign_key(columns.iter().copied(), parent, OnDelete::NoAction)
        });
        let check = |spec: TableSpec, (column, domain): &(usize, Domain)| {
            spec.check(domain.condition(*column))
        };
        self.checks.iter().fold(spec, check)
    }
}

impl Domain {
    fn condition(self, column: usize) -> Condition {
        let compare = |how, value: Value<'_>| {
            Condition::Compare(Operand::Column(column), how, Operand::Constant(value.to_owned()))
        };
        match self {
            Domain::Between(least, most) => Condition::And(vec![
                compare(Comparison::GreaterOrEqual, Value::Int(least)),
                compare(Comparison::LessOrEqual, Value::Int(most)),
            ]),
            Domain::OneOf(texts) => {
                let equal = |text: &&str| compare(Comparison::Equal, Value::Text(text));
                Condition::Or(texts.iter().map(equal).collect())
            }
        }
    }
}

impl Kind {
    fn stored(self) -> Type {
        let digits = |precision, scale| Type::number(precision, scale).expect("within 38 digits");
        match self {
            Int => Type::Integer,
            Number => Type::BigInt,
            Money => digits(12, 2),
            Rate => digits(4, 4),
            Text(count) => Type::varchar(count).expect("within 4000 characters"),
            Time => Type::Timestamp,
        }
    }
}
