//! Histories written by hand, one line an event, for tests:
//!
//! ```text
//!   a: x+1 y=[]       session a, in the transaction that it has or begins now: one statement that
//!                     appends 1 to list x and is told that list y is empty
//!   a: call x+1       the same, but it hasn't returned;   a: return
//!   a: begin          a: commit                           a: rollback
//!   a: call commit    a: return commit                    (nothing more after a crash)
//!   a: savepoint      a: back                             a: refused x+1
//! ```

use std::collections::BTreeMap;

use super::{History, Savepoint};

/// The history that these lines tell.
pub(crate) fn history(lines: &str) -> History {
    let mut teller = Teller { history: History::new(), sessions: BTreeMap::new() };
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (session, what) = line.split_once(": ").expect("session: what");
        teller.tell(session, what);
    }
    teller.history
}

struct Teller<'a> {
    history: History,
    sessions: BTreeMap<&'a str, (usize, Savepoint)>,
}

impl<'a> Teller<'a> {
    fn tell(&mut self, session: &'a str, what: &str) {
        let transaction = self.transaction(session);
        let history = &mut self.history;
        match what {
            "begin" => {}
            "return" => history.returned(transaction),
            "commit" => {
                history.commit_called(transaction);
                history.acknowledged(transaction);
                self.sessions.remove(session);
            }
            "call commit" => history.commit_called(transaction),
            "return commit" => {
                history.acknowledged(transaction);
                self.sessions.remove(session);
            }
            "rollback" => {
                history.aborted(transaction);
                self.sessions.remove(session);
            }
            "savepoint" => {
                let savepoint = history.savepoint(transaction);
                self.sessions.insert(session, (transaction, savepoint));
            }
            "back" => history.rolled_back_to(transaction, self.sessions[session].1),
            statement => self.statement(transaction, statement),
        }
    }

    fn transaction(&mut self, session: &'a str) -> usize {
        let number = u32::from(session.as_bytes()[0] - b'a');
        let history = &mut self.history;
        let begin = || {
            let transaction = history.begin(number);
            (transaction, history.savepoint(transaction))
        };
        self.sessions.entry(session).or_insert_with(begin).0
    }

    fn statement(&mut self, transaction: usize, statement: &str) {
        let history = &mut self.history;
        history.called(transaction);
        let (how, operations) = match statement.split_once(' ') {
            Some((how @ ("call" | "refused"), operations)) => (how, operations),
            _ => ("", statement),
        };
        for operation in operations.split(' ') {
            let key = u64::from(operation.as_bytes()[0]);
            if let Some((_, value)) = operation.split_once('+') {
                history.append(transaction, key, value.parse().expect("a number"));
            } else {
                let (_, list) = operation.split_once("=[").expect("key=[list]");
                let values =
                    list.trim_end_matches(']').split(',').filter(|value| !value.is_empty());
                let list = values.map(|value| value.parse().expect("a number")).collect();
                history.read(transaction, key, list);
            }
        }
        match how {
            "call" => {}
            "refused" => history.refused(transaction),
            _ => history.returned(transaction),
        }
    }
}
