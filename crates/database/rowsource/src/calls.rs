//! Calls of aggregates: what each row gives to the accumulators of its group.
//!
//! A DISTINCT call takes each value once in its group. The values that it has taken are kept in a
//! table of groups and values. Values that don't fit there are set aside, and taken at the end of
//! the pass, when the accumulators of all groups are still there. That is another order than the
//! one in which they came. So where the order matters, equal values come together, and a value is
//! compared with the one before it; or the call sorts by itself what it has taken.
//!
//! Invariants
//!   * a value is in the table, or set aside, or both are known not to have it: so it is taken once
//!   * FILTER is asked before arguments are evaluated, and these before what a call sorts by
//!
//! Callers: `hash_aggregate`, `sorted_aggregate`.

use expression::{Evaluation, RowOf, Rows};
use stop::Stop;
use value::Value;

use crate::groups::Groups;
use crate::hash::group_hash;
use crate::ordered::CallState;
use crate::partitions::ReadRows;
use crate::passes::{Area, Passes};
use crate::plain::Plain;
use crate::{AggregateCall, CallKey, CallKeyValue, World};

/// The most arguments of an aggregate.
pub(crate) const ARGUMENTS_MAX: usize = 2;

/// The values that a DISTINCT call has taken, each with its group in front.
struct Taken {
    seen: Groups,
    /// All columns of that.
    columns: Vec<usize>,
    passes: Passes,
    /// The group and values that are looked for.
    row: Rows,
}

impl Taken {
    fn new(arguments: usize) -> Taken {
        let width = arguments + 1;
        Taken {
            seen: Groups::new(width),
            columns: (0..width).collect(),
            passes: Passes::default(),
            row: Rows::new(width),
        }
    }

    /// Whether the row in hand is taken for the first time, and now. `used` is what the source uses
    /// beside this table.
    fn takes<W: World>(
        &mut self,
        rows: &Rows,
        row: usize,
        used: u64,
        area: &mut Area,
        world: &W,
    ) -> Result<bool, Stop> {
        let Taken { seen, columns, passes, .. } = self;
        let of = rows.row(row);
        let hash = group_hash(of, columns);
        if seen.find(of, columns, hash).is_some() {
            return Ok(false);
        }
        let bytes = used + seen.bytes_with(of, columns);
        let fits = !passes.is_full()
            && seen.has_numbers()
            && (area.memory.ask(bytes, world) || seen.count() == 0);
        if !fits {
            passes.set_aside(rows, row, hash, area, world)?;
            return Ok(false);
        }
        area.memory.need(bytes, world);
        seen.add(of, columns, hash);
        Ok(true)
    }
}

/// The calls of one source.
pub(crate) struct Calls {
    calls: Vec<AggregateCall>,
    /// For each call that is DISTINCT, if that matters.
    taken: Vec<Option<Taken>>,
    /// For each call whose equal values come together, those that it has taken last.
    last: Vec<Option<Rows>>,
    /// What each call takes of a row, if all of them only add up.
    plain: Option<Vec<Plain>>,
    /// The key of a row in the order of a call's own.
    key: Vec<u8>,
}

/// Where the values of a row go.
pub(crate) struct Target<'t> {
    /// The number of the row's group in this pass.
    pub(crate) group: u32,
    /// The accumulators of that group.
    pub(crate) accumulators: &'t mut [CallState],
    /// The bytes that the source uses beside the tables of DISTINCT calls.
    pub(crate) used: u64,
    /// The bytes of texts in accumulators.
    pub(crate) beside: &'t mut u64,
}

impl Calls {
    /// These calls.
    pub(crate) fn new(calls: Vec<AggregateCall>) -> Calls {
        let taken = |call: &AggregateCall| {
            assert!(call.arguments.len() <= ARGUMENTS_MAX, "aggregates have at most two arguments");
            let is_argument = |by: &CallKey| matches!(by.value, CallKeyValue::Argument(_));
            assert!(!call.distinct || call.order.iter().all(is_argument), "RS15");
            let matters = call.distinct && !call.aggregate.ignores_duplicates();
            (matters && !call.together).then(|| Taken::new(call.arguments.len()))
        };
        let last = |call: &AggregateCall| {
            (call.distinct && call.together).then(|| Rows::new(call.arguments.len()))
        };
        Calls {
            taken: calls.iter().map(taken).collect(),
            last: calls.iter().map(last).collect(),
            plain: Plain::of_all(&calls),
            key: Vec::new(),
            calls,
        }
    }

    /// How many calls there are.
    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    /// How many of them keep the values that they have taken.
    pub(crate) fn distinct(&self) -> usize {
        self.taken.iter().flatten().count()
    }

    /// The accumulators of a new group.
    pub(crate) fn accumulators(&self) -> impl Iterator<Item = CallState> {
        self.calls.iter().map(CallState::new)
    }

    /// Gives all rows of a batch to the accumulators of their one group, if the calls only add up.
    /// Returns whether they do.
    pub(crate) fn take_all(
        &self,
        rows: &Rows,
        accumulators: &mut [CallState],
    ) -> Result<bool, Stop> {
        let Some(plain) = &self.plain else { return Ok(false) };
        for (plain, accumulator) in plain.iter().zip(accumulators) {
            plain.add_all(rows, accumulator)?;
        }
        Ok(true)
    }

    /// Gives a row to the accumulators of its group, if the calls only add up. Returns whether they
    /// do.
    #[inline]
    pub(crate) fn take_plain(
        &self,
        row: RowOf<'_>,
        accumulators: &mut [CallState],
    ) -> Result<bool, Stop> {
        let Some(plain) = &self.plain else { return Ok(false) };
        for (plain, accumulator) in plain.iter().zip(accumulators) {
            plain.add(row, accumulator)?;
        }
        Ok(true)
    }

    /// Gives a row to the accumulators of its group.
    pub(crate) fn take<W: World>(
        &mut self,
        row: RowOf<'_>,
        target: Target<'_>,
        area: &mut Area,
        with: &Evaluation<'_>,
        world: &W,
    ) -> Result<(), Stop> {
        let Target { group, accumulators, used, beside } = target;
        for (number, call) in self.calls.iter().enumerate() {
            if let Some(filter) = &call.filter
                && filter.truth(&row, with)? != Some(true)
            {
                continue;
            }
            let mut values = [Value::Null; ARGUMENTS_MAX];
            for (value, argument) in values.iter_mut().zip(&call.arguments) {
                *value = argument.evaluate(&row, with)?;
            }
            if let Some(last) = &mut self.last[number]
                && is_last(last, &values[..call.arguments.len()])
            {
                continue;
            }
            if self.taken[number].is_some() {
                let used = used + self.taken_bytes_but(number);
                let taken = self.taken[number].as_mut().expect("it is there");
                let all = &values[..call.arguments.len()];
                taken.row.clear();
                taken.row.push([Value::Int(group.into())].into_iter().chain(all.iter().copied()));
                let row = std::mem::take(&mut taken.row);
                let is_new = taken.takes(&row, 0, used, area, world);
                taken.row = row;
                if !is_new? {
                    continue;
                }
            }
            self.key.clear();
            for by in &call.order {
                let value = match &by.value {
                    CallKeyValue::Argument(place) => values[*place],
                    CallKeyValue::Computed(value) => value.evaluate(&row, with)?,
                };
                by.push(value, &mut self.key);
            }
            add(&mut accumulators[number], values, &self.key, beside)?;
        }
        Ok(())
    }

    /// Takes what DISTINCT calls have set aside in a pass that has seen all its rows, and forgets
    /// what they have taken. `accumulators` are those of all groups.
    pub(crate) fn end_pass<W: World>(
        &mut self,
        accumulators: &mut [CallState],
        used: u64,
        area: &mut Area,
        world: &W,
    ) -> Result<(), Stop> {
        let Calls { calls, taken, last, key, .. } = self;
        last.iter_mut().flatten().for_each(Rows::clear);
        let mut beside = 0;
        for (number, taken) in taken.iter_mut().enumerate() {
            let Some(taken) = taken else { continue };
            taken.seen.clear();
            let mut batch = ReadRows::new(taken.columns.len());
            while taken.passes.next(area, world)? {
                taken.seen.clear();
                let mut more = true;
                while more {
                    world.check()?;
                    more = taken.passes.read(&mut batch, area, world)?;
                    for row in 0..batch.rows.len() {
                        if taken.takes(&batch.rows, row, used + beside, area, world)? {
                            let Value::Int(group) = batch.rows.get(row, 0) else {
                                unreachable!("the first column is the group's number")
                            };
                            let mut values = [Value::Null; ARGUMENTS_MAX];
                            for (place, column) in taken.columns[1..].iter().enumerate() {
                                values[place] = batch.rows.get(row, *column);
                            }
                            key_of_arguments(&calls[number], &values, key);
                            let at = group as usize * calls.len() + number;
                            add(&mut accumulators[at], values, key, &mut beside)?;
                        }
                    }
                }
            }
            taken.seen.clear();
            taken.passes = Passes::default();
        }
        Ok(())
    }

    /// Forgets what DISTINCT calls have taken and set aside.
    pub(crate) fn clear(&mut self) {
        for taken in self.taken.iter_mut().flatten() {
            *taken = Taken::new(taken.columns.len() - 1);
        }
        self.last.iter_mut().flatten().for_each(Rows::clear);
    }

    /// The bytes of all tables of DISTINCT calls but that of this one.
    fn taken_bytes_but(&self, number: usize) -> u64 {
        let others = self.taken.iter().enumerate().filter(|(other, _)| *other != number);
        others.filter_map(|(_, taken)| taken.as_ref()).map(|taken| taken.seen.bytes()).sum()
    }
}

/// Whether these values are those that were taken last. If not, they are now.
fn is_last(last: &mut Rows, values: &[Value<'_>]) -> bool {
    let is_same = |(column, value): (usize, &Value<'_>)| last.get(0, column) == *value;
    if !last.is_empty() && values.iter().enumerate().all(is_same) {
        return true;
    }
    last.clear();
    last.push(values.iter().copied());
    false
}

/// Gives values to an accumulator, and adds to `beside` what it has grown by.
fn add(
    accumulator: &mut CallState,
    values: [Value<'_>; ARGUMENTS_MAX],
    key: &[u8],
    beside: &mut u64,
) -> Result<(), Stop> {
    let before = accumulator.bytes();
    accumulator.add(values, key)?;
    *beside = (*beside + accumulator.bytes()).saturating_sub(before);
    Ok(())
}

/// Replaces `key` by the one by which a DISTINCT call sorts these arguments.
fn key_of_arguments(call: &AggregateCall, arguments: &[Value<'_>], key: &mut Vec<u8>) {
    key.clear();
    for by in &call.order {
        let CallKeyValue::Argument(place) = by.value else {
            unreachable!("a DISTINCT call sorts by its arguments alone (RS15)")
        };
        by.push(arguments[place], key);
    }
}
