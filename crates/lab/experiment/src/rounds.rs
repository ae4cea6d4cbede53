//! Rows sorted into rounds. What a verdict tells is of `decision::judged` ones.
//!
//! Callers: `decision`; `verdict`, and through it every section.

use std::collections::BTreeMap;

use crate::{Level, RoundKind, Run};

/// The whole rounds of an experiment.
pub(crate) struct Rounds<'a> {
    /// How many levels the rows have.
    pub(crate) levels: usize,
    /// The rounds that compare levels, by their number: the runs by level.
    pub(crate) compared: Vec<BTreeMap<Level, &'a Run>>,
    /// Rounds of equals: first and second run, by number.
    pub(crate) equals: Vec<(&'a Run, &'a Run)>,
    /// Runs whose partner is missing.
    pub(crate) alone: u64,
    /// Whole rounds behind the last look, which were left out.
    pub(crate) later: u32,
}

impl<'a> Rounds<'a> {
    pub(crate) fn of(rows: &'a [Run]) -> Rounds<'a> {
        let levels = rows.iter().map(|run| run.identity.level.index() + 1).max().unwrap_or(0);
        let mut found: BTreeMap<(RoundKind, u32), Vec<&Run>> = BTreeMap::new();
        for run in rows {
            found.entry((run.identity.kind, run.identity.round)).or_default().push(run);
        }
        let (compared, equals) = (Vec::new(), Vec::new());
        let mut rounds = Rounds { levels, compared, equals, alone: 0, later: 0 };
        for ((kind, _), mut runs) in found {
            runs.sort_by_key(|run| run.identity.place);
            if kind == RoundKind::Equals {
                match runs.as_slice() {
                    [first, second] if is_of_equals(first, second) => {
                        rounds.equals.push((first, second));
                    }
                    _ => rounds.alone += runs.len() as u64,
                }
                continue;
            }
            let by_level: BTreeMap<Level, &Run> =
                runs.iter().map(|run| (run.identity.level, *run)).collect();
            if by_level.len() != levels || runs.len() != levels || levels < 2 {
                rounds.alone += runs.len() as u64;
            } else {
                rounds.compared.push(by_level);
            }
        }
        rounds
    }

    /// Without the rounds that compare levels behind this many.
    pub(crate) fn up_to(mut self, count: usize) -> Rounds<'a> {
        self.later = self.compared.split_off(count.min(self.compared.len())).len() as u32;
        self
    }

    /// A and `level`, of each round.
    pub(crate) fn pairs_with(&self, level: Level) -> Vec<(&'a Run, &'a Run)> {
        let pair =
            |round: &BTreeMap<Level, &'a Run>| Some((*round.get(&Level::A)?, *round.get(&level)?));
        self.compared.iter().filter_map(pair).collect()
    }

    /// The runs of A and of `level`.
    pub(crate) fn sides(&self, level: Level) -> [Vec<&'a Run>; 2] {
        let (a, b) = self.pairs_with(level).into_iter().unzip();
        [a, b]
    }
}

fn is_of_equals(first: &Run, second: &Run) -> bool {
    let (first, second) = (&first.identity, &second.identity);
    first.level == second.level && first.place != second.place
}
