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
//! All is done by statements that the session has prepared (`texts`). A plan has a share of
//! transactions run at serializable. A session that is refused because of another session begins
//! the same transaction again.
//!
//! Callers: `run`.
//! Source: TPC Benchmark C, revision 5.11, clauses 2.4 to 2.8.

use database::{CursorRow, is_worth_repeating};
use stop::{RefusalKind, Stop};
use value::{Number, Value};

use super::conditions::hundredths_of;
use super::load::{DISTRICTS, Scale, money, now};
use super::random::{Random, last_name};
use super::statements::Statements;
use crate::sql_client::{Level, SqlClient};

/// The text of one district has so many characters in a row of stock.
const DISTRICT_TEXT: i64 = 24;

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
pub(super) struct Client<'c, 's> {
    pub(super) sql: SqlClient<'c, 's>,
    pub(super) statements: Statements,
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

/// An order, by its key.
#[derive(Clone, Copy)]
struct Order {
    w: i64,
    d: i64,
    number: i64,
}

impl Client<'_, '_> {
    /// Runs the next transaction, again after a conflict with others. None if all tries conflicted.
    pub(super) fn work(&mut self) -> Result<Option<Done>, Stop> {
        for _ in 0..TRIES {
            let chosen = self.random.clone();
            match self.transaction() {
                Err(stop) if is_worth_repeating(&stop) => {
                    self.sql.rollback()?;
                    // The next try makes the same choices.
                    self.random = chosen;
                }
                done => return done.map(Some),
            }
        }
        // The next transaction makes other choices.
        self.random.between(1, 100);
        Ok(None)
    }

    fn transaction(&mut self) -> Result<Done, Stop> {
        let (name, is_committed) = match self.random.between(1, 100) {
            1..=45 => ("new order", self.new_order()?),
            46..=88 => ("payment", self.payment()?),
            89..=92 => ("order status", self.order_status()?),
            93..=96 => ("delivery", self.delivery()?),
            _ => ("stock level", self.stock_level()?),
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
    fn begin(&mut self) -> Result<(), Stop> {
        let level = match self.random.percent(self.serializable) {
            true => Level::Serializable,
            false => Level::ReadCommitted,
        };
        self.sql.begin(level)
    }

    /// Counts the transaction in the session's row, and commits. True.
    fn commit(&mut self) -> Result<bool, Stop> {
        self.sql.execute(&self.statements.acknowledge, &ints([self.session]))?;
        self.sql.commit().map(|()| true)
    }

    /// Ends a transaction that changed nothing, or whose changes aren't wanted. False.
    fn rollback(&mut self) -> Result<bool, Stop> {
        self.sql.rollback().map(|()| false)
    }

    fn new_order(&mut self) -> Result<bool, Stop> {
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
        let entered = now(self.sql.session());
        self.begin()?;
        self.sql.execute(&self.statements.savepoint, &[])?;
        let tax = self.sql.first(&self.statements.tax, &ints([w]), number)?;
        found(tax, "warehouse")?;
        let who = ints([w, d, customer]);
        found(self.sql.first(&self.statements.discount, &who, number)?, "customer")?;
        let order = self.sql.first(&self.statements.next_order, &ints([w, d]), whole)?;
        let order = Order { w, d, number: found(order, "district")? };
        let all_local = lines.iter().all(|line| line.supplier == w);
        let [w, d, number, customer] = ints([w, d, order.number, customer]);
        let [count, local] = ints([lines.len() as i64, all_local.into()]);
        let row = [w, d, number, customer, entered, Value::Null, count, local];
        self.sql.execute(&self.statements.add_order, &row)?;
        self.sql.execute(&self.statements.add_new_order, &[w, d, number])?;
        for (line, place) in lines.iter().zip(1..) {
            if !self.line(order, place, line)? {
                if keeps_count {
                    self.sql.execute(&self.statements.rollback_to, &[])?;
                    return self.commit();
                }
                return self.rollback();
            }
        }
        self.commit()
    }

    /// Takes goods from stock, and writes the line. False if there is no such item.
    fn line(&mut self, order: Order, place: i64, line: &Line) -> Result<bool, Stop> {
        let price = self.sql.first(&self.statements.price, &ints([line.item]), money_of)?;
        let Some(price) = price else { return Ok(false) };
        let is_remote = order.w != line.supplier;
        let from = (order.d - 1) * DISTRICT_TEXT + 1;
        let taken = [line.supplier, line.item, line.quantity, is_remote.into(), from];
        let about = self.sql.first(&self.statements.take, &ints(taken), text)?;
        let about = found(about, "row of stock")?;
        let [w, d, number, place] = ints([order.w, order.d, order.number, place]);
        let [item, supplier, quantity] = ints([line.item, line.supplier, line.quantity]);
        let (amount, about) = (money(price * line.quantity), Value::Text(&about));
        let row = [w, d, number, place, item, supplier, Value::Null, quantity, amount, about];
        self.sql.execute(&self.statements.add_line, &row)?;
        Ok(true)
    }

    fn payment(&mut self) -> Result<bool, Stop> {
        let (w, d) = (self.warehouse(), self.random.between(1, DISTRICTS));
        let amount = self.random.between(100, 500_000);
        let (home, district) = match self.random.percent(85) {
            true => (w, d),
            false => (self.other(w), self.random.between(1, DISTRICTS)),
        };
        let date = now(self.sql.session());
        self.begin()?;
        let customer = self.customer(home, district)?;
        self.pay([home, district, customer], [w, d], amount)?;
        let paid = [Value::Int(w), Value::Int(d), money(amount)];
        let place = self.sql.first(&self.statements.pay_district, &paid, text)?;
        let place = found(place, "district")?;
        // The warehouse last: everybody pays there.
        let paid = [Value::Int(w), money(amount)];
        let house = self.sql.first(&self.statements.pay_warehouse, &paid, text)?;
        let house = found(house, "warehouse")?;
        let [home, district, customer, w, d] = ints([home, district, customer, w, d]);
        let about = format!("{house}    {place}");
        let about = Value::Text(&about);
        let row = [home, district, customer, w, d, date, money(amount), about];
        self.sql.execute(&self.statements.add_history, &row)?;
        self.commit()
    }

    /// A customer pays; one with bad credit gets a note of it.
    fn pay(&mut self, customer: [i64; 3], place: [i64; 2], amount: i64) -> Result<(), Stop> {
        let [w, d, c] = ints(customer);
        let paid = [w, d, c, money(amount)];
        let credit = self.sql.first(&self.statements.pay_customer, &paid, text)?;
        if found(credit, "customer")? != "BC" {
            return Ok(());
        }
        let mut note = String::new();
        for number in customer.iter().chain(&place).chain([&amount]) {
            note.push_str(&number.to_string());
            note.push(' ');
        }
        let noted = [w, d, c, Value::Text(&note)];
        self.sql.execute(&self.statements.note_payment, &noted).map(drop)
    }

    /// The number of a customer: six times of ten by the last name, the middle one of those who
    /// have it, by their first names.
    fn customer(&mut self, w: i64, d: i64) -> Result<i64, Stop> {
        if !self.random.percent(60) {
            return Ok(self.random.customer(self.scale.customers));
        }
        let name = last_name(self.random.name(self.scale.names()));
        let [w, d] = ints([w, d]);
        let key = [w, d, Value::Text(&name)];
        let mut numbers = Vec::new();
        self.sql.each(&self.statements.customers_of_name, &key, |row| {
            numbers.push(row.get::<i64>(0)?);
            Ok(())
        })?;
        let middle = numbers.len().div_ceil(2).saturating_sub(1);
        found(numbers.get(middle).copied(), "customer of that name")
    }

    fn order_status(&mut self) -> Result<bool, Stop> {
        let (w, d) = (self.warehouse(), self.random.between(1, DISTRICTS));
        self.begin()?;
        let customer = self.customer(w, d)?;
        let key = ints([w, d, customer]);
        found(self.sql.first(&self.statements.customer, &key, money_of)?, "customer")?;
        if let Some(last) = self.sql.first(&self.statements.last_order, &key, whole)? {
            let (mut lines, mut amount) = (0, 0);
            self.sql.each(&self.statements.lines, &ints([w, d, last]), |row| {
                lines += 1;
                amount += money_of(row)?;
                Ok(())
            })?;
            found((lines > 0 && amount >= 0).then_some(()), "line of an order")?;
        }
        self.rollback()
    }

    fn delivery(&mut self) -> Result<bool, Stop> {
        let (w, carrier) = (self.warehouse(), self.random.between(1, 10));
        let date = now(self.sql.session());
        self.begin()?;
        for d in 1..=DISTRICTS {
            self.deliver(w, d, carrier, date)?;
        }
        self.commit()
    }

    /// Delivers the oldest new order of a district, if there is any.
    fn deliver(&mut self, w: i64, d: i64, carrier: i64, date: Value<'_>) -> Result<(), Stop> {
        let order = loop {
            let oldest = self.sql.first(&self.statements.oldest_new, &ints([w, d]), whole)?;
            let Some(oldest) = oldest else { return Ok(()) };
            // Another delivery may have taken it meanwhile: then there is another that is oldest.
            let key = ints([w, d, oldest]);
            if self.sql.execute(&self.statements.no_longer_new, &key)? > 0 {
                break oldest;
            }
        };
        let carried = ints([w, d, order, carrier]);
        let customer = self.sql.first(&self.statements.carry, &carried, whole)?;
        let customer = found(customer, "order")?;
        let [w, d, order, customer] = ints([w, d, order, customer]);
        let amount = self.sql.first(&self.statements.amount, &[w, d, order], money_of)?;
        let amount = money(found(amount, "line of an order")?);
        self.sql.execute(&self.statements.deliver, &[w, d, order, date])?;
        self.sql.execute(&self.statements.bill, &[w, d, customer, amount]).map(drop)
    }

    fn stock_level(&mut self) -> Result<bool, Stop> {
        let (w, d) = (self.warehouse(), self.random.between(1, DISTRICTS));
        let threshold = self.random.between(10, 20);
        self.begin()?;
        let next = self.sql.first(&self.statements.next_order_number, &ints([w, d]), whole)?;
        let next = found(next, "district")?;
        let asked = ints([w, d, next - 20, next, threshold]);
        let low = self.sql.first(&self.statements.low, &asked, whole)?;
        std::hint::black_box(found(low, "count of goods")?);
        self.rollback()
    }
}

fn ints<const N: usize>(numbers: [i64; N]) -> [Value<'static>; N] {
    numbers.map(Value::Int)
}

/// The first column of a row, as a whole number.
fn whole(row: CursorRow<'_>) -> Result<i64, Stop> {
    row.get(0)
}

/// The same as a decimal.
fn number(row: CursorRow<'_>) -> Result<Number, Stop> {
    row.get(0)
}

/// The same as an amount of money, in hundredths.
fn money_of(row: CursorRow<'_>) -> Result<i64, Stop> {
    number(row).map(hundredths_of)
}

/// The same as a text.
fn text(row: CursorRow<'_>) -> Result<String, Stop> {
    row.get(0)
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
