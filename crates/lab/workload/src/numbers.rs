//! The numbers of commits that an audit has found, by session.
//!
//! They are kept as runs without gaps: the memory of an audit doesn't grow with history. All
//! numbers of a sound session are one run. On the way to that there are few, because one session at
//! a time fills a block of history.
//!
//! Callers: `audit`.

use std::collections::BTreeMap;

/// The most runs of all sessions together: some 50 MB.
const RUNS_MAX: usize = 1 << 20;

/// The numbers of the sessions that are audited.
pub(crate) struct Numbers {
    sessions: BTreeMap<i64, Found>,
    /// How many more runs are kept.
    room: usize,
}

impl Numbers {
    /// Of these sessions, no number yet.
    pub(crate) fn of(sessions: impl Iterator<Item = u32>) -> Numbers {
        let none = |session: u32| (i64::from(session), Found::default());
        Numbers { sessions: sessions.map(none).collect(), room: RUNS_MAX }
    }

    /// Adds a number of a session, if that session is audited.
    pub(crate) fn add(&mut self, session: i64, number: i64) {
        if let Some(found) = self.sessions.get_mut(&session) {
            found.add(number, &mut self.room);
        }
    }

    /// Takes out what was found of a session.
    pub(crate) fn take(&mut self, session: u32) -> Found {
        self.sessions.remove(&i64::from(session)).unwrap_or_default()
    }
}

/// The numbers of one session.
#[derive(Default)]
pub(crate) struct Found {
    /// The first number of each run, with the last.
    runs: BTreeMap<i64, i64>,
    /// How often a number came again.
    repeats: u64,
    /// How many numbers would have begun a run for which there was no room.
    left_out: u64,
}

impl Found {
    fn add(&mut self, number: i64, room: &mut usize) {
        let before = self.runs.range(..=number).next_back().map(|(first, last)| (*first, *last));
        if before.is_some_and(|(_, last)| number <= last) {
            self.repeats += 1;
            return;
        }
        let before = before.filter(|(_, last)| *last + 1 == number);
        let behind = number.checked_add(1).and_then(|next| self.runs.remove(&next));
        match (before, behind) {
            (None, None) if *room == 0 => {
                self.left_out += 1;
                return;
            }
            (None, None) => *room -= 1,
            (Some(_), Some(_)) => *room += 1,
            _ => {}
        }
        let first = before.map_or(number, |(first, _)| first);
        self.runs.insert(first, behind.unwrap_or(number));
    }

    /// How many numbers were found, those that came again among them.
    pub(crate) fn count(&self) -> u64 {
        let lengths = self.runs.iter().map(|(first, last)| last.abs_diff(*first) + 1);
        lengths.sum::<u64>() + self.repeats + self.left_out
    }

    /// How many of the numbers from 1 to `told` were found.
    pub(crate) fn up_to(&self, told: u64) -> u64 {
        let most = i64::try_from(told).unwrap_or(i64::MAX);
        let within = self.runs.iter().map(|(first, last)| ((*first).max(1), (*last).min(most)));
        let lengths = within.filter(|(first, last)| first <= last);
        lengths.map(|(first, last)| last.abs_diff(first) + 1).sum()
    }

    /// What is wrong, if the numbers aren't 1, 2, 3 and so on, each once.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        if self.left_out > 0 {
            return Some("its numbers have more gaps than an audit can keep");
        }
        let is_sound = self.repeats == 0 && self.runs.keys().all(|first| *first == 1);
        (!is_sound).then_some("its numbers have gaps or repeat")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else the audit of an experiment of a day needs gigabytes, and its verdict is lost.
    #[test]
    fn the_numbers_of_a_sound_history_are_one_run() {
        let mut numbers = Numbers::of([7].into_iter());
        // Blocks of a hundred rows, every other one met later, from the last on.
        let blocks = || (0..1_000_i32).map(|block| i64::from(block) * 100 + 1);
        let later = blocks().skip(1).step_by(2).rev();
        for first in blocks().step_by(2).chain(later) {
            (first..first + 100).for_each(|number| numbers.add(7, number));
        }
        numbers.add(8, 1);
        assert_eq!(numbers.room, RUNS_MAX - 1);
        let found = numbers.take(7);
        assert_eq!((found.runs.len(), found.count(), found.fault()), (1, 100_000, None));
        assert_eq!([0, 99_000, u64::MAX].map(|told| found.up_to(told)), [0, 99_000, 100_000]);
        assert_eq!(numbers.take(8).count(), 0, "nobody asked for that session");
    }

    #[test]
    fn numbers_that_are_missing_or_come_again_are_found() {
        // The numbers, how many there are, how many of 1 to 4, and whether they are sound.
        let cases: [(&[i64], u64, u64, bool); 7] = [
            (&[], 0, 0, true),
            (&[3, 1, 2], 3, 3, true),
            (&[1, 2, 4], 3, 3, false),
            (&[2, 3], 2, 2, false),
            (&[1, 2, 2, 1], 4, 2, false),
            (&[0, 1, 2, 3, 4, 5], 6, 4, false),
            (&[i64::MIN, 1, i64::MAX, i64::MAX], 4, 1, false),
        ];
        for (all, count, up_to, is_sound) in cases {
            let mut numbers = Numbers::of([7].into_iter());
            all.iter().for_each(|number| numbers.add(7, *number));
            let found = numbers.take(7);
            assert_eq!((found.count(), found.up_to(4)), (count, up_to), "{all:?}");
            assert_eq!(found.fault().is_none(), is_sound, "{all:?}");
        }
    }

    /// However wrong a history is, its audit has an end.
    #[test]
    fn more_gaps_than_there_is_room_for_are_a_fault() {
        let mut numbers = Numbers { room: 2, ..Numbers::of([7, 9].into_iter()) };
        [1, 3, 5, 2].iter().for_each(|number| numbers.add(7, *number));
        // Number 2 has made one run of two: there is room for another one.
        numbers.add(9, 1);
        assert_eq!((numbers.take(9).fault(), numbers.room), (None, 0));
        let found = numbers.take(7);
        assert_eq!((found.count(), found.up_to(5)), (4, 3));
        assert!(found.fault().is_some_and(|fault| fault.contains("more gaps")));
    }
}
