//! Filling the tables, in an order that satisfies their foreign keys, by prepared inserts.
//!
//! Callers: `forebay load create`, tests.
//! Source: TPC Benchmark C, revision 5.11, clause 4.3.3.

use database::{Connection, Prepared};
use os::Session;
use stop::Stop;
use value::{Number, Timestamp, Value};

use super::random::{NAMES, Random, last_name};
use super::schema;
use crate::sql_client::{Level, SqlClient};
use crate::texts::order_entry as texts;

/// Districts of a warehouse.
pub(super) const DISTRICTS: i64 = 10;

/// Rows of one loading transaction.
const BATCH: u32 = 500;

/// The size of the load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scale {
    /// Warehouses.
    pub warehouses: i64,
    /// Customers of a district, and orders that it has had; TPC-C has 3,000.
    pub customers: i64,
    /// Items, and stock of each in each warehouse; TPC-C has 100,000.
    pub items: i64,
}

impl Scale {
    /// This number of warehouses, each as large as TPC-C asks.
    pub fn full(warehouses: i64) -> Scale {
        Scale { warehouses, customers: 3_000, items: 100_000 }
    }

    /// The orders up to this one have been delivered.
    pub(super) fn delivered(self) -> i64 {
        self.customers * 7 / 10
    }

    /// The number of last names in use: fewer in a smaller district, so that customers share them.
    pub(super) fn names(self) -> u32 {
        u32::try_from(self.customers / 3).unwrap_or(NAMES).clamp(1, NAMES)
    }

    /// Rows in all, about: an order has ten lines.
    pub fn rows(self) -> u64 {
        let district = self.customers * (1 + 1 + 1 + 10) + self.customers - self.delivered() + 1;
        let all = self.items + self.warehouses * (1 + self.items + DISTRICTS * district);
        u64::try_from(all).expect("counts aren't below zero")
    }
}

/// 2026-01-01, in microseconds: dates count from here by the machine's clock.
const EPOCH_US: i64 = 1_767_225_600_000_000;

/// The present, for columns.
pub(super) fn now(session: &Session) -> Value<'static> {
    let us = session.now().since(waits::Timestamp::default()).as_micros();
    let moment = Timestamp::from_us(EPOCH_US + i64::try_from(us).unwrap_or(0));
    Value::Timestamp(moment.expect("a machine doesn't run for thousands of years"))
}

/// Hundredths as an amount of money.
pub(super) fn money(hundredths: i64) -> Value<'static> {
    Value::Number(Number::from_parts(hundredths.into(), 2).expect("18 digits are fewer than 38"))
}

/// Ten-thousandths as a rate.
fn rate(parts: i64) -> Value<'static> {
    Value::Number(Number::from_parts(parts.into(), 4).expect("18 digits are fewer than 38"))
}

/// Makes the tables and fills them. `progress` is told the rows done and returns whether to go on;
/// if not, the rows loaded so far stay and the result is false.
pub fn load(
    connection: &mut Connection<'_>,
    scale: Scale,
    seed: u64,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<bool, Stop> {
    schema::create_tables(connection)?;
    let whole = Loader::new(connection, scale, seed, progress)?.all()?;
    if whole {
        schema::finish(connection)?;
    }
    Ok(whole)
}

/// A loop over all items that ends early at the first that returns false.
trait AllOf: Iterator + Sized {
    fn all_of(self, mut each: impl FnMut(Self::Item) -> Result<bool, Stop>) -> Result<bool, Stop> {
        for item in self {
            if !each(item)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl<I: Iterator> AllOf for I {}

/// The statements of the load.
struct Inserts {
    warehouse: Prepared,
    district: Prepared,
    customer: Prepared,
    history: Prepared,
    item: Prepared,
    stock: Prepared,
    order: Prepared,
    new_order: Prepared,
    line: Prepared,
}

impl Inserts {
    fn prepare(sql: &mut SqlClient<'_, '_>) -> Result<Inserts, Stop> {
        Ok(Inserts {
            warehouse: sql.prepare(texts::ADD_WAREHOUSE)?,
            district: sql.prepare(texts::ADD_DISTRICT)?,
            customer: sql.prepare(texts::ADD_CUSTOMER)?,
            history: sql.prepare(texts::ADD_HISTORY)?,
            item: sql.prepare(texts::ADD_ITEM)?,
            stock: sql.prepare(texts::ADD_STOCK)?,
            order: sql.prepare(texts::ADD_ORDER)?,
            new_order: sql.prepare(texts::ADD_NEW_ORDER)?,
            line: sql.prepare(texts::ADD_LINE)?,
        })
    }
}

struct Loader<'a, 'c, 's> {
    sql: SqlClient<'c, 's>,
    inserts: Inserts,
    scale: Scale,
    random: Random,
    now: Value<'static>,
    done: u64,
    progress: &'a mut dyn FnMut(u64) -> bool,
}

/// A loading transaction.
struct Batch<'b, 'c, 's> {
    inserts: &'b Inserts,
    sql: &'b mut SqlClient<'c, 's>,
    /// Rows that it has inserted.
    count: u32,
}

impl Batch<'_, '_, '_> {
    fn insert(&mut self, statement: &Prepared, values: &[Value<'_>]) -> Result<(), Stop> {
        self.count += 1;
        self.sql.execute(statement, values).map(drop)
    }
}

impl<'a, 'c, 's> Loader<'a, 'c, 's> {
    fn new(
        connection: &'c mut Connection<'s>,
        scale: Scale,
        seed: u64,
        progress: &'a mut dyn FnMut(u64) -> bool,
    ) -> Result<Loader<'a, 'c, 's>, Stop> {
        let mut sql = SqlClient::new(connection)?;
        let (inserts, now) = (Inserts::prepare(&mut sql)?, now(sql.session()));
        let random = Random::new(seed);
        Ok(Loader { sql, inserts, scale, random, now, done: 0, progress })
    }

    /// All rows. False if it was broken off.
    fn all(&mut self) -> Result<bool, Stop> {
        let warehouses = self.scale.warehouses;
        Ok(self.items()? && (1..=warehouses).all_of(|w| self.warehouse(w))?)
    }

    /// Inserts the rows that `rows` makes for each number, in transactions of some rows each. False
    /// if it was broken off.
    fn each(
        &mut self,
        numbers: impl Iterator<Item = i64>,
        mut rows: impl FnMut(&mut Batch<'_, '_, '_>, &mut Random, i64) -> Result<(), Stop>,
    ) -> Result<bool, Stop> {
        let mut numbers = numbers.peekable();
        while numbers.peek().is_some() {
            self.sql.begin(Level::ReadCommitted)?;
            let mut batch = Batch { inserts: &self.inserts, sql: &mut self.sql, count: 0 };
            while batch.count < BATCH {
                let Some(number) = numbers.next() else { break };
                rows(&mut batch, &mut self.random, number)?;
            }
            let count = batch.count;
            self.sql.commit()?;
            self.done += u64::from(count);
            if !(self.progress)(self.done) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn items(&mut self) -> Result<bool, Stop> {
        self.each(1..=self.scale.items, |batch, random, item| {
            let (name, data) = (random.text(14, 24), random.data());
            let (image, price) = (random.between(1, 10_000), random.between(100, 10_000));
            batch.insert(
                &batch.inserts.item,
                &[
                    Value::Int(item),
                    Value::Int(image),
                    money(price),
                    Value::Text(&name),
                    Value::Text(&data),
                ],
            )
        })
    }

    fn warehouse(&mut self, w: i64) -> Result<bool, Stop> {
        let ytd = DISTRICTS * self.scale.customers * 1_000;
        let made = self.each(std::iter::once(w), |batch, random, w| {
            let (name, address) = (random.text(6, 10), random.text(60, 80));
            batch.insert(
                &batch.inserts.warehouse,
                &[
                    Value::Int(w),
                    money(ytd),
                    rate(random.between(0, 2_000)),
                    Value::Text(&name),
                    Value::Text(&address),
                ],
            )
        })?;
        Ok(made && self.stock(w)? && (1..=DISTRICTS).all_of(|d| self.district(w, d))?)
    }

    fn stock(&mut self, w: i64) -> Result<bool, Stop> {
        self.each(1..=self.scale.items, |batch, random, item| {
            let (districts, data) = (random.text(240, 240), random.data());
            batch.insert(
                &batch.inserts.stock,
                &[
                    Value::Int(w),
                    Value::Int(item),
                    Value::Int(random.between(10, 100)),
                    Value::Text(&districts),
                    Value::Text(&data),
                ],
            )
        })
    }

    fn district(&mut self, w: i64, d: i64) -> Result<bool, Stop> {
        let scale = self.scale;
        let made = self.each(std::iter::once(d), |batch, random, d| {
            let (name, address) = (random.text(6, 10), random.text(60, 80));
            batch.insert(
                &batch.inserts.district,
                &[
                    Value::Int(w),
                    Value::Int(d),
                    Value::Int(scale.customers + 1),
                    money(scale.customers * 1_000),
                    rate(random.between(0, 2_000)),
                    Value::Text(&name),
                    Value::Text(&address),
                ],
            )
        })?;
        Ok(made && self.customers(w, d)? && self.orders(w, d)?)
    }

    fn customers(&mut self, w: i64, d: i64) -> Result<bool, Stop> {
        let (now, names) = (self.now, self.scale.names());
        self.each(1..=self.scale.customers, |batch, random, c| {
            let name = match u32::try_from(c - 1) {
                Ok(number) if number < names => number,
                _ => random.name(names),
            };
            let credit = if random.percent(10) { "BC" } else { "GC" };
            let (first, last) = (random.text(8, 16), last_name(name));
            let (address, phone) = (random.text(60, 80), random.digits(16));
            let (data, about) = (random.text(300, 500), random.text(12, 24));
            batch.insert(
                &batch.inserts.customer,
                &[
                    Value::Int(w),
                    Value::Int(d),
                    Value::Int(c),
                    money(-1_000),
                    money(1_000),
                    Value::Int(1),
                    Value::Int(0),
                    money(5_000_000),
                    rate(random.between(0, 5_000)),
                    now,
                    Value::Text(credit),
                    Value::Text(&first),
                    Value::Text("OE"),
                    Value::Text(&last),
                    Value::Text(&address),
                    Value::Text(&phone),
                    Value::Text(&data),
                ],
            )?;
            let [w, d, c] = [w, d, c].map(Value::Int);
            let about = Value::Text(&about);
            let row = [w, d, c, w, d, now, money(1_000), about];
            batch.insert(&batch.inserts.history, &row)
        })
    }

    fn orders(&mut self, w: i64, d: i64) -> Result<bool, Stop> {
        let (now, scale) = (self.now, self.scale);
        let customers = self.random.shuffled(scale.customers);
        self.each(1..=scale.customers, |batch, random, o| {
            let is_delivered = o <= scale.delivered();
            let carrier = match is_delivered {
                true => Value::Int(random.between(1, 10)),
                false => Value::Null,
            };
            let (lines, customer) = (random.between(5, 15), customers[o as usize - 1]);
            let key = [w, d, o].map(Value::Int);
            let rest = [Value::Int(customer), now, carrier, Value::Int(lines), Value::Int(1)];
            batch.insert(&batch.inserts.order, &[&key[..], &rest].concat())?;
            if !is_delivered {
                batch.insert(&batch.inserts.new_order, &key)?;
            }
            for line in 1..=lines {
                let (amount, delivered) = match is_delivered {
                    true => (0, now),
                    false => (random.between(1, 999_999), Value::Null),
                };
                let (item, about) = (random.between(1, scale.items), random.text(24, 24));
                let [line, item, w] = [line, item, w].map(Value::Int);
                let rest =
                    [line, item, w, delivered, Value::Int(5), money(amount), Value::Text(&about)];
                batch.insert(&batch.inserts.line, &[&key[..], &rest].concat())?;
            }
            Ok(())
        })
    }
}
