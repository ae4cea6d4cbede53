//! Foreign keys in transactions with one snapshot: they are checked against what is committed, and
//! not against the snapshot. A statement does what is right or is refused, and no row is left that
//! refers to one that isn't there.

use std::collections::{BTreeMap, BTreeSet};

use database::{
    ColumnSpec, Connection, Database, Error, ErrorKind, OnDelete, Table, TableSpec, Tx, Type, Value,
};
use os::Session;
use sim::Outside;
use sim::fs::FileSystem;

use crate::simulated::{join, made, racing, start};

const ON_DELETE: [OnDelete; 3] = [OnDelete::NoAction, OnDelete::Cascade, OnDelete::SetNull];

/// Parents 1 and 2, and child 1, which refers to parent 2.
fn family(on_delete: OnDelete) -> FileSystem {
    made(move |database, session| {
        let mut connection = database.connect_with(session);
        let parent = TableSpec::new("parent")
            .column(ColumnSpec::new("id", Type::BigInt))
            .primary_key(["id"]);
        let child = TableSpec::new("child")
            .column(ColumnSpec::new("id", Type::BigInt))
            .column(ColumnSpec::new("parent", Type::BigInt))
            .primary_key(["id"])
            .foreign_key(["parent"], "parent", on_delete);
        let parent = connection.create_table(&parent).expect("made");
        let child = connection.create_table(&child).expect("made");
        let mut tx = connection.begin();
        for id in 1..=2 {
            tx.insert(&parent, &[Value::Int(id)]).expect("inserted");
        }
        tx.insert(&child, &[Value::Int(1), Value::Int(2)]).expect("inserted");
        tx.commit().expect("committed");
    })
}

struct Tables {
    parent: Table,
    child: Table,
}

impl Tables {
    fn of(connection: &Connection<'_>) -> Tables {
        let table = |name| connection.table(name).expect("there");
        Tables { parent: table("parent"), child: table("child") }
    }
}

/// What a transaction does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Deed {
    DeleteParent(i64),
    /// The parent gets another key.
    RenameParent(i64),
    InsertParent(i64),
    /// Child 2 refers to this parent.
    InsertChild(i64),
    /// Child 1 refers to this parent from now on.
    MoveChild(i64),
    DeleteChild,
}
use Deed::{DeleteChild, DeleteParent, InsertChild, InsertParent, MoveChild, RenameParent};

fn act(tx: &mut Tx<'_, '_>, tables: &Tables, deed: Deed) -> Result<(), Error> {
    let Tables { parent, child } = tables;
    let int = Value::Int;
    match deed {
        DeleteParent(id) => tx.delete(parent, &[int(id)]).map(drop),
        RenameParent(id) => {
            tx.update(parent, &[int(id)], |_, set| set.set(0, int(id + 10))).map(drop)
        }
        InsertParent(id) => tx.insert(parent, &[int(id)]).map(drop),
        InsertChild(of) => tx.insert(child, &[int(2), int(of)]).map(drop),
        MoveChild(to) => tx.update(child, &[int(1)], |_, set| set.set(1, int(to))).map(drop),
        DeleteChild => tx.delete(child, &[int(1)]).map(drop),
    }
}

/// All children and their parents; each parent is there.
fn children(database: &Database, session: &Session) -> BTreeMap<i64, Option<i64>> {
    let connection = database.connect_with(session);
    let tables = Tables::of(&connection);
    let (mut connection, mut parents) = (connection, BTreeSet::new());
    connection.scan(&tables.parent, |row| parents.extend(row.get_i64(0))).expect("read");
    let mut children = BTreeMap::new();
    let see = |row: database::Row<'_>| {
        children.insert(row.get_i64(0).expect("a number"), row.get_i64(1));
    };
    connection.scan(&tables.child, see).expect("read");
    let orphans = children.values().flatten().filter(|of| !parents.contains(of)).count();
    assert_eq!(orphans, 0, "{children:?} of {parents:?}");
    children
}

/// In a transaction whose snapshot is older than what another session did and committed: what this
/// deed comes to, and the children that are there afterwards.
fn after(
    on_delete: OnDelete,
    others: &'static [Deed],
    own: Deed,
) -> (Option<ErrorKind>, BTreeMap<i64, Option<i64>>) {
    racing(1, family(on_delete), move |database, session| {
        let (mut one, mut two) = (database.connect_with(session), database.connect_with(session));
        let tables = Tables::of(&one);
        let mut tx = one.begin_serializable().expect("begun");
        let mut other = two.begin();
        for deed in others {
            act(&mut other, &tables, *deed).unwrap_or_else(|stop| panic!("{deed:?}: {stop}"));
        }
        other.commit().expect("committed");
        let refused = act(&mut tx, &tables, own).err().and_then(|stop| stop.refusal());
        match refused {
            None => tx.commit().expect("committed"),
            Some(_) => tx.rollback().expect("ended"),
        }
        drop((one, two));
        (refused, children(database, session))
    })
}

const VIOLATION: Option<ErrorKind> = Some(ErrorKind::ForeignKeyViolation);
const SERIALIZATION: Option<ErrorKind> = Some(ErrorKind::Serialization);

#[test]
fn a_parent_that_has_gone_since_the_snapshot_is_none() {
    for on_delete in ON_DELETE {
        for others in [&[DeleteParent(1)], &[RenameParent(1)]] {
            for own in [InsertChild(1), MoveChild(1)] {
                let (refused, left) = after(on_delete, others, own);
                assert_eq!(refused, VIOLATION, "{on_delete:?} {others:?} {own:?}");
                assert_eq!(left, [(1, Some(2))].into());
            }
        }
    }
}

#[test]
fn a_parent_that_has_come_since_the_snapshot_is_one() {
    for on_delete in ON_DELETE {
        for (others, to) in [(&[InsertParent(3)], 3), (&[RenameParent(1)], 11)] {
            assert_eq!(
                after(on_delete, others, InsertChild(to)),
                (None, [(1, Some(2)), (2, Some(to))].into()),
                "{on_delete:?} {others:?}"
            );
            assert_eq!(
                after(on_delete, others, MoveChild(to)),
                (None, [(1, Some(to))].into()),
                "{on_delete:?} {others:?}"
            );
        }
    }
    // Deleted and inserted again it is there.
    let again: &[Deed] = &[DeleteParent(1), InsertParent(1)];
    for on_delete in ON_DELETE {
        let expected = (None, [(1, Some(2)), (2, Some(1))].into());
        assert_eq!(after(on_delete, again, InsertChild(1)), expected, "{on_delete:?}");
    }
}

#[test]
fn a_child_that_has_come_since_the_snapshot_keeps_its_parent() {
    for (others, left) in [
        (&[InsertChild(1)], [(1, Some(2)), (2, Some(1))].as_slice()),
        (&[MoveChild(1)], [(1, Some(1))].as_slice()),
    ] {
        for on_delete in ON_DELETE {
            for own in [DeleteParent(1), RenameParent(1)] {
                let found = after(on_delete, others, own);
                // What follows a parent may not change what the snapshot doesn't see.
                let follows = own == DeleteParent(1) && on_delete != OnDelete::NoAction;
                let refused = if follows { SERIALIZATION } else { VIOLATION };
                let expected = (refused, left.iter().copied().collect());
                assert_eq!(found, expected, "{on_delete:?} {others:?} {own:?}");
            }
        }
    }
}

#[test]
fn a_child_that_has_gone_since_the_snapshot_does_not_keep_its_parent() {
    for (others, left) in
        [(&[DeleteChild], [].as_slice()), (&[MoveChild(1)], [(1, Some(1))].as_slice())]
    {
        for on_delete in ON_DELETE {
            for own in [DeleteParent(2), RenameParent(2)] {
                let expected = (None, left.iter().copied().collect());
                assert_eq!(
                    after(on_delete, others, own),
                    expected,
                    "{on_delete:?} {others:?} {own:?}"
                );
            }
        }
    }
}

/// Two transactions at once, at least one of them with one snapshot: whichever comes first and
/// whoever waits for whom, none leaves a child without its parent.
#[test]
fn both_sides_of_a_foreign_key_at_once_leave_no_orphan() {
    const SEEDS: u64 = 20;
    const PAIRS: [[Deed; 2]; 6] = [
        [DeleteParent(1), InsertChild(1)],
        [DeleteParent(1), MoveChild(1)],
        [RenameParent(1), InsertChild(1)],
        [RenameParent(1), MoveChild(1)],
        [DeleteParent(2), MoveChild(1)],
        [DeleteParent(2), InsertChild(2)],
    ];
    let ends = Outside::<Vec<[Option<ErrorKind>; 2]>>::default();
    for on_delete in ON_DELETE {
        let base = family(on_delete);
        for seed in 0..SEEDS * PAIRS.len() as u64 {
            let (deeds, ends) = (PAIRS[seed as usize % PAIRS.len()], ends.clone());
            racing(seed, base.clone(), move |database, session| {
                let refusals = Outside::<[Option<ErrorKind>; 2]>::default();
                let sides = (0..2).map(|side: usize| {
                    let refusals = refusals.clone();
                    start("side", (database, session), move |database, session| {
                        let mut connection = database.connect_with(session);
                        let tables = Tables::of(&connection);
                        let is_serializable = side as u64 == seed % 2 || seed % 3 > 0;
                        let mut tx = match is_serializable {
                            true => connection.begin_serializable().expect("begun"),
                            false => connection.begin(),
                        };
                        match act(&mut tx, &tables, deeds[side]) {
                            Ok(()) => tx.commit().expect("committed"),
                            Err(stop) => {
                                let kind = stop.refusal().expect("no halt");
                                refusals.with(|refusals| refusals[side] = Some(kind));
                                tx.rollback().expect("ended");
                            }
                        }
                    })
                });
                join(sides.collect(), session);
                children(database, session);
                let refusals = refusals.take();
                ends.with(|ends| ends.push(refusals));
            });
        }
    }
    let ends = ends.take();
    let counted = |end| ends.iter().filter(|one| **one == end).count();
    println!("{} let through", counted([None, None]));
    let allowed = [ErrorKind::ForeignKeyViolation, ErrorKind::Serialization, ErrorKind::Deadlock];
    let mut kinds = ends.iter().flatten().flatten();
    assert!(kinds.all(|kind| allowed.contains(kind)), "{ends:?}");
    for end in [[None, None], [None, VIOLATION], [VIOLATION, None]] {
        assert!(counted(end) > 0, "{end:?} is never among {ends:?}");
    }
    let of_snapshots = ends.iter().flatten().filter(|kind| **kind == SERIALIZATION).count();
    assert!(of_snapshots > 0, "{ends:?}");
}
