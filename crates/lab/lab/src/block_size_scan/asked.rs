//! Which cells are compared, and how far block sizes lie apart.
//!
//! ```text
//!   automatic reads:   2 KiB ── 4 KiB ── 8 KiB ── 16 KiB    each pair; the spread is the largest
//!   other lengths:     all of a length ── all automatic     the mean over the block sizes
//! ```
//!
//! Callers: `run`, `report`.

use ids::BlockSize;
use serde::Serialize;

use super::setting::{ReadSize, Setting};
use crate::cells::{Answer, Asked, Certainty, Side, Statement};

pub(super) const BLOCK_SIZE: &str = "Does the block size matter? (automatic reads)";
pub(super) const READ_SIZE: &str = "Does the length of reads matter? (mean of the block sizes)";

/// The statements that these cells allow (LB85).
pub(super) fn asked(settings: &[Setting]) -> Vec<Asked> {
    let mut asked = Vec::new();
    let automatic = sizes_of(settings, ReadSize::Automatic);
    for (place, a) in automatic.iter().enumerate() {
        for b in &automatic[place + 1..] {
            let side = |size: BlockSize| {
                side(settings, &[size], ReadSize::Automatic, format!("blocks of {size}"))
            };
            asked.push(Asked { question: BLOCK_SIZE, a: side(*a), b: side(*b) });
        }
    }
    let mut seen = vec![ReadSize::Automatic];
    for read in settings.iter().map(|setting| setting.read) {
        if seen.contains(&read) {
            continue;
        }
        seen.push(read);
        let mut sizes = sizes_of(settings, read);
        sizes.retain(|size| automatic.contains(size));
        if !sizes.is_empty() {
            let side = |read: ReadSize| side(settings, &sizes, read, read.words());
            asked.push(Asked { question: READ_SIZE, a: side(ReadSize::Automatic), b: side(read) });
        }
    }
    asked
}

/// The block sizes that have a cell with this length of reads.
fn sizes_of(settings: &[Setting], read: ReadSize) -> Vec<BlockSize> {
    settings.iter().filter(|cell| cell.read == read).map(|cell| cell.block_size).collect()
}

/// The cells of these block sizes, which are there, with this length of reads.
fn side(settings: &[Setting], sizes: &[BlockSize], read: ReadSize, short: String) -> Side {
    let cells = || sizes.iter().map(|size| Setting { block_size: *size, read });
    let level = |cell: Setting| {
        settings.iter().position(|each| *each == cell).expect("the cell is one of the table")
    };
    let names: Vec<String> = cells().map(|cell| cell.to_string()).collect();
    Side { levels: cells().map(level).collect(), name: names.join("; "), short }
}

/// What is known of the spread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(super) enum Found {
    /// Two of them differ, for certain: the statement of such a pair says so too.
    #[serde(rename = "they differ")]
    Differ,
    /// All lie within what matters, for certain.
    #[serde(rename = "no difference that matters")]
    NoDifference,
    #[serde(rename = "can't tell")]
    CantTell,
    /// Figures of a model, which has no interval.
    #[serde(rename = "modelled")]
    Modelled,
}

/// How far block sizes lie apart, with automatic reads (LB86).
#[derive(Clone, Debug, Serialize)]
pub(super) struct Spread {
    /// The block sizes, in bytes.
    pub(super) slowest: u64,
    pub(super) fastest: u64,
    /// Seconds of the slowest over those of the fastest.
    pub(super) ratio: f64,
    /// The interval for the largest ratio of any two: where that of each pair holds, so does this.
    pub(super) ratio_low: Option<f64>,
    pub(super) ratio_high: Option<f64>,
    pub(super) answer: Found,
}

/// What was asked, and what came of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answered<'r> {
    pub(super) asked: &'r Asked,
    pub(super) statement: &'r Statement,
}

impl Spread {
    /// By what is said of pairs of block sizes. None without a pair.
    pub(super) fn of(
        answered: &[Answered<'_>],
        settings: &[Setting],
        certainty: Certainty,
    ) -> Option<Spread> {
        let pairs = || answered.iter().filter(|pair| pair.asked.question == BLOCK_SIZE);
        let size = |pair: &Answered<'_>| {
            pair.statement.times_as_fast.max(1.0 / pair.statement.times_as_fast)
        };
        let widest = pairs().max_by(|a, b| size(a).total_cmp(&size(b)))?;
        let bytes = |side: &Side| settings[side.levels[0]].block_size.bytes() as u64;
        let (a, b) = (bytes(&widest.asked.a), bytes(&widest.asked.b));
        let is_a_slower = widest.statement.times_as_fast >= 1.0;
        let (slowest, fastest) = if is_a_slower { (a, b) } else { (b, a) };
        let ratio = size(widest);
        // At least so far apart is the pair that is farthest from 1 for certain.
        let low = |statement: &Statement| {
            Some(statement.times_low?.max(1.0 / statement.times_high?).max(1.0))
        };
        let high = |statement: &Statement| {
            Some(statement.times_high?.max(1.0 / statement.times_low?).max(1.0))
        };
        let most = |of: &dyn Fn(&Statement) -> Option<f64>| {
            let ends: Option<Vec<f64>> = pairs().map(|pair| of(pair.statement)).collect();
            ends.map(|ends| ends.into_iter().fold(1.0, f64::max))
        };
        let (ratio_low, ratio_high) = (most(&low), most(&high));
        // The pair that is farthest apart may not be the one that is certain.
        let is_told =
            |pair: &Answered<'_>| matches!(pair.statement.answer, Answer::Faster | Answer::Slower);
        let answer = match ratio_high {
            _ if certainty.critical.is_none() => Found::Modelled,
            Some(high) if high < certainty.matters => Found::NoDifference,
            _ if pairs().any(is_told) => Found::Differ,
            _ => Found::CantTell,
        };
        Some(Spread { slowest, fastest, ratio, ratio_low, ratio_high, answer })
    }
}

#[cfg(test)]
mod tests {
    use experiment::Run;

    use super::*;
    use crate::cells::made_rows::rows;
    use crate::tests::scatter;

    const MATTERS: f64 = 1.05;

    fn spread(count: u32, seconds: impl Fn(u32, usize) -> [f64; 2]) -> Spread {
        spread_above(1.001, count, seconds)
    }

    /// Where equals could lie `floor` apart.
    fn spread_above(floor: f64, count: u32, seconds: impl Fn(u32, usize) -> [f64; 2]) -> Spread {
        let settings = Setting::all();
        let names: Vec<String> = settings.iter().map(Setting::to_string).collect();
        let rows: Vec<Run> = rows(&names, count, seconds);
        let asked = asked(&settings);
        let certainty = Certainty::of(asked.len(), MATTERS, floor);
        let statement = |asked| Statement::of(asked, &rows, certainty).expect("they are cells");
        let statements: Vec<Statement> = asked.iter().map(statement).collect();
        let answered = asked.iter().zip(&statements);
        let answered: Vec<Answered<'_>> =
            answered.map(|(asked, statement)| Answered { asked, statement }).collect();
        Spread::of(&answered, &settings, certainty).expect("there are block sizes")
    }

    #[test]
    fn all_pairs_of_block_sizes_and_each_length_of_reads_are_asked_of() {
        let settings = Setting::all();
        let asked = asked(&settings);
        let of = |question| asked.iter().filter(|each| each.question == question).count();
        assert_eq!((of(BLOCK_SIZE), of(READ_SIZE), asked.len()), (6, 3, 9));
        let last = &asked[8];
        assert_eq!((&last.a.levels, &last.b.levels), (&vec![0, 1, 2, 3], &vec![12, 13, 14, 15]));
        assert!(super::asked(&settings[..1]).is_empty());
        assert!(super::asked(&settings[4..8]).is_empty(), "there is nothing to compare with");
    }

    #[test]
    fn the_spread_is_of_the_two_block_sizes_that_are_farthest_apart() {
        let found = spread(10, |round, cell| {
            let slow = [1.2, 1.05, 1.0, 1.0];
            [slow[cell % 4] * scatter(round, cell), 0.1]
        });
        assert_eq!((found.slowest, found.answer), (2_048, Found::Differ), "{found:?}");
        assert!((found.ratio - 1.2).abs() < 0.01, "{found:?}");
        assert!(found.ratio_low > Some(1.15) && found.ratio_high < Some(1.25), "{found:?}");
    }

    #[test]
    fn block_sizes_that_are_alike_are_no_difference_that_matters() {
        let found = spread(10, |round, cell| [scatter(round, cell), 0.1]);
        assert_eq!(found.answer, Found::NoDifference, "{found:?}");
        assert!(found.ratio_low == Some(1.0) && found.ratio_high < Some(1.02), "{found:?}");
    }

    /// One pair is certain, but no farther apart than equals; another is farther, but not certain.
    #[test]
    fn two_pairs_that_tell_nothing_tell_nothing_together() {
        let found = spread_above(1.05, 10, |round, cell| {
            let restless = if round.is_multiple_of(2) { 1.3 } else { 1.0 / 1.3 };
            let slow = [1.02, 1.0, 1.1 * restless, 1.0];
            [slow[cell % 4] * scatter(round, cell), 0.1]
        });
        assert!(found.ratio > 1.05 && found.ratio_low > Some(1.01), "{found:?}");
        assert_eq!(found.answer, Found::CantTell, "{found:?}");
    }

    #[test]
    fn too_few_rounds_tell_nothing() {
        let found = spread(3, |_, cell| [if cell % 4 == 0 { 2.0 } else { 1.0 }, 0.1]);
        assert_eq!((found.answer, found.ratio_low), (Found::CantTell, None), "{found:?}");
    }
}
