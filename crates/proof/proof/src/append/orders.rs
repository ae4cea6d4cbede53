//! The order of versions of each list, as reads tell it, and what single reads can be wrong about.
//!
//! The longest list that was read is the order of its appends; every other reading must be a
//! beginning of it. What committed transactions appended and nobody saw comes after, in an order
//! that nobody knows. Of what a transaction reads, its own appends must be the end: they hold the
//! list locked. What it read before them is what others had committed.
//!
//! Callers: `append`. Sources: Elle, section 4; Adya's G1a and G1b.

use super::anomaly::{Anomaly, Kind, brief, name};
use crate::history::{History, Key, Operation, Outcome, Transaction, Value};

/// An append, and what became of it.
#[derive(Debug)]
pub(super) struct Append {
    pub(super) key: Key,
    pub(super) value: Value,
    pub(super) transaction: usize,
    pub(super) statement: usize,
    /// Which of the operations of its transaction.
    sequence: usize,
    /// It wasn't taken back within its transaction.
    kept: bool,
    /// Its transaction appended no more to this list.
    last: bool,
    /// Its place in the order, if anybody saw it.
    place: Option<u32>,
}

/// A list.
#[derive(Debug)]
pub(super) struct List<'a> {
    pub(super) key: Key,
    /// The appends in order, as far as anybody saw them.
    pub(super) order: Vec<usize>,
    /// Appends that are committed and that nobody saw.
    pub(super) unseen: Vec<usize>,
    /// The values of the order, and who read them.
    values: &'a [Value],
    reader: usize,
}

/// What a statement was told.
#[derive(Debug)]
pub(super) struct Told<'a> {
    pub(super) transaction: usize,
    pub(super) statement: usize,
    /// Which list, by number.
    pub(super) list: usize,
    /// What others had put into it.
    pub(super) seen: &'a [Value],
    /// The statement in which it first appended to the list, if its own came after.
    pub(super) locked: Option<usize>,
    /// All of it, if its own appends tell where they are in the order, else what others put.
    order: &'a [Value],
}

/// All orders of a history.
#[derive(Debug)]
pub(super) struct Orders<'a> {
    /// By key and value.
    pub(super) appends: Vec<Append>,
    pub(super) lists: Vec<List<'a>>,
    pub(super) told: Vec<Told<'a>>,
    /// Which transactions are committed: those whose outcome is unknown if they were seen.
    pub(super) committed: Vec<bool>,
}

impl<'a> Orders<'a> {
    pub(super) fn of(history: &'a History) -> Result<Orders<'a>, Anomaly> {
        let appends = appends(history)?;
        let mut keys: Vec<Key> = appends.iter().map(|append| append.key).collect();
        for operation in history.transactions.iter().flat_map(operations) {
            if let (_, Operation::Read(key, _)) = operation {
                keys.push(*key);
            }
        }
        keys.sort_unstable();
        keys.dedup();
        let mut told = Vec::new();
        for (number, transaction) in history.transactions.iter().enumerate() {
            own_appends_last(number, transaction, &keys, &mut told)?;
        }
        let list =
            |key| List { key, order: Vec::new(), unseen: Vec::new(), values: &[], reader: 0 };
        let is_committed = |transaction: &Transaction| transaction.outcome == Outcome::Committed;
        let mut orders = Orders {
            appends,
            lists: keys.into_iter().map(list).collect(),
            told,
            committed: history.transactions.iter().map(is_committed).collect(),
        };
        orders.longest();
        orders.all_are_known(history)?;
        orders.place()?;
        orders.one_before_the_other()?;
        orders.nothing_in_between()?;
        Ok(orders)
    }

    /// The append of this value to a list.
    fn find(&self, key: Key, value: Value) -> Option<usize> {
        self.appends.binary_search_by_key(&(key, value), |append| (append.key, append.value)).ok()
    }

    fn longest(&mut self) {
        for told in &self.told {
            let list = &mut self.lists[told.list];
            if told.order.len() > list.values.len() {
                (list.values, list.reader) = (told.order, told.transaction);
            }
        }
    }

    /// Whatever was read was appended, once, and by somebody who committed it; and all readings
    /// of a list are of one order.
    fn all_are_known(&mut self, history: &History) -> Result<(), Anomaly> {
        for number in 0..self.lists.len() {
            let (values, reader) = (self.lists[number].values, self.lists[number].reader);
            self.values_are_known(history, number, values, reader)?;
        }
        let mut other = None;
        for number in 0..self.told.len() {
            let Told { list, order, transaction, statement, .. } = self.told[number];
            if !self.lists[list].values.starts_with(order) {
                self.values_are_known(history, list, order, transaction)?;
                other.get_or_insert((list, order, transaction, statement));
            }
        }
        let Some((list, order, transaction, statement)) = other else { return Ok(()) };
        let List { key, values, reader, .. } = self.lists[list];
        Err(Anomaly::of(
            Kind::IncompatibleOrder,
            &[transaction, reader],
            vec![
                format!(
                    "statement {} of {} read list {} as {}",
                    statement + 1,
                    name(transaction),
                    key,
                    brief(order)
                ),
                format!(
                    "{} read it as {}: neither begins with the other",
                    name(reader),
                    brief(values)
                ),
            ],
        ))
    }

    fn values_are_known(
        &mut self,
        history: &History,
        list: usize,
        values: &[Value],
        reader: usize,
    ) -> Result<(), Anomaly> {
        let key = self.lists[list].key;
        let read = format!("{} read list {key} as {}", name(reader), brief(values));
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let story = vec![format!("{read}, which has {} twice", twice[0])];
            return Err(Anomaly::of(Kind::DuplicateValue, &[reader], story));
        }
        let mut dirty: Option<usize> = None;
        for value in values {
            let Some(found) = self.find(key, *value) else {
                let story = vec![format!("{read}, and nobody appended {value}")];
                return Err(Anomaly::of(Kind::UnknownValue, &[reader], story));
            };
            let append = &self.appends[found];
            let outcome = history.transactions[append.transaction].outcome;
            let is_own = append.transaction == reader;
            if is_own && (outcome != Outcome::Committed || !append.kept) {
                let story = vec![format!("{read}; {value} is its own, and is not the end or gone")];
                return Err(Anomaly::of(Kind::Internal, &[reader], story));
            } else if !is_own && (outcome == Outcome::Aborted || !append.kept) {
                dirty.get_or_insert(found);
            } else if let Some(dirty) = dirty
                && outcome == Outcome::Committed
            {
                return Err(self.dirty_update(read, dirty, found));
            } else if !is_own && outcome == Outcome::Unknown {
                self.committed[append.transaction] = true;
            }
        }
        let Some(dirty) = dirty else { return Ok(()) };
        let Append { transaction, value, .. } = self.appends[dirty];
        let story =
            vec![format!("{} appended {value} to it and took that back", name(transaction))];
        Err(Anomaly::of(Kind::AbortedRead, &[reader, transaction], [vec![read], story].concat()))
    }

    fn dirty_update(&self, read: String, dirty: usize, after: usize) -> Anomaly {
        let (dirty, after) = (&self.appends[dirty], &self.appends[after]);
        Anomaly::of(
            Kind::DirtyUpdate,
            &[dirty.transaction, after.transaction],
            vec![
                read,
                format!("{} appended {} and took that back", name(dirty.transaction), dirty.value),
                format!(
                    "{} appended {} after it and committed",
                    name(after.transaction),
                    after.value
                ),
            ],
        )
    }

    /// Gives each append its place in the order, or a list of those that nobody saw.
    fn place(&mut self) -> Result<(), Anomaly> {
        for number in 0..self.lists.len() {
            let List { key, values, .. } = self.lists[number];
            for (place, value) in (0..).zip(values) {
                let found = self.find(key, *value).expect("all values are known");
                self.appends[found].place = Some(place);
                self.lists[number].order.push(found);
            }
        }
        for (number, append) in self.appends.iter().enumerate() {
            if append.kept && append.place.is_none() && self.committed[append.transaction] {
                let list = self.lists.binary_search_by_key(&append.key, |list| list.key);
                let list = list.expect("each append has a list");
                self.lists[list].unseen.push(number);
            }
        }
        Ok(())
    }

    /// A transaction's appends to a list are in it in the order in which it made them.
    fn one_before_the_other(&mut self) -> Result<(), Anomaly> {
        let own = self.own_in_order();
        for pair in own.windows(2) {
            let (one, two) = (&self.appends[pair[0].3], &self.appends[pair[1].3]);
            if (one.key, one.transaction) != (two.key, two.transaction) {
                continue;
            }
            if two.place.is_some_and(|place| one.place.is_none_or(|before| before > place)) {
                return Err(Anomaly::of(
                    Kind::IncompatibleOrder,
                    &[one.transaction],
                    vec![format!(
                        "{} appended {} and then {} to list {}, which was read as {}",
                        name(one.transaction),
                        one.value,
                        two.value,
                        one.key,
                        brief(self.lists[self.list(one.key)].values)
                    )],
                ));
            }
            self.appends[pair[0].3].last = false;
        }
        self.none_too_early(&own)
    }

    /// What wasn't taken back, by list, transaction and order in the transaction: the last number
    /// is that of the append.
    fn own_in_order(&self) -> Vec<(Key, usize, usize, usize)> {
        let kept = self.appends.iter().enumerate().filter(|(_, append)| append.kept);
        let own =
            kept.map(|(number, append)| (append.key, append.transaction, append.sequence, number));
        let mut own: Vec<_> = own.collect();
        own.sort_unstable();
        own
    }

    /// No transaction sees its own appends before it made them.
    fn none_too_early(&self, own: &[(Key, usize, usize, usize)]) -> Result<(), Anomaly> {
        for told in &self.told {
            let wanted = (self.lists[told.list].key, told.transaction);
            let at = own.partition_point(|(key, transaction, ..)| (*key, *transaction) < wanted);
            let first = own.get(at).filter(|first| (first.0, first.1) == wanted);
            let place = first.and_then(|first| self.appends[first.3].place);
            if place.is_some_and(|place| (place as usize) < told.seen.len()) {
                return Err(Anomaly::of(
                    Kind::Internal,
                    &[told.transaction],
                    vec![format!(
                        "{} saw its own appends to list {} before it made them, as {}",
                        told.who(),
                        wanted.0,
                        brief(told.seen)
                    )],
                ));
            }
        }
        Ok(())
    }

    fn list(&self, key: Key) -> usize {
        self.lists.binary_search_by_key(&key, |list| list.key).expect("each append has a list")
    }

    /// No read ends between two appends of one transaction to the list (G1b).
    fn nothing_in_between(&self) -> Result<(), Anomaly> {
        for told in &self.told {
            let Some(before) = told.seen.len().checked_sub(1) else { continue };
            let append = &self.appends[self.lists[told.list].order[before]];
            if !append.last {
                let writer = append.transaction;
                return Err(Anomaly::of(
                    Kind::IntermediateRead,
                    &[told.transaction, writer],
                    vec![
                        format!("{} read list {} as {}", told.who(), append.key, brief(told.seen)),
                        format!("{} appended more to it after {}", name(writer), append.value),
                    ],
                ));
            }
        }
        Ok(())
    }
}

impl Told<'_> {
    pub(super) fn who(&self) -> String {
        format!("statement {} of {}", self.statement + 1, name(self.transaction))
    }
}

fn operations(transaction: &Transaction) -> impl Iterator<Item = (usize, &Operation)> {
    let statements = transaction.statements.iter().enumerate();
    statements.flat_map(|(number, statement)| {
        statement.operations.iter().map(move |operation| (number, operation))
    })
}

/// All appends, by key and value; none is made twice.
fn appends(history: &History) -> Result<Vec<Append>, Anomaly> {
    let mut appends = Vec::new();
    for (number, transaction) in history.transactions.iter().enumerate() {
        for (sequence, (statement, operation)) in operations(transaction).enumerate() {
            if let Operation::Append(key, value) = *operation {
                appends.push(Append {
                    key,
                    value,
                    transaction: number,
                    statement,
                    sequence,
                    kept: transaction.statements[statement].taken_back.is_none(),
                    last: true,
                    place: None,
                });
            }
        }
    }
    appends.sort_unstable_by_key(|append| (append.key, append.value));
    match appends
        .windows(2)
        .find(|pair| (pair[0].key, pair[0].value) == (pair[1].key, pair[1].value))
    {
        None => Ok(appends),
        Some(pair) => Err(Anomaly::of(
            Kind::AppendedTwice,
            &[pair[0].transaction, pair[1].transaction],
            vec![format!("{} is appended to list {} twice", pair[0].value, pair[0].key)],
        )),
    }
}

/// What a transaction has appended so far.
struct Own {
    key: Key,
    value: Value,
    statement: usize,
    taken_back: Option<usize>,
}

/// Collects what a transaction was told: its own appends so far are the end of it.
fn own_appends_last<'a>(
    number: usize,
    transaction: &'a Transaction,
    keys: &[Key],
    told: &mut Vec<Told<'a>>,
) -> Result<(), Anomaly> {
    let mut own: Vec<Own> = Vec::new();
    for (statement, operation) in operations(transaction) {
        let taken_back = transaction.statements[statement].taken_back;
        let (key, values) = match operation {
            Operation::Append(key, value) => {
                own.push(Own { key: *key, value: *value, statement, taken_back });
                continue;
            }
            Operation::Read(key, values) => (*key, values.as_slice()),
        };
        let still =
            |own: &&Own| own.key == key && own.taken_back.is_none_or(|back| back > statement);
        let mine: Vec<_> = own.iter().filter(still).collect();
        let expected: Vec<Value> = mine.iter().map(|own| own.value).collect();
        if !values.ends_with(&expected) {
            return Err(Anomaly::of(
                Kind::Internal,
                &[number],
                vec![format!(
                    "statement {} of {} read list {key} as {}, which doesn't end with its own {}",
                    statement + 1,
                    name(number),
                    brief(values),
                    brief(&expected)
                )],
            ));
        }
        let seen = &values[..values.len() - expected.len()];
        let lasts = transaction.outcome == Outcome::Committed
            && mine.iter().all(|own| own.taken_back.is_none());
        told.push(Told {
            transaction: number,
            statement,
            list: keys.binary_search(&key).expect("each read has a list"),
            seen,
            locked: mine.first().map(|own| own.statement),
            order: if lasts { values } else { seen },
        });
    }
    Ok(())
}
