//! A second, sequential description of the locks.
//!
//! Each user always has a transaction: where one ends, its next begins. Modes are numbers, the
//! matrix is a picture, and cycles are found by closing the waits-for relation.

use stop::RefusalKind;

/// Which modes go together, from RS (2) to X (6).
const TOGETHER: [&[u8; 5]; 5] = [b"++++-", b"++---", b"+-+--", b"+----", b"-----"];

/// The mode that covers two modes.
const BOTH: [[u8; 5]; 5] =
    [[2, 3, 4, 5, 6], [3, 3, 5, 5, 6], [4, 5, 4, 5, 6], [5, 5, 5, 5, 6], [6, 6, 6, 6, 6]];

/// A step of a user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Lock a table in a mode.
    Lock(usize, u8, Manner),
    /// Wait for the end of another user's transaction.
    Await(usize, Manner),
    /// End the transaction.
    End,
}

/// How long a user waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Manner {
    Patient,
    AWhile,
    NoWait,
}

pub(crate) type Outcome = Result<(), RefusalKind>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Want {
    Table(usize),
    End(usize),
}

#[derive(Default)]
struct Table {
    /// The mode by user; 0 is none.
    has: Vec<u8>,
    /// Requests, in the order of their arrival.
    line: Vec<(usize, u8)>,
}

pub(crate) struct Model {
    tables: Vec<Table>,
    wants: Vec<Option<Want>>,
    /// Users with a limited wait, in the order in which their waits began.
    impatient: Vec<usize>,
    /// By user: how its last step ended, if it has ended.
    pub(crate) outcomes: Vec<Option<Outcome>>,
    pub(crate) deadlocks: u64,
}

impl Model {
    pub(crate) fn new(users: usize, tables: usize) -> Model {
        let table = || Table { has: vec![0; users], line: Vec::new() };
        Model {
            tables: (0..tables).map(|_| table()).collect(),
            wants: vec![None; users],
            impatient: Vec::new(),
            outcomes: vec![Some(Ok(())); users],
            deadlocks: 0,
        }
    }

    /// Makes a step of a user that doesn't wait.
    pub(crate) fn step(&mut self, user: usize, step: Step) {
        assert!(self.wants[user].is_none());
        self.outcomes[user] = Some(Ok(()));
        match step {
            Step::Lock(table, mode, manner) => {
                let has = self.tables[table].has[user];
                let mode = if has == 0 { mode } else { BOTH[at(has)][at(mode)] };
                if has == mode {
                    return;
                }
                self.tables[table].line.push((user, mode));
                self.serve(table, &[user]);
                if self.tables[table].has[user] != mode {
                    self.wait(user, Want::Table(table), manner);
                }
            }
            Step::Await(other, manner) => self.wait(user, Want::End(other), manner),
            Step::End => {
                for table in 0..self.tables.len() {
                    self.tables[table].has[user] = 0;
                    self.serve(table, &[]);
                }
                for waiter in 0..self.wants.len() {
                    if self.wants[waiter] == Some(Want::End(user)) {
                        self.finish(waiter, Ok(()));
                    }
                }
            }
        }
    }

    /// Lets all waits with a limit run out.
    pub(crate) fn time_passes(&mut self) {
        while !self.impatient.is_empty() {
            let user = self.impatient[0];
            let want = self.wants[user];
            self.finish(user, Err(RefusalKind::LockTimeout));
            self.leave_line(user, want);
        }
    }

    /// The modes that are held: user, table, mode.
    pub(crate) fn held(&self) -> Vec<(usize, usize, u8)> {
        let users = 0..self.wants.len();
        let all = users.flat_map(|user| {
            let tables = self.tables.iter().enumerate();
            tables.map(move |(number, table)| (user, number, table.has[user]))
        });
        all.filter(|(_, _, mode)| *mode != 0).collect()
    }

    /// The users that a user waits for.
    pub(crate) fn blockers(&self, user: usize) -> Vec<usize> {
        match self.wants[user] {
            None => Vec::new(),
            Some(Want::End(other)) => vec![other],
            Some(Want::Table(number)) => {
                let table = &self.tables[number];
                let place = table.line.iter().position(|(other, _)| *other == user);
                let place = place.expect("who wants a table is in its line");
                let mode = table.line[place].1;
                let in_line = |other| table.line.iter().position(|(one, _)| *one == other);
                let blocks = |other: &usize| {
                    let has = table.has[*other];
                    let conflicts = has != 0 && !goes(has, mode);
                    let before = in_line(*other).is_some_and(|at| at < place || has != 0);
                    *other != user && (conflicts || (before && table.has[user] == 0))
                };
                (0..self.wants.len()).filter(blocks).collect()
            }
        }
    }

    pub(crate) fn waits(&self, user: usize) -> bool {
        self.wants[user].is_some()
    }

    pub(crate) fn anybody_is_impatient(&self) -> bool {
        !self.impatient.is_empty()
    }

    fn wait(&mut self, user: usize, want: Want, manner: Manner) {
        self.wants[user] = Some(want);
        if manner == Manner::NoWait || self.waits_for_itself(user) {
            let is_busy = manner == Manner::NoWait;
            self.deadlocks += u64::from(!is_busy);
            let kind = if is_busy { RefusalKind::Busy } else { RefusalKind::Deadlock };
            self.finish(user, Err(kind));
            self.leave_line(user, Some(want));
            return;
        }
        self.outcomes[user] = None;
        if manner == Manner::AWhile {
            self.impatient.push(user);
        }
    }

    fn finish(&mut self, user: usize, outcome: Outcome) {
        self.wants[user] = None;
        self.outcomes[user] = Some(outcome);
        self.impatient.retain(|other| *other != user);
    }

    fn leave_line(&mut self, user: usize, want: Option<Want>) {
        if let Some(Want::Table(table)) = want {
            self.tables[table].line.retain(|(other, _)| *other != user);
            self.serve(table, &[]);
        }
    }

    /// Grants the requests for a table that can be granted. Users in `coming` haven't begun to
    /// wait.
    fn serve(&mut self, number: usize, coming: &[usize]) {
        loop {
            let table = &self.tables[number];
            let fits = |(user, mode): &(usize, u8)| {
                let mut others = table.has.iter().enumerate().filter(|(other, _)| other != user);
                others.all(|(_, has)| *has == 0 || goes(*has, *mode))
            };
            let converts = |(user, _): &(usize, u8)| table.has[*user] != 0;
            let converter = table.line.iter().position(|wish| converts(wish) && fits(wish));
            let first = || {
                let is_free = !table.line.iter().any(converts);
                table.line.first().filter(|wish| is_free && fits(wish)).map(|_| 0)
            };
            let Some(place) = converter.or_else(first) else { return };
            let (user, mode) = self.tables[number].line.remove(place);
            self.tables[number].has[user] = mode;
            if !coming.contains(&user) {
                self.finish(user, Ok(()));
            }
        }
    }

    fn waits_for_itself(&self, user: usize) -> bool {
        let mut reached = vec![false; self.wants.len()];
        loop {
            let mut next = reached.clone();
            for waiter in (0..reached.len()).filter(|other| *other == user || reached[*other]) {
                self.blockers(waiter).into_iter().for_each(|blocker| next[blocker] = true);
            }
            if next == reached {
                return reached[user];
            }
            reached = next;
        }
    }
}

fn at(mode: u8) -> usize {
    usize::from(mode - 2)
}

fn goes(one: u8, other: u8) -> bool {
    TOGETHER[at(one)][at(other)] == b'+'
}
