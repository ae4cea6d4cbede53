//! The five transactions of order entry.
//!
//! | transaction | of a hundred | what it does |
//! |---|---|---|
//! | new order | 45 | reads warehouse, customer, items; changes district and stock; 12 rows more |
//! | payment | 43 | changes warehouse, district, customer; a row of history more |
//! | order status | 4 | reads a customer, by the last name as a rule, and the last order |
//! | delivery | 4 | the oldest new order of each district: ten rows fewer, 130 changed |
//! | stock level | 4 | reads the lines of twenty orders and their stock |
//!
//! Sessions have no home warehouse and don't think: each transaction chooses. Every transaction
//! that changes something counts up the session's row of `acknowledged`. One new order in a hundred
//! is taken back, for one of its items doesn't exist: half of them by a rollback, half by going
//! back to a savepoint and committing what is left, which is the count alone.
//!
//! A plan has a share of transactions run at serializable. A session that is refused because of
//! another session begins the same transaction again.
//!
//! Callers: `run`.
//! Source: TPC Benchmark C, revision 5.11, clauses 2.4 to 2.8.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use database::{Bounds, Connection, Direction, Row, RowChange, Table, Tx, is_worth_repeating};
use stop::{RefusalKind, Stop};
use value::{Number, Value};

use super::conditions::hundredths;
use super::load::{DISTRICTS, Scale, money, now};
use super::random::{Random, last_name};
use super::schema::{Tables, column as c};
use crate::tables::primary;

/// A customer's data is as long as this at most.
const DATA_MAX: usize = 500;

/// How often a session tries a transaction that conflicts with others; then it begins another.
const TRIES: u32 = 10;

/// A transaction that has ended as it was to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Done {
    /// Its type.
    pub(super) name: &'static str,
    /// Whether it has changed rows and committed. If not it only read, or rolled back as planned.
    pub(super) is_committed: bool,
}

/// One session's work.
pub(super) struct Client<'a> {
    pub(super) tables: &'a Tables,
    pub(super) scale: Scale,
    pub(super) random: Random,
    /// The key of its row of `acknowledged`.
    pub(super) session: i64,
    /// The percentage of transactions that run at serializable.
    pub(super) serializable: u32,
}

/// A line of an order to come.
struct Line {
    item: i64,
    supplier: i64,
    quantity: i64,
}

impl Client<'_> {
    /// Runs the next transaction, again after a conflict with others. None if all tries conflicted.
    pub(super) fn work(&mut self, connection: &mut Connection<'_>) -> Result<Option<Done>, Stop> {
        for _ in 0..TRIES {
            let chosen = self.random.clone();
            match self.transaction(connection) {
                // The next try makes the same choices.
                Err(stop) if is_worth_repeating(&stop) => self.random = chosen,
                done => return done.map(Some),
            }
        }
        // The next transaction makes other choices.
        self.random.between(1, 100);
        Ok(None)
    }

    fn transaction(&mut self, connection: &mut Connection<'_>) -> Result<Done, Stop> {
        let (name, is_committed) = match self.random.between(1, 100) {
            1..=45 => ("new order", self.new_order(connection)?),
            46..=88 => ("payment", self.payment(connection)?),
            89..=92 => ("order status", self.order_status(connection)?),
            93..=96 => ("delivery", self.delivery(connection)?),
            _ => ("stock level", self.stock_level(connection)?),
        };
        Ok(Done { name, is_committed })
    }

    fn warehouse(&mut self) -> i64 {
        self.random.between(1, self.scale.warehouses)
    }

    /// A warehouse other than this, if there is one.
    fn other(&mut self, w: i64) -> i64 {
        match self.random.between(1, (self.scale.warehouses - 1).max(1)) {
            other if self.scale.warehouses > 1 && other >= w => other + 1,
            _ if self.scale.warehouses == 1 => w,
            other => other,
        }
    }

    /// Begins a transaction, at serializable for the plan's share of them.
    fn begin<'c, 's>(&mut self, connection: &'c mut Connection<'s>) -> Result<Tx<'c, 's>, Stop> {
        match self.random.percent(self.serializable) {
            true => connection.begin_serializable(),
            false => Ok(connection.begin()),
        }
    }

    /// Counts the transaction in the session's row, and commits. True.
    fn commit(&self, mut tx: Tx<'_, '_>) -> Result<bool, Stop> {
        let count = |row: &Row<'_>, change: &mut RowChange<'_>| add(row, change, c::A_COMMITS, 1);
        tx.update(&self.tables.acknowledged, &[Value::Int(self.session)], count)?;
        tx.commit().map(|()| true)
    }

    fn new_order(&mut self, connection: &mut Connection<'_>) -> Result<bool, Stop> {
        let (w, d) = (self.warehouse(), self.random.between(1, DISTRICTS));
        let customer = self.random.customer(self.scale.customers);
        let mut lines: Vec<Line> = Vec::new();
        for _ in 0..self.random.between(5, 15) {
            let supplier = if self.random.percent(1) { self.other(w) } else { w };
            let item = self.random.item(self.scale.items);
            lines.push(Line { item, supplier, quantity: self.random.between(1, 10) });
        }
        // In one order, so that two orders of the same goods don't lock each other out.
        lines.sort_by_key(|line| (line.supplier, line.item));
        let keeps_count = self.random.percent(50);
        if self.random.percent(1) {
            // A number that nobody has: the transaction is to be taken back.
            lines.push(Line { item: self.scale.items + 1, supplier: w, quantity: 1 });
        }
        let entered = now(connection);
        let mut tx = self.begin(connection)?;
        let before = tx.savepoint();
        let tables = self.tables;
        found(
            tx.get(&tables.warehouse, &ints([w]), |row| hundredths(&row, c::W_TAX))?,
            "warehouse",
        )?;
        let who = ints([w, d, customer]);
        found(tx.get(&tables.customer, &who, |row| row.is_null(c::C_DISCOUNT))?, "customer")?;
        let mut order = 0;
        let next = |row: &Row<'_>, change: &mut RowChange<'_>| {
            order = row.get_i64(c::D_NEXT_O_ID).unwrap_or(0);
            change.set(c::D_NEXT_O_ID, Value::Int(order + 1))
        };
        tx.update(&tables.district, &ints([w, d]), next)?;
        let all_local = lines.iter().all(|line| line.supplier == w);
        let [w, d, order] = ints([w, d, order]);
        let count = Value::Int(lines.len() as i64);
        let (customer, local) = (Value::Int(customer), Value::Int(all_local.into()));
        tx.insert(&tables.orders, &[w, d, order, customer, entered, Value::Null, count, local])?;
        tx.insert(&tables.new_order, &[w, d, order])?;
        for (line, number) in lines.iter().zip(1..) {
            if !self.line(&mut tx, [w, d, order, Value::Int(number)], line)? {
                if keeps_count {
                    tx.rollback_to(before)?;
                    return self.commit(tx);
                }
                return tx.rollback().map(|()| false);
            }
        }
        self.commit(tx)
    }

    /// Takes goods from stock, and writes the line. False if there is no such item.
    fn line(&self, tx: &mut Tx<'_, '_>, key: [Value<'_>; 4], line: &Line) -> Result<bool, Stop> {
        let tables = self.tables;
        let [w, d, ..] = key;
        let price = tx.get(&tables.item, &ints([line.item]), |row| hundredths(&row, c::I_PRICE))?;
        let Some(price) = price else { return Ok(false) };
        let is_remote = matches!(w, Value::Int(w) if w != line.supplier);
        let district = if let Value::Int(d) = d { d as usize } else { 1 };
        let mut about = String::new();
        let take = |row: &Row<'_>, change: &mut RowChange<'_>| {
            let left = row.get_i64(c::S_QUANTITY).unwrap_or(0) - line.quantity;
            let left = if left < 10 { left + 91 } else { left };
            change.set(c::S_QUANTITY, Value::Int(left))?;
            add(row, change, c::S_YTD, line.quantity)?;
            add(row, change, c::S_ORDER_CNT, 1)?;
            add(row, change, c::S_REMOTE_CNT, is_remote.into())?;
            let texts = row.get_text(c::S_DIST).ok().flatten().unwrap_or_default();
            about.clear();
            about.push_str(texts.get((district - 1) * 24..district * 24).unwrap_or_default());
            Ok(())
        };
        tx.update(&tables.stock, &ints([line.supplier, line.item]), take)?;
        let [item, supplier, quantity] = ints([line.item, line.supplier, line.quantity]);
        let amount = money(price * line.quantity);
        let rest = [item, supplier, Value::Null, quantity, amount, Value::Text(&about)];
        tx.insert(&tables.order_line, &[&key[..], &rest].concat())?;
        Ok(true)
    }

    fn payment(&mut self, connection: &mut Connection<'_>) -> Result<bool, Stop> {
        let (w, d) = (self.warehouse(), self.random.between(1, DISTRICTS));
        let amount = self.random.between(100, 500_000);
        let (home, district) = match self.random.percent(85) {
            true => (w, d),
            false => (self.other(w), self.random.between(1, DISTRICTS)),
        };
        let date = now(connection);
        let mut tx = self.begin(connection)?;
        let customer = self.customer(&mut tx, home, district)?;
        let tables = self.tables;
        self.pay(&mut tx, [home, district, customer], [w, d], amount)?;
        let mut place = String::new();
        let paid = |row: &Row<'_>, change: &mut RowChange<'_>| {
            name_of(row, c::D_NAME, &mut place);
            add_money(row, change, c::D_YTD, amount)
        };
        tx.update(&tables.district, &ints([w, d]), paid)?;
        let mut house = String::new();
        // The warehouse last: everybody pays there.
        let paid = |row: &Row<'_>, change: &mut RowChange<'_>| {
            name_of(row, c::W_NAME, &mut house);
            add_money(row, change, c::W_YTD, amount)
        };
        tx.update(&tables.warehouse, &ints([w]), paid)?;
        let [home, district, customer, w, d] = ints([home, district, customer, w, d]);
        let about = format!("{house}    {place}");
        let about = Value::Text(&about);
        let row = [home, district, customer, w, d, date, money(amount), about];
        tables.insert_history(&mut tx, row)?;
        self.commit(tx)
    }

    fn pay(
        &self,
        tx: &mut Tx<'_, '_>,
        customer: [i64; 3],
        place: [i64; 2],
        amount: i64,
    ) -> Result<(), Stop> {
        let mut note = String::new();
        let pay = |row: &Row<'_>, change: &mut RowChange<'_>| {
            add_money(row, change, c::C_BALANCE, -amount)?;
            add_money(row, change, c::C_YTD_PAYMENT, amount)?;
            add(row, change, c::C_PAYMENT_CNT, 1)?;
            if row.get_text(c::C_CREDIT).ok().flatten() != Some("BC") {
                return Ok(());
            }
            note.clear();
            for number in customer.iter().chain(&place).chain([&amount]) {
                note.push_str(&number.to_string());
                note.push(' ');
            }
            note.push_str(row.get_text(c::C_DATA).ok().flatten().unwrap_or_default());
            note.truncate(DATA_MAX);
            change.set(c::C_DATA, Value::Text(&note))
        };
        tx.update(&self.tables.customer, &ints(customer), pay).map(|_| ())
    }

    /// The number of a customer: six times of ten by the last name, the middle one of those who
    /// have it, by their first names.
    fn customer(&mut self, tx: &mut Tx<'_, '_>, w: i64, d: i64) -> Result<i64, Stop> {
        if !self.random.percent(60) {
            return Ok(self.random.customer(self.scale.customers));
        }
        let name = last_name(self.random.name(self.scale.names()));
        let [w, d] = ints([w, d]);
        let key = [w, d, Value::Text(&name)];
        let mut numbers = Vec::new();
        tx.range(
            &self.tables.customer,
            self.tables.by_name(),
            &Bounds::equal(&key),
            Direction::Ascending,
            |row| {
                numbers.extend(row.get_i64(c::C_ID));
                ControlFlow::Continue(())
            },
        )?;
        let middle = numbers.len().div_ceil(2).saturating_sub(1);
        found(numbers.get(middle).copied(), "customer of that name")
    }

    fn order_status(&mut self, connection: &mut Connection<'_>) -> Result<bool, Stop> {
        let (w, d) = (self.warehouse(), self.random.between(1, DISTRICTS));
        let mut tx = self.begin(connection)?;
        let customer = self.customer(&mut tx, w, d)?;
        let key = ints([w, d, customer]);
        let balance = tx.get(&self.tables.customer, &key, |row| hundredths(&row, c::C_BALANCE))?;
        found(balance, "customer")?;
        let mut last = None;
        tx.range(
            &self.tables.orders,
            self.tables.by_customer(),
            &Bounds::equal(&key),
            Direction::Ascending,
            |row| {
                last = row.get_i64(c::O_ID);
                ControlFlow::Break(())
            },
        )?;
        if let Some(last) = last {
            let (mut lines, mut amount) = (0, 0);
            each_line(&mut tx, &self.tables.order_line, [w, d, last], |row| {
                lines += 1;
                amount += hundredths(row, c::OL_AMOUNT);
            })?;
            found((lines > 0 && amount >= 0).then_some(()), "line of an order")?;
        }
        tx.rollback().map(|()| false)
    }

    fn delivery(&mut self, connection: &mut Connection<'_>) -> Result<bool, Stop> {
        let (w, carrier) = (self.warehouse(), self.random.between(1, 10));
        let date = now(connection);
        let mut tx = self.begin(connection)?;
        for d in 1..=DISTRICTS {
            self.deliver(&mut tx, w, d, Value::Int(carrier), date)?;
        }
        self.commit(tx)
    }

    /// The oldest new order of a district, if there is any.
    fn deliver(
        &self,
        tx: &mut Tx<'_, '_>,
        w: i64,
        d: i64,
        carrier: Value<'_>,
        date: Value<'_>,
    ) -> Result<(), Stop> {
        let tables = self.tables;
        let order = loop {
            let key = ints([w, d]);
            let primary = primary(&tables.new_order)?;
            let mut oldest = None;
            tx.range(
                &tables.new_order,
                primary,
                &Bounds::equal(&key),
                Direction::Ascending,
                |row| {
                    oldest = row.get_i64(c::NO_O_ID);
                    ControlFlow::Break(())
                },
            )?;
            let Some(oldest) = oldest else { return Ok(()) };
            // Another delivery may have taken it meanwhile: then there is another that is oldest.
            if tx.delete(&tables.new_order, &ints([w, d, oldest]))? {
                break oldest;
            }
        };
        let mut customer = 0;
        tx.update(&tables.orders, &ints([w, d, order]), |row, change| {
            customer = row.get_i64(c::O_C_ID).unwrap_or(0);
            change.set(c::O_CARRIER_ID, carrier)
        })?;
        let mut amount = 0;
        each_line(tx, &tables.order_line, [w, d, order], |row| {
            amount += hundredths(row, c::OL_AMOUNT);
        })?;
        let key = ints([w, d, order]);
        let primary = primary(&tables.order_line)?;
        let lines = database::Selection::Range(primary, Bounds::equal(&key));
        tx.update_where(&tables.order_line, lines, None, |_, change| {
            change.set(c::OL_DELIVERY_D, date)
        })?;
        tx.update(&tables.customer, &ints([w, d, customer]), |row, change| {
            add_money(row, change, c::C_BALANCE, amount)?;
            add(row, change, c::C_DELIVERY_CNT, 1)
        })?;
        Ok(())
    }

    fn stock_level(&mut self, connection: &mut Connection<'_>) -> Result<bool, Stop> {
        let (w, d) = (self.warehouse(), self.random.between(1, DISTRICTS));
        let threshold = self.random.between(10, 20);
        let mut tx = self.begin(connection)?;
        let tables = self.tables;
        let next = tx.get(&tables.district, &ints([w, d]), |row| row.get_i64(c::D_NEXT_O_ID))?;
        let next = found(next.flatten(), "district")?;
        let mut items = BTreeSet::new();
        for order in (next - 20).max(1)..next {
            each_line(&mut tx, &tables.order_line, [w, d, order], |row| {
                items.extend(row.get_i64(c::OL_I_ID));
            })?;
        }
        let mut low = 0;
        for item in items {
            let left = tx.get(&tables.stock, &ints([w, item]), |row| row.get_i64(c::S_QUANTITY))?;
            low += u32::from(found(left.flatten(), "stock")? < threshold);
        }
        std::hint::black_box(low);
        tx.rollback().map(|()| false)
    }
}

fn ints<const N: usize>(numbers: [i64; N]) -> [Value<'static>; N] {
    numbers.map(Value::Int)
}

fn each_line(
    tx: &mut Tx<'_, '_>,
    lines: &Table,
    order: [i64; 3],
    mut each: impl FnMut(&Row<'_>),
) -> Result<(), Stop> {
    let key = ints(order);
    let primary = primary(lines)?;
    tx.range(lines, primary, &Bounds::equal(&key), Direction::Ascending, |row| {
        each(&row);
        ControlFlow::Continue(())
    })
}

fn add(row: &Row<'_>, change: &mut RowChange<'_>, column: usize, number: i64) -> Result<(), Stop> {
    change.set(column, Value::Int(row.get_i64(column).unwrap_or(0) + number))
}

fn add_money(
    row: &Row<'_>,
    change: &mut RowChange<'_>,
    column: usize,
    amount: i64,
) -> Result<(), Stop> {
    let old = match row.get(column) {
        Ok(Value::Number(number)) => number,
        _ => Number::ZERO,
    };
    let amount = Number::from_parts(amount.into(), 2).expect("18 digits are fewer than 38");
    match old.checked_add(amount) {
        Ok(sum) => change.set(column, Value::Number(sum)),
        Err(_) => Err(Stop::refuse(RefusalKind::Invalid, "an amount of money got too large")),
    }
}

fn name_of(row: &Row<'_>, column: usize, name: &mut String) {
    name.clear();
    name.push_str(row.get_text(column).ok().flatten().unwrap_or_default());
}

/// A row that the load has put there; a refusal if it is missing.
fn found<T>(found: Option<T>, what: &str) -> Result<T, Stop> {
    found.ok_or_else(|| {
        let message = format!(
            "a {what} isn't there; load the tables of order entry again, into a new database"
        );
        Stop::refuse(RefusalKind::NotFound, message)
    })
}
