//! In which order the cells are measured.
//!
//! Callers: `run` of each table.

use experiment::{Level, RoundKind, Step};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A cell's load has no seed, and a model always begins from the same one (LB22).
const LOAD_SEED: u64 = 0;
pub(crate) const WORLD_SEED: u64 = 1;

/// The cells of each round in an order drawn by lot. With `equals` one cell, drawn by lot, comes
/// twice in a round; which of the two is the one that is compared with others is drawn too.
pub(crate) fn rounds(settings: usize, count: u32, equals: bool, seed: u64) -> Vec<Vec<Step>> {
    let mut lot = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut round = |round: u32| {
        let mut cells: Vec<_> = (0..settings).map(|at| (at, RoundKind::Compared)).collect();
        if equals && settings > 0 {
            cells.push((lot.random_range(0..settings), RoundKind::Equals));
        }
        cells.shuffle(&mut lot);
        let step = |(place, (at, kind)): (u32, (usize, RoundKind))| Step {
            round,
            kind,
            level: Level::of(at),
            place,
            load_seed: LOAD_SEED,
            world_seed: WORLD_SEED,
        };
        (1..).zip(cells).map(step).collect()
    };
    (1..=count).map(&mut round).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_each_cell_once_and_one_twice() {
        let rounds = rounds(20, 10, true, 7);
        assert_eq!(rounds.len(), 10);
        let mut equals = Vec::new();
        for round in &rounds {
            let of = |kind| round.iter().filter(move |step| step.kind == kind);
            let mut cells: Vec<usize> =
                of(RoundKind::Compared).map(|step| step.level.index()).collect();
            cells.sort_unstable();
            assert!(cells.into_iter().eq(0..20));
            equals.extend(of(RoundKind::Equals).map(|step| step.level));
        }
        assert_eq!(equals.len(), 10);
        assert!(equals.iter().any(|level| *level != equals[0]), "by lot: {equals:?}");
        assert!(rounds[0].iter().map(|s| s.level).ne(rounds[1].iter().map(|s| s.level)));
    }

    #[test]
    fn a_model_has_no_equals() {
        assert_eq!(rounds(20, 1, false, 7).concat().len(), 20);
    }
}
