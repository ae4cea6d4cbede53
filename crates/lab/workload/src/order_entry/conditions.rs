//! The twelve consistency conditions, and a thirteenth of our own: TPC-C has none of stock.
//!
//! All tables but `item` and `acknowledged` are read as of one moment, so the conditions hold
//! beside whoever works. What is left in stock isn't looked at. Money is counted in hundredths.
//!
//! Callers: the audit after each round of kills; tests.
//! Source: TPC Benchmark C, revision 5.11, clauses 3.3.2.1 to 3.3.2.12. The eleventh counts orders
//! that were never new; it holds of a database that has just been loaded, and after that with the
//! deliveries added, which customers count.

use std::collections::BTreeMap;

use database::{Connection, Table, Tx};
use stop::Stop;
use value::{Number, RowView, Value};

use super::load::Scale;
use super::schema::{Tables, column as c};

/// At most so many lines are said of one condition.
const SAID_MAX: usize = 5;

/// A district: its warehouse, its number.
type District = (i64, i64);
/// What has a number in a district: a customer, or an order.
type Within = (i64, i64, i64);

/// What the conditions compare; each counted or added up from one table.
#[derive(Default)]
struct Books {
    warehouses: BTreeMap<i64, i64>,
    districts: BTreeMap<District, DistrictBook>,
    customers: BTreeMap<Within, CustomerBook>,
    orders: BTreeMap<Within, OrderBook>,
    /// Amounts of history by the warehouse.
    paid_to_warehouse: BTreeMap<i64, i64>,
    /// By warehouse and item.
    stock: BTreeMap<(i64, i64), StockBook>,
}

/// What stock says was taken, and what lines of orders say that they took.
#[derive(Default)]
struct StockBook {
    said: Taken,
    taken: Taken,
}

#[derive(Default, PartialEq, Debug)]
struct Taken {
    quantity: i64,
    lines: i64,
    /// Lines of orders at another warehouse.
    remote: i64,
}

#[derive(Default)]
struct DistrictBook {
    next_order: i64,
    ytd: i64,
    /// Amounts of history.
    paid: i64,
    /// Numbers of orders.
    orders: i64,
    last_order: i64,
    /// Lines that orders say they have, and lines.
    lines_said: i64,
    lines: i64,
    new_orders: i64,
    first_new: i64,
    last_new: i64,
    deliveries: i64,
}

#[derive(Default)]
struct CustomerBook {
    balance: i64,
    ytd_payment: i64,
    /// Amounts of history.
    paid: i64,
    /// Amounts of lines that were delivered.
    delivered: i64,
}

#[derive(Default)]
struct OrderBook {
    customer: i64,
    is_there: bool,
    has_carrier: bool,
    is_new: bool,
    lines_said: i64,
    lines: i64,
    lines_delivered: i64,
    /// Amounts of lines that were delivered.
    delivered: i64,
}

/// Holds the database against all conditions: one line for each breach, up to some of a kind.
pub fn conditions(connection: &mut Connection<'_>, scale: Scale) -> Result<Vec<String>, Stop> {
    let tables = Tables::open(connection)?;
    let books = Books::read(&tables, connection, scale)?;
    let mut found = Vec::new();
    let mut say = |condition: u32, lines: Vec<String>| {
        let said = lines.iter().take(SAID_MAX);
        found.extend(said.map(|line| format!("condition {condition}: {line}")));
        if lines.len() > SAID_MAX {
            found.push(format!("condition {condition}: and {} more", lines.len() - SAID_MAX));
        }
    };
    books.of_warehouses(&mut say);
    books.of_districts(scale, &mut say);
    books.of_orders(&mut say);
    books.of_customers(&mut say);
    books.of_stock(&mut say);
    Ok(found)
}

fn int(row: &RowView<'_>, column: usize) -> i64 {
    row.get_i64(column).unwrap_or(i64::MIN)
}

/// Hundredths of an amount; what isn't one can't balance.
fn hundredths(row: &RowView<'_>, column: usize) -> i64 {
    match row.get(column) {
        Ok(Value::Number(number)) => hundredths_of(number),
        _ => i64::MIN,
    }
}

/// An amount in hundredths, if it has no smaller parts.
pub(super) fn hundredths_of(number: Number) -> i64 {
    number.at_scale(2).and_then(|amount| i64::try_from(amount).ok()).unwrap_or(i64::MIN)
}

impl Books {
    fn read(tables: &Tables, connection: &mut Connection<'_>, scale: Scale) -> Result<Books, Stop> {
        let mut tx = connection.begin_serializable()?;
        let mut books = Books::default();
        books.read_sums(tables, &mut tx)?;
        books.read_orders(tables, &mut tx)?;
        books.read_lines(tables, &mut tx, scale)?;
        books.read_stock(tables, &mut tx)?;
        tx.rollback()?;
        books.add_up();
        Ok(books)
    }

    fn read_sums(&mut self, tables: &Tables, tx: &mut Tx<'_, '_>) -> Result<(), Stop> {
        scan(tx, &tables.warehouse, |row| {
            self.warehouses.insert(int(row, c::W_ID), hundredths(row, c::W_YTD));
        })?;
        scan(tx, &tables.district, |row| {
            let district = self.districts.entry((int(row, c::D_W_ID), int(row, c::D_ID)));
            let district = district.or_default();
            district.next_order = int(row, c::D_NEXT_O_ID);
            district.ytd = hundredths(row, c::D_YTD);
        })?;
        scan(tx, &tables.customer, |row| {
            let (w, d) = (int(row, c::C_W_ID), int(row, c::C_D_ID));
            let customer = self.customers.entry((w, d, int(row, c::C_ID))).or_default();
            customer.balance = hundredths(row, c::C_BALANCE);
            customer.ytd_payment = hundredths(row, c::C_YTD_PAYMENT);
            self.districts.entry((w, d)).or_default().deliveries += int(row, c::C_DELIVERY_CNT);
        })?;
        scan(tx, &tables.history, |row| {
            let amount = hundredths(row, c::H_AMOUNT);
            let (w, d) = (int(row, c::H_W_ID), int(row, c::H_D_ID));
            *self.paid_to_warehouse.entry(w).or_default() += amount;
            self.districts.entry((w, d)).or_default().paid += amount;
            let customer = [c::H_C_W_ID, c::H_C_D_ID, c::H_C_ID].map(|column| int(row, column));
            self.customers.entry(customer.into()).or_default().paid += amount;
        })
    }

    fn read_orders(&mut self, tables: &Tables, tx: &mut Tx<'_, '_>) -> Result<(), Stop> {
        scan(tx, &tables.orders, |row| {
            let (w, d, o) = (int(row, c::O_W_ID), int(row, c::O_D_ID), int(row, c::O_ID));
            let lines = int(row, c::O_OL_CNT);
            let order = self.orders.entry((w, d, o)).or_default();
            order.is_there = true;
            order.customer = int(row, c::O_C_ID);
            order.has_carrier = !row.is_null(c::O_CARRIER_ID);
            order.lines_said = lines;
            let district = self.districts.entry((w, d)).or_default();
            district.orders += 1;
            district.last_order = district.last_order.max(o);
            district.lines_said += lines;
        })?;
        scan(tx, &tables.new_order, |row| {
            let (w, d, o) = (int(row, c::NO_W_ID), int(row, c::NO_D_ID), int(row, c::NO_O_ID));
            self.orders.entry((w, d, o)).or_default().is_new = true;
            let district = self.districts.entry((w, d)).or_default();
            let first = if district.new_orders == 0 { o } else { district.first_new };
            district.first_new = first.min(o);
            district.last_new = district.last_new.max(o);
            district.new_orders += 1;
        })
    }

    fn read_lines(
        &mut self,
        tables: &Tables,
        tx: &mut Tx<'_, '_>,
        scale: Scale,
    ) -> Result<(), Stop> {
        scan(tx, &tables.order_line, |row| {
            let (w, d, o) = (int(row, c::OL_W_ID), int(row, c::OL_D_ID), int(row, c::OL_O_ID));
            self.districts.entry((w, d)).or_default().lines += 1;
            let order = self.orders.entry((w, d, o)).or_default();
            order.lines += 1;
            if !row.is_null(c::OL_DELIVERY_D) {
                order.lines_delivered += 1;
                order.delivered += hundredths(row, c::OL_AMOUNT);
            }
            // Orders that were loaded took nothing from stock.
            if o > scale.customers {
                let supplier = int(row, c::OL_SUPPLY_W_ID);
                let stock = self.stock.entry((supplier, int(row, c::OL_I_ID))).or_default();
                stock.taken.quantity += int(row, c::OL_QUANTITY);
                stock.taken.lines += 1;
                stock.taken.remote += i64::from(supplier != w);
            }
        })
    }

    fn read_stock(&mut self, tables: &Tables, tx: &mut Tx<'_, '_>) -> Result<(), Stop> {
        scan(tx, &tables.stock, |row| {
            let stock = self.stock.entry((int(row, c::S_W_ID), int(row, c::S_I_ID))).or_default();
            stock.said = Taken {
                quantity: int(row, c::S_YTD),
                lines: int(row, c::S_ORDER_CNT),
                remote: int(row, c::S_REMOTE_CNT),
            };
        })
    }

    /// What customers owe for, by their orders.
    fn add_up(&mut self) {
        for ((w, d, _), order) in &self.orders {
            let customer = self.customers.entry((*w, *d, order.customer)).or_default();
            customer.delivered += order.delivered;
        }
    }

    /// 1 and 8.
    fn of_warehouses(&self, say: &mut dyn FnMut(u32, Vec<String>)) {
        let mut in_districts: BTreeMap<i64, i64> = BTreeMap::new();
        for ((w, _), district) in &self.districts {
            *in_districts.entry(*w).or_default() += district.ytd;
        }
        for (number, sums, of) in
            [(1, &in_districts, "its districts have"), (8, &self.paid_to_warehouse, "history says")]
        {
            let is_off = |(w, ytd): (&i64, &i64)| {
                let sum = sums.get(w).copied().unwrap_or(0);
                (sum != *ytd).then(|| format!("warehouse {w} has {ytd}, {of} {sum}"))
            };
            say(number, self.warehouses.iter().filter_map(is_off).collect());
        }
    }

    /// 2, 3, 4, 9 and 11.
    fn of_districts(&self, scale: Scale, say: &mut dyn FnMut(u32, Vec<String>)) {
        let mut each = |number, is_off: &dyn Fn(&DistrictBook) -> Option<String>| {
            let off = self.districts.iter().filter_map(|((w, d), district)| {
                is_off(district).map(|what| format!("district {w}/{d}: {what}"))
            });
            say(number, off.collect());
        };
        each(2, &|d| {
            let last = d.next_order - 1;
            let newest = if d.new_orders == 0 { last } else { d.last_new };
            (d.last_order != last || newest != last).then(|| {
                let (order, new) = (d.last_order, d.last_new);
                format!("its last order should be {last}, and is {order}; the last new one {new}")
            })
        });
        each(3, &|d| {
            let numbers = if d.new_orders == 0 { 0 } else { d.last_new - d.first_new + 1 };
            let (count, first, last) = (d.new_orders, d.first_new, d.last_new);
            (numbers != count).then(|| format!("{count} new orders are numbered {first} to {last}"))
        });
        each(4, &|d| {
            let (said, there) = (d.lines_said, d.lines);
            (said != there).then(|| format!("orders say {said} lines, there are {there}"))
        });
        each(9, &|d| {
            let (ytd, paid) = (d.ytd, d.paid);
            (ytd != paid).then(|| format!("it has {ytd}, history says {paid}"))
        });
        each(11, &|d| {
            let (done, expected) = (d.orders - d.new_orders, scale.delivered() + d.deliveries);
            (done != expected).then(|| {
                format!("{done} orders aren't new; {expected} were loaded so or delivered")
            })
        });
    }

    /// 5, 6 and 7.
    fn of_orders(&self, say: &mut dyn FnMut(u32, Vec<String>)) {
        let mut each = |number, is_off: &dyn Fn(&OrderBook) -> Option<String>| {
            let off = self.orders.iter().filter_map(|((w, d, o), order)| {
                is_off(order).map(|what| format!("order {w}/{d}/{o}: {what}"))
            });
            say(number, off.collect());
        };
        each(5, &|order| {
            let is_off = !order.is_there || order.has_carrier == order.is_new;
            let (carrier, new) = (order.has_carrier, order.is_new);
            is_off.then(|| format!("carrier {carrier}, new {new}; order there {}", order.is_there))
        });
        each(6, &|order| {
            let (said, there) = (order.lines_said, order.lines);
            (said != there).then(|| format!("it says {said} lines, there are {there}"))
        });
        each(7, &|order| {
            let expected = if order.has_carrier { order.lines } else { 0 };
            let (done, lines) = (order.lines_delivered, order.lines);
            (done != expected).then(|| format!("{done} of {lines} lines are delivered"))
        });
    }

    /// 10 and 12.
    fn of_customers(&self, say: &mut dyn FnMut(u32, Vec<String>)) {
        let mut each = |number, is_off: &dyn Fn(&CustomerBook) -> Option<String>| {
            let off = self.customers.iter().filter_map(|((w, d, number), customer)| {
                is_off(customer).map(|what| format!("customer {w}/{d}/{number}: {what}"))
            });
            say(number, off.collect());
        };
        each(10, &|customer| {
            let (balance, expected) = (customer.balance, customer.delivered - customer.paid);
            (balance != expected).then(|| format!("balance {balance}, should be {expected}"))
        });
        each(12, &|customer| {
            let CustomerBook { balance, ytd_payment, delivered, .. } = customer;
            let is_off = balance + ytd_payment != *delivered;
            is_off.then(|| {
                format!("balance {balance} and payments {ytd_payment} aren't {delivered} in all")
            })
        });
    }

    /// 13: what was taken from stock is what orders have.
    fn of_stock(&self, say: &mut dyn FnMut(u32, Vec<String>)) {
        let off = self.stock.iter().filter(|(_, stock)| stock.said != stock.taken);
        let line = |((w, item), stock): (&(i64, i64), &StockBook)| {
            let (said, taken) = (&stock.said, &stock.taken);
            format!("stock {w}/{item}: it says {said:?}, lines of orders {taken:?}")
        };
        say(13, off.map(line).collect());
    }
}

fn scan(
    tx: &mut Tx<'_, '_>,
    table: &Table,
    mut visit: impl FnMut(&RowView<'_>),
) -> Result<(), Stop> {
    tx.scan(table, |row| visit(&row))
}
