//! Long work of a session, and how far it is.
//!
//! A wait says what a session is at in this moment, and a statement says for whom. Long work lasts
//! for minutes, and how much of it there is was known when it began: so its end can be foreseen.
//!
//! Callers: `Recorder` publishes it, `Account` shows it; shells and views for people.

/// Long work whose units are counted before it begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum LongWork {
    /// All blocks of a table are read, one after the other.
    TableScan,
    /// The sorted keys of a new index become its leaves.
    IndexBuild,
}

impl LongWork {
    /// Every kind, in the order of their numbers.
    pub const ALL: &'static [LongWork] = &[LongWork::TableScan, LongWork::IndexBuild];

    /// What is done, as a person reads it.
    pub const fn name(self) -> &'static str {
        match self {
            LongWork::TableScan => "reading the table",
            LongWork::IndexBuild => "building the index",
        }
    }

    /// What is counted.
    pub const fn unit(self) -> &'static str {
        match self {
            LongWork::TableScan => "blocks",
            LongWork::IndexBuild => "keys",
        }
    }
}

/// The long work that a session does right now, as an observer sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CurrentWork {
    /// The work.
    pub work: LongWork,
    /// How many units are done.
    pub done: u64,
    /// How many there were to do when it began.
    pub total: u64,
}

impl CurrentWork {
    /// The share that is done: 0 to 1.
    pub fn share(&self) -> f64 {
        match self.total {
            0 => 1.0,
            total => (self.done as f64 / total as f64).min(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_never_more_than_all() {
        let share = |done, total| CurrentWork { work: LongWork::TableScan, done, total }.share();
        assert_eq!((share(0, 4), share(1, 4), share(5, 4), share(0, 0)), (0.0, 0.25, 1.0, 1.0));
    }

    /// Readers find a kind by its number.
    #[test]
    fn kinds_stand_in_the_order_of_their_numbers() {
        for (number, work) in LongWork::ALL.iter().enumerate() {
            assert_eq!(*work as usize, number);
        }
    }
}
