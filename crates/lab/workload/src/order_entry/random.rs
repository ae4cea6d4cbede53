//! The random values of order entry, as TPC-C asks for them.
//!
//! Callers: the load, the transactions.
//! Source: TPC Benchmark C, revision 5.11, clauses 2.1.6 (NURand), 4.3.2 (names, strings).

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Parts of a customer's last name; one for each digit of a number below 1,000.
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

const LETTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// The number of last names.
pub(super) const NAMES: u32 = 1_000;

/// The constants C of NURand: the same for all transactions of one database.
const C_NAME: u32 = 173;
const C_CUSTOMER: u32 = 319;
const C_ITEM: u32 = 4_211;

/// A source of values, repeatable by its seed.
#[derive(Clone)]
pub(super) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Evenly from `from` to `to`, both included.
    pub(super) fn between(&mut self, from: i64, to: i64) -> i64 {
        self.0.random_range(from..=to)
    }

    /// True `hundredths` times of a hundred.
    pub(super) fn percent(&mut self, hundredths: u32) -> bool {
        self.0.random_range(0..100) < hundredths
    }

    /// NURand(a, from, to): an uneven choice, both ends included; `c` is its constant.
    fn uneven(&mut self, a: u32, c: u32, from: i64, to: i64) -> i64 {
        let first = self.between(0, a.into());
        let second = self.between(from, to);
        ((first | second) + i64::from(c)) % (to - from + 1) + from
    }

    /// The number of a customer of a district that has this many.
    pub(super) fn customer(&mut self, customers: i64) -> i64 {
        self.uneven(1_023, C_CUSTOMER, 1, customers)
    }

    /// The number of one of this many items.
    pub(super) fn item(&mut self, items: i64) -> i64 {
        self.uneven(8_191, C_ITEM, 1, items)
    }

    /// The number of a customer's last name, of the `names` in use.
    pub(super) fn name(&mut self, names: u32) -> u32 {
        self.uneven(255, C_NAME, 0, i64::from(names) - 1) as u32
    }

    /// Letters and digits, `from` to `to` of them.
    pub(super) fn text(&mut self, from: usize, to: usize) -> String {
        let length = self.0.random_range(from..=to);
        let letter = |_| char::from(LETTERS[self.0.random_range(0..LETTERS.len())]);
        (0..length).map(letter).collect()
    }

    /// A string of `count` digits.
    pub(super) fn digits(&mut self, count: usize) -> String {
        (0..count).map(|_| char::from(b'0' + self.0.random_range(0..10_u8))).collect()
    }

    /// What items and stock have as data: one in ten says ORIGINAL somewhere.
    pub(super) fn data(&mut self) -> String {
        let mut data = self.text(26, 50);
        if self.percent(10) {
            let at = self.0.random_range(0..=data.len() - ORIGINAL.len());
            data.replace_range(at..at + ORIGINAL.len(), ORIGINAL);
        }
        data
    }

    /// The numbers from 1 to `count` in any order.
    pub(super) fn shuffled(&mut self, count: i64) -> Vec<i64> {
        let mut numbers: Vec<i64> = (1..=count).collect();
        for last in (1..numbers.len()).rev() {
            numbers.swap(last, self.0.random_range(0..=last));
        }
        numbers
    }
}

/// The mark of goods of a brand.
pub(super) const ORIGINAL: &str = "ORIGINAL";

/// The last name of this number, below [`NAMES`].
pub(super) fn last_name(number: u32) -> String {
    let digits = [number / 100, number / 10 % 10, number % 10];
    digits.map(|digit| SYLLABLES[digit as usize]).concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of clause 4.3.2.3.
    #[test]
    fn the_name_of_371_is_that_of_the_specification() {
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(40), "BARPRESBAR");
    }

    #[test]
    fn uneven_numbers_are_in_their_range_and_uneven() {
        let mut random = Random::new(1);
        let mut counts = vec![0_u32; 3_001];
        for _ in 0..300_000 {
            counts[random.customer(3_000) as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        let (most, least) = (counts[1..].iter().max(), counts[1..].iter().min());
        assert!(most > least.map(|least| least * 5).as_ref(), "{most:?} {least:?}");
    }

    #[test]
    fn a_shuffle_has_each_number_once() {
        let mut numbers = Random::new(2).shuffled(100);
        assert_ne!(numbers, (1..=100).collect::<Vec<_>>());
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=100).collect::<Vec<_>>());
    }
}
