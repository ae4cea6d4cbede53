//! The rows of TPC-DS's table `web_returns`, made by a seed.
//!
//! Columns, types, ranges and amounts that belong together are those of the benchmark at 100 GB;
//! the generator is our own, so its rows aren't those of `dsdgen`.
//!
//! ```text
//!   amount = quantity * price     tax = a share of it     amount with tax
//!   refunded in cash + charge reversed + credit = amount     loss = tax + fee + shipping
//! ```
//!
//! Callers: race `web-returns` and experiment `block-size-scan`, which write them into a file.
//! Source: TPC Benchmark DS, revision 3.2, clauses 2.4.9 (web_returns) and 3 (row counts).

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The rows at 100 GB.
pub const ROWS: u64 = 7_197_670;
/// The rows of `item`.
pub const ITEMS: u64 = 204_000;

/// The columns, with the types of the benchmark.
const COLUMNS: [(&str, &str); 24] = [
    ("wr_returned_date_sk", "integer"),
    ("wr_returned_time_sk", "integer"),
    ("wr_item_sk", "integer"),
    ("wr_refunded_customer_sk", "integer"),
    ("wr_refunded_cdemo_sk", "integer"),
    ("wr_refunded_hdemo_sk", "integer"),
    ("wr_refunded_addr_sk", "integer"),
    ("wr_returning_customer_sk", "integer"),
    ("wr_returning_cdemo_sk", "integer"),
    ("wr_returning_hdemo_sk", "integer"),
    ("wr_returning_addr_sk", "integer"),
    ("wr_web_page_sk", "integer"),
    ("wr_reason_sk", "integer"),
    ("wr_order_number", "bigint"),
    ("wr_return_quantity", "integer"),
    ("wr_return_amt", "decimal(7,2)"),
    ("wr_return_tax", "decimal(7,2)"),
    ("wr_return_amt_inc_tax", "decimal(7,2)"),
    ("wr_fee", "decimal(7,2)"),
    ("wr_return_ship_cost", "decimal(7,2)"),
    ("wr_refunded_cash", "decimal(7,2)"),
    ("wr_reversed_charge", "decimal(7,2)"),
    ("wr_account_credit", "decimal(7,2)"),
    ("wr_net_loss", "decimal(7,2)"),
];

/// Columns that are never NULL: the primary key of the benchmark.
const KEY: u32 = 1 << 2 | 1 << 13;
/// Of columns from here on values are amounts, in cents.
const FIRST_AMOUNT: usize = 15;
/// So many rows of a hundred may have NULLs: each of their columns with an even chance.
const WITH_NULLS: u32 = 9;
/// Orders that rows are of, in ascending order.
const ORDERS: u64 = 6_000_000;

/// The columns as they stand between the brackets of CREATE TABLE.
pub fn columns() -> String {
    let column = |(name, kind): &(&str, &str)| format!("{name} {kind}");
    COLUMNS.iter().map(column).collect::<Vec<_>>().join(", ")
}

/// A row: its values, and which of them are NULL.
struct Return {
    values: [i64; COLUMNS.len()],
    nulls: u32,
}

/// Makes the lines of a file, one after the other: a row each, with `|` between the columns and
/// nothing where one is NULL.
#[derive(Debug)]
pub struct Lines {
    dice: Xoshiro256PlusPlus,
    /// The number of the next row, from 0.
    next: u64,
}

impl Lines {
    /// The rows of this seed, from the first on.
    pub fn new(seed: u64) -> Lines {
        Lines { dice: Xoshiro256PlusPlus::seed_from_u64(seed), next: 0 }
    }

    /// Puts the next line behind what is in `into`, with its line end.
    pub fn append_to(&mut self, into: &mut Vec<u8>) {
        let row = self.next_row();
        write_line(into, &row);
    }

    fn between(&mut self, from: i64, to: i64) -> i64 {
        self.dice.random_range(from..=to)
    }

    /// Customer, demographics of the customer and of the household, address.
    fn person(&mut self) -> [i64; 4] {
        [2_000_000, 1_920_800, 7_200, 1_000_000].map(|most| self.between(1, most))
    }

    fn next_row(&mut self) -> Return {
        let number = self.next;
        self.next += 1;
        let (day, time) = (self.between(2_450_820, 2_452_996), self.between(0, 86_399));
        let item = self.between(1, ITEMS as i64);
        let refunded = self.person();
        // The customer who is refunded has returned the goods, as a rule.
        let returning = if self.between(1, 5) == 1 { self.person() } else { refunded };
        let (page, reason) = (self.between(1, 2_040), self.between(1, 55));
        let order = (number * ORDERS / ROWS + 1) as i64;
        let (quantity, price) = (self.between(1, 100), self.between(100, 30_000));
        let amount = quantity * price;
        let tax = amount * self.between(0, 9) / 100;
        let (fee, shipping) = (self.between(50, 10_000), quantity * self.between(0, price / 2));
        let cash = amount * self.between(0, 100) / 100;
        let charge = (amount - cash) * self.between(0, 100) / 100;
        let credit = amount - cash - charge;
        let mut values = [0; COLUMNS.len()];
        values[..3].copy_from_slice(&[day, time, item]);
        values[3..7].copy_from_slice(&refunded);
        values[7..11].copy_from_slice(&returning);
        values[11..15].copy_from_slice(&[page, reason, order, quantity]);
        let amounts = [amount, tax, amount + tax, fee, shipping, cash, charge, credit];
        values[FIRST_AMOUNT..23].copy_from_slice(&amounts);
        values[23] = tax + fee + shipping;
        let nulls = match self.dice.random_range(0..100) < WITH_NULLS {
            true => self.dice.random_range(0..1 << COLUMNS.len()) & !KEY,
            false => 0,
        };
        Return { values, nulls }
    }
}

fn write_line(line: &mut Vec<u8>, row: &Return) {
    for (place, value) in row.values.iter().enumerate() {
        if place > 0 {
            line.push(b'|');
        }
        let is_null = row.nulls >> place & 1 == 1;
        match is_null {
            true => {}
            false if place >= FIRST_AMOUNT => write_amount(line, value.unsigned_abs()),
            false => write_whole(line, value.unsigned_abs()),
        }
    }
    line.push(b'\n');
}

/// Cents as an amount with two places.
fn write_amount(line: &mut Vec<u8>, cents: u64) {
    write_whole(line, cents / 100);
    line.extend([b'.', b'0' + (cents / 10 % 10) as u8, b'0' + (cents % 10) as u8]);
}

/// No value is below zero.
fn write_whole(line: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    line.extend(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(seed: u64, count: u64) -> Vec<String> {
        let (mut lines, mut text) = (Lines::new(seed), Vec::new());
        (0..count).for_each(|_| lines.append_to(&mut text));
        let text = String::from_utf8(text).expect("digits");
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_seed_makes_the_same_rows_again() {
        assert_eq!(lines(1, 100), lines(1, 100));
        assert_ne!(lines(1, 100), lines(2, 100));
    }

    #[test]
    fn rows_have_all_columns_and_amounts_that_fit() {
        let mut nulls = 0;
        let lines = lines(7, 2_000);
        assert_eq!(lines.len(), 2_000, "a line each");
        for line in lines {
            let fields: Vec<&str> = line.split('|').collect();
            assert_eq!(fields.len(), COLUMNS.len(), "{line}");
            assert!(!fields[2].is_empty() && !fields[13].is_empty(), "{line}");
            nulls += fields.iter().filter(|field| field.is_empty()).count();
            for amount in fields[FIRST_AMOUNT..].iter().filter(|field| !field.is_empty()) {
                let (whole, cents) = amount.split_once('.').expect("two places");
                assert!(whole.len() <= 5 && cents.len() == 2, "decimal(7,2): {amount}");
            }
        }
        assert!((1_000..3_500).contains(&nulls), "{nulls} of 48,000 values are NULL");
    }

    #[test]
    fn numbers_are_written_as_people_write_them() {
        let mut line = Vec::new();
        write_amount(&mut line, 5);
        line.push(b' ');
        write_amount(&mut line, 1_234_560);
        line.push(b' ');
        write_whole(&mut line, 0);
        assert_eq!(line, b"0.05 12345.60 0");
    }
}
