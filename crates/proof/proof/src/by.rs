//! The two ways to the engine: calls of the embedded API, and SQL text.
//!
//! Callers: the checks, which go either way; the tests, which say which.

use std::fmt;

/// By which of the two ways a session asks for what it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// Calls of the embedded API.
    Api,
    /// Statements as SQL text.
    Sql,
}

impl By {
    /// Both.
    pub const ALL: [By; 2] = [By::Api, By::Sql];

    /// The way of a seed of a check of which every `special`-th seed has something special: each
    /// special thing goes both ways, and so do both halves of the seeds, the even and the odd ones.
    pub const fn of_seed(seed: u64, special: u64) -> By {
        if (seed % special + seed / special).is_multiple_of(2) { By::Api } else { By::Sql }
    }

    /// As the command line has it.
    pub const fn name(self) -> &'static str {
        match self {
            By::Api => "api",
            By::Sql => "sql",
        }
    }

    /// The way that a word of the command line names.
    pub fn named(word: &str) -> Option<By> {
        By::ALL.into_iter().find(|by| by.name() == word)
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::By;

    #[test]
    fn half_of_the_seeds_go_each_way_whatever_they_have_besides() {
        for special in 0..8 {
            for parity in 0..2 {
                let seeds = (0..160).filter(|seed| seed % 8 == special && seed % 2 == parity);
                let ways: Vec<By> = seeds.map(|seed| By::of_seed(seed, 8)).collect();
                let of = |by: By| ways.iter().filter(|one| **one == by).count();
                assert_eq!(of(By::Api), of(By::Sql), "{special} {parity}");
            }
        }
        assert!(By::ALL.iter().all(|by| By::named(by.name()) == Some(*by)));
    }
}
