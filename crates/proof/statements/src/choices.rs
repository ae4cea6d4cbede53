//! Where Forebay and its rivals differ by choice.
//!
//! Most choices are kept out of the cases that are drawn (`generate`): what SQLite or PostgreSQL
//! doesn't have, or has with another meaning, isn't asked of it. What can't be seen from the text
//! is judged here, by what both came to. The table of all choices is in the README; each entry of
//! this list has a row there.
//!
//! Callers: `judge`.

use crate::answer::{Answer, Refused};
use crate::generate::Rival;

/// Why two answers differ that are both as they should be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Choice {
    /// One program met a value that is refused, and the other one decided before that.
    OrderOfEvaluation,
    /// SQLite's sum of whole numbers is one of 64 bits; ours is a NUMBER.
    SumOfWholes,
    /// A key of an index has a greatest length, which differs.
    LengthOfKeys,
}

impl Choice {
    /// All of them.
    pub const ALL: [Choice; 3] =
        [Choice::OrderOfEvaluation, Choice::SumOfWholes, Choice::LengthOfKeys];

    /// What it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            Choice::OrderOfEvaluation => "order of evaluation",
            Choice::SumOfWholes => "sum of whole numbers",
            Choice::LengthOfKeys => "length of keys",
        }
    }
}

/// The choice by which two answers differ, if there is one.
pub(crate) fn choice(
    ours: &Answer,
    theirs: &Answer,
    is_risky: bool,
    rival: Rival,
) -> Option<Choice> {
    let refused = |answer: &Answer| match answer {
        Answer::Refused(refused) => Some(refused.clone()),
        _ => None,
    };
    match (refused(ours), refused(theirs)) {
        (Some(one), None) if one.class() == "54" => Some(Choice::LengthOfKeys),
        (None, Some(other)) if other.class() == "54" => Some(Choice::LengthOfKeys),
        (None, Some(other)) if rival == Rival::Sqlite && other.state == "22003" => {
            Some(Choice::SumOfWholes)
        }
        (Some(one), None) | (None, Some(one)) if is_risky && is_of_a_value(&one) => {
            Some(Choice::OrderOfEvaluation)
        }
        // Both are refused, one because of a value and the other because of a constraint.
        (Some(one), Some(other)) if is_risky && (is_of_a_value(&one) || is_of_a_value(&other)) => {
            Some(Choice::OrderOfEvaluation)
        }
        _ => None,
    }
}

/// Whether a statement was refused because of a value that it met.
fn is_of_a_value(refused: &Refused) -> bool {
    refused.class() == "22"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(state: &str) -> Answer {
        Answer::Refused(Refused { state: state.into(), message: String::new() })
    }

    #[test]
    fn only_what_may_be_refused_is_excused() {
        let rows = Answer::Rows(Vec::new());
        let of = |ours: &Answer, theirs: &Answer, is_risky| {
            choice(ours, theirs, is_risky, Rival::Postgresql)
        };
        assert_eq!(of(&refused("22012"), &rows, true), Some(Choice::OrderOfEvaluation));
        assert_eq!(of(&rows, &refused("22003"), true), Some(Choice::OrderOfEvaluation));
        assert_eq!(of(&refused("22012"), &rows, false), None);
        assert_eq!(of(&refused("42703"), &rows, true), None);
        assert_eq!(of(&refused("23505"), &refused("22003"), true), Some(Choice::OrderOfEvaluation));
        assert_eq!(of(&refused("23505"), &Answer::Done(1), true), None);
        assert_eq!(of(&rows, &Answer::Done(1), true), None);
        let sum = |rival| choice(&rows, &refused("22003"), false, rival);
        assert_eq!(sum(Rival::Sqlite), Some(Choice::SumOfWholes));
        assert_eq!(sum(Rival::Postgresql), None);
    }

    #[test]
    fn each_choice_has_a_row_in_the_readme() {
        let readme = include_str!("../README.md");
        for choice in Choice::ALL {
            assert!(readme.contains(&format!("| {} |", choice.name())), "{}", choice.name());
        }
    }
}
