//! What tests of several modules share.

use experiment::{Origin, World};
use os::probe::DurableWrite;

use crate::cells::Place;
use crate::linux::Chosen;

/// Where the rows of a test come from.
pub(crate) fn origin() -> Origin {
    Origin {
        experiment: "test".to_owned(),
        plan_seed: 1,
        commit: "commit".to_owned(),
        machine: "machine".to_owned(),
        world: World::Linux,
        work: "work".to_owned(),
    }
}

/// Where the table of a test was measured.
pub(crate) fn place(is_modelled: bool) -> Place {
    Place {
        machine: "a machine".to_owned(),
        is_modelled,
        asynchronous_files: true,
        chosen: Chosen { redo_write: DurableWrite::ALL[0], log_writes_in_flight: 4 },
        commit: "of a test".to_owned(),
        command: "a test".to_owned(),
    }
}

/// A little more and a little less, each as often in every cell.
pub(crate) fn scatter(round: u32, cell: usize) -> f64 {
    [1.0, 1.002, 0.998, 1.001, 0.999][(round as usize * 7 + cell * 3) % 5]
}

/// The text has these words, wherever its lines are broken.
pub(crate) fn says(text: &str, words: &str) {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(words), "{words}\n{text}");
}

pub(crate) fn fits(text: &str) {
    let long = text.lines().find(|line| line.chars().count() > 80);
    assert_eq!(long, None, "{text}");
}
