//! A cycle of points, as a name and a story.
//!
//! Callers: `append`, for a history whose points have no order.

use super::anomaly::{Anomaly, Kind, brief, name};
use super::graph::{Class, Classes, Edge};
use super::orders::{List, Orders};
use super::points::{Points, Role, level_of, window};
use super::{Level, Order};
use crate::history::{History, Value};

/// An edge with both its ends at points of transactions: what stands between is left out.
#[derive(Clone, Copy, Debug)]
struct Step {
    class: Class,
    from: Role,
    to: Role,
    list: usize,
    at: usize,
}

impl Points<'_> {
    /// Whether the points can have been one after the other.
    pub(super) fn have_order(&self) -> bool {
        self.graph.components(Classes::ALL).are_single()
    }

    /// Why they can't: of the worst kind of cycle a short one.
    pub(super) fn anomaly(&self) -> Anomaly {
        let mut known = Classes::NONE;
        for order in [Order::Free, Order::Session, Order::RealTime] {
            let newest = match order {
                Order::Free => None,
                Order::Session => Some(Class::Session),
                Order::RealTime => Some(Class::Time),
            };
            known = newest.map_or(known, |class| known.with(class));
            let mut classes = known;
            for class in [Class::Ww, Class::Wr, Class::Rw, Class::Unseen] {
                classes = classes.with(class);
                let first = match (class, newest) {
                    (Class::Ww, Some(newest)) => newest,
                    _ => class,
                };
                if let Some(cycle) = self.cycle(first, known, classes) {
                    return self.tell(&cycle, order);
                }
            }
        }
        unreachable!("points without an order have a cycle")
    }

    /// A cycle of these classes; best one with a single edge of the first if that is rw.
    fn cycle(&self, first: Class, known: Classes, classes: Classes) -> Option<Vec<Edge>> {
        let components = self.graph.components(classes);
        if components.are_single() {
            return None;
        }
        let single = match first {
            Class::Rw => {
                let others = known.with(Class::Ww).with(Class::Wr);
                self.graph.cycle(&components, first, others)
            }
            _ => None,
        };
        single.or_else(|| self.graph.cycle(&components, first, classes))
    }

    fn tell(&self, cycle: &[Edge], order: Order) -> Anomaly {
        let steps = self.steps(cycle);
        let ends = steps.iter().flat_map(|step| [step.from, step.to]);
        let transactions: Vec<usize> = ends.filter_map(Role::transaction).collect();
        let mut story = Vec::new();
        for (step, next) in steps.iter().zip(steps.iter().cycle().skip(1)) {
            story.push(self.line(step));
            story.extend(within(step.to, next.from));
        }
        Anomaly { order, ..Anomaly::of(kind(&steps), &transactions, story) }
    }

    /// The edges between transactions, in a circle.
    fn steps(&self, cycle: &[Edge]) -> Vec<Step> {
        let role = |node: u32| self.roles[node as usize];
        let begin = cycle.iter().position(|edge| edge.class != Class::Inner);
        let begin = begin.expect("a cycle goes from one transaction to another");
        let mut steps: Vec<Step> = Vec::new();
        for edge in cycle[begin..].iter().chain(&cycle[..begin]) {
            if edge.class != Class::Inner {
                let (list, at) = (edge.list as usize, edge.at as usize);
                let (from, to) = (role(edge.from), role(edge.to));
                steps.push(Step { class: edge.class, from, to, list, at });
            } else if let Some(last) = steps.last_mut()
                && last.to == Role::Between
            {
                last.to = role(edge.to);
            }
        }
        steps
    }

    fn line(&self, step: &Step) -> String {
        let list = self.orders.lists.get(step.list);
        let list = list.expect("an edge from versions has a list; another one has list 0");
        let value = |at: usize| self.orders.appends[list.order[at]].value;
        let before: Vec<Value> = (0..step.at).map(value).collect();
        let (from, to) = (owner(step.from), owner(step.to));
        let key = list.key;
        match step.class {
            Class::Ww | Class::Unseen => {
                let (one, two) = (value(step.at - 1), self.next(list, step));
                let after = match step.class {
                    Class::Unseen => format!("{two}, which nobody saw, so it came after"),
                    _ => format!("{two} after it"),
                };
                format!("{from} appended {one} to list {key}, and {to} appended {after}")
            }
            Class::Wr => {
                let (one, reader) = (value(step.at - 1), part(step.to));
                let read = brief(&before);
                format!("{from} appended {one} to list {key}, and {reader} read it: {read}")
            }
            Class::Rw => {
                let (reader, read, next) = (part(step.from), brief(&before), self.next(list, step));
                format!("{reader} read list {key} as {read}, without {next}, which {to} appended")
            }
            Class::Session => format!("the session of {from} began {to} after it"),
            Class::Time | Class::Inner => {
                let over = window(self.history, step.from).1.unwrap_or_default();
                let begun = window(self.history, step.to).0.unwrap_or_default();
                let (over_what, begun_what) = (returned(step.from), called(step.to));
                format!("{over_what} had returned (@{over}) before {begun_what} (@{begun})")
            }
        }
    }

    /// What was appended next: seen by somebody, or not.
    fn next(&self, list: &List<'_>, step: &Step) -> Value {
        let appends = &self.orders.appends;
        let seen = list.order.get(step.at).copied();
        let is_theirs =
            |number: &usize| Some(appends[*number].transaction) == step.to.transaction();
        let next = seen.or_else(|| list.unseen.iter().copied().find(is_theirs));
        appends[next.expect("an edge leads to an append")].value
    }
}

/// What two committed who read the same version and both appended to it: at levels above read
/// committed, where one of them should have been refused. If others read on, the points show it;
/// if nobody did, only this.
pub(super) fn lost_update(history: &History, orders: &Orders<'_>, level: Level) -> Option<Anomaly> {
    let mut appended: Vec<(u64, usize)> = Vec::new();
    for append in orders.lists.iter().flat_map(|list| list.order.iter().chain(&list.unseen)) {
        let append = &orders.appends[*append];
        appended.push((append.key, append.transaction));
    }
    appended.sort_unstable();
    let mut readers: Vec<(usize, usize, usize)> = Vec::new();
    for told in &orders.told {
        let transaction = &history.transactions[told.transaction];
        let key = orders.lists[told.list].key;
        if told.locked.is_none()
            && orders.committed[told.transaction]
            && level_of(transaction, level) > Level::ReadCommitted
            && appended.binary_search(&(key, told.transaction)).is_ok()
        {
            readers.push((told.list, told.seen.len(), told.transaction));
        }
    }
    readers.sort_unstable();
    readers.dedup();
    let pair = readers.windows(2).find(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1))?;
    let (list, at) = (&orders.lists[pair[0].0], pair[0].1);
    let read: Vec<Value> = list.order[..at].iter().map(|one| orders.appends[*one].value).collect();
    let (one, two) = (pair[0].2, pair[1].2);
    Some(Anomaly::of(
        Kind::LostUpdate,
        &[one, two],
        vec![format!(
            "{} and {} both read list {} as {}, and both appended to it",
            name(one),
            name(two),
            list.key,
            brief(&read)
        )],
    ))
}

fn kind(steps: &[Step]) -> Kind {
    let count = |class: Class| steps.iter().filter(|step| step.class == class).count();
    let (wr, rw, unseen) = (count(Class::Wr), count(Class::Rw), count(Class::Unseen));
    let ww = count(Class::Ww) + unseen;
    match rw {
        0 if unseen > 0 => return Kind::LostAppend,
        0 if wr == 0 => return Kind::DirtyWrite,
        0 => return Kind::CircularFlow,
        1 => {}
        _ => {
            let after = steps.iter().zip(steps.iter().cycle().skip(1));
            let mut after = after.filter(|(one, _)| one.class == Class::Rw);
            // Two in a row through one point: only serializable transactions are that.
            return match after.any(|(_, next)| next.class == Class::Rw) {
                true => Kind::WriteSkew,
                false => Kind::LongFork,
            };
        }
    }
    let at = steps.iter().position(|step| step.class == Class::Rw).expect("there is one");
    let (rw, before) = (&steps[at], &steps[(at + steps.len() - 1) % steps.len()]);
    if matches!(before.class, Class::Session | Class::Time) {
        return Kind::StaleRead;
    }
    let is_ww = |step: &&Step| matches!(step.class, Class::Ww | Class::Unseen);
    let other = (ww == 1).then(|| steps.iter().find(is_ww)).flatten();
    match (before.to, rw.from) {
        (Role::Statement(_, told), Role::Statement(_, missed)) if told == missed => {
            Kind::SplitStatement
        }
        (Role::Statement(..) | Role::End(..), Role::Statement(..)) => Kind::NonMonotonic,
        _ if steps.len() == 2 && other.is_some_and(|ww| ww.list == rw.list) => Kind::LostUpdate,
        _ => Kind::ReadSkew,
    }
}

fn owner(role: Role) -> String {
    role.transaction().map_or("somebody".to_owned(), name)
}

fn part(role: Role) -> String {
    match role {
        Role::Statement(_, statement) | Role::End(_, statement) => {
            format!("statement {} of {}", statement + 1, owner(role))
        }
        _ => owner(role),
    }
}

fn returned(role: Role) -> String {
    match role {
        Role::Commit(_) | Role::Whole(_) => format!("the commit of {}", owner(role)),
        Role::Snapshot(_) => format!("the first statement of {}", owner(role)),
        _ => part(role),
    }
}

fn called(role: Role) -> String {
    match role {
        Role::Commit(_) => format!("the commit of {} was called", owner(role)),
        Role::Snapshot(_) | Role::Whole(_) => format!("{} began", owner(role)),
        _ => format!("{} was called", part(role)),
    }
}

/// What leads on within a transaction, if that isn't plain.
fn within(one: Role, two: Role) -> Option<String> {
    let statement = |role: Role| match role {
        Role::Statement(_, statement) | Role::End(_, statement) => Some(statement),
        _ => None,
    };
    let (before, after) = (statement(one)?, statement(two)?);
    (before != after).then(|| {
        format!(
            "statement {} of {} came before its statement {}",
            before + 1,
            owner(one),
            after + 1
        )
    })
}
