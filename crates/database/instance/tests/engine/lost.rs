//! A disk that lies: a write that it has taken, and flushed, isn't there.
//!
//! Found: by a read, as long as the instance that wrote the block is open; by recovery, if the redo
//! above the checkpoint has a change of the block; and both say which block.
//!
//! Not found: a lost write of an instance that has ended, of which recovery has no redo, for the
//! checkpoint has passed it (MEDIA, D4). Here that is a block which stayed in the cache, so that
//! the instance that wrote it didn't read it again. And a log, a control file or a doublewrite copy
//! that isn't there is an end, an older copy, or none, as after a crash: of these only what a stamp
//! or a header proves is missed.

use instance::{Instance, Parameters, Transaction};
use os::Session;
use sim::fs::faults::{Fault, FaultPlan, Scope};
use sim::fs::{FileSystem, Operation};
use stop::{RefusalKind, Stop};

use crate::common::{
    TABLE, abort, add, database, directory, ended, left, machine, number, open_as, parameters,
    rows, with_fixed_costs,
};
use crate::rows::Rows;

const ROWS: u64 = 16 * 24;
/// Changes of each row.
const ROUNDS: i64 = 2;

/// A cache that holds a part of the table.
fn small() -> Parameters {
    Parameters { db_cache_size: 16 * 2048, ..parameters() }
}

/// A cache that holds all of it: blocks are written for checkpoints, and changed again without
/// being read.
fn hot() -> Parameters {
    Parameters { db_cache_size: 96 * 2048, ..parameters() }
}

fn is_corrupt(stop: &Stop) -> bool {
    let text = stop.to_string();
    stop.refusal() == Some(RefusalKind::Corrupt) && text.contains("block")
}

/// What came of one life.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Found {
    /// A read was refused.
    ByRead,
    /// Recovery was refused.
    ByRecovery,
    /// The header of the file is an older one, so opening was refused.
    ByOpening,
    /// The block was written again: nothing is missing.
    Mended,
    /// The row is as it was before: nobody knows.
    Not,
}

/// Changes every row in each round; then reads them all. Whether a read was refused.
fn work(instance: &Instance, session: &Session) -> bool {
    let table = Rows::open(instance, TABLE, session).expect("there");
    let mut all = Vec::new();
    if let Err(stop) = table.scan(|address, _| all.push(address), session) {
        assert!(is_corrupt(&stop), "{stop}");
        return true;
    }
    for round in 0..ROUNDS {
        for row in &all {
            let mut transaction = Transaction::new();
            if let Err(stop) = add(&table, &mut transaction, *row, 1, session) {
                assert!(is_corrupt(&stop), "{stop}");
                let _ = instance.rollback(transaction, session);
                return true;
            }
            instance.commit(transaction, session).expect("committed");
        }
        if round == 0 {
            instance.checkpoint(session).expect("written");
        }
    }
    for row in &all {
        match table.fetch(None, *row, |row| row.number, session) {
            Ok(found) => assert_eq!(found, Some(ROUNDS), "a lost write is returned"),
            Err(stop) => {
                assert!(is_corrupt(&stop), "{stop}");
                return true;
            }
        }
    }
    false
}

/// The n-th write of a block of this file isn't there; none if there are fewer. Which writes there
/// are follows from what code costs.
fn life(base: &FileSystem, parameters: &Parameters, file: &str, n: u64) -> Option<Found> {
    let mut content = base.clone();
    let scope = Scope::of(&[Operation::Write]).under(file);
    content.plan_faults(FaultPlan::new(n).nth(n, Fault::LostWrite, scope));
    let as_before = parameters.clone();
    let mut report = with_fixed_costs(machine(n, content)).run(move |world, session| {
        let instance = open_as(&as_before, world, session);
        let by_read = work(&instance, session);
        abort(instance, session);
        by_read
    });
    let mut disk = left(&mut report);
    if disk.injected().is_empty() {
        return None;
    }
    disk.plan_faults(FaultPlan::new(0));
    if ended(report, n) {
        return Some(Found::ByRead);
    }
    let parameters = parameters.clone();
    let report = with_fixed_costs(machine(n, disk)).run(move |world, session| {
        let instance = match Instance::open(&world.disk(), directory(), &parameters, session) {
            Ok(instance) => instance,
            Err(stop) => {
                if stop.to_string().contains("is an older copy") {
                    return Found::ByOpening;
                }
                assert!(is_corrupt(&stop), "{stop}");
                assert!(stop.to_string().contains("a write of it was lost"), "{stop}");
                return Found::ByRecovery;
            }
        };
        let table = Rows::open(&instance, TABLE, session).expect("there");
        let all = rows(&table, session);
        let stale = all.iter().any(|row| number(&table, *row, session) != ROUNDS);
        drop(table);
        instance.abort(session);
        if stale { Found::Not } else { Found::Mended }
    });
    Some(ended(report, n))
}

/// Every write of a data block is lost in turn: the instance that wrote it never returns the old
/// block; most of what it didn't meet is found by recovery, or written again by it.
#[test]
fn a_lost_write_is_found_as_far_as_it_can_be() {
    let base = database(ROWS);
    let mut found = std::collections::BTreeMap::new();
    for parameters in [small(), hot()] {
        for file in ["/db/data01.dbf", "/db/undo01.dbf"] {
            for n in 1.. {
                let Some(what) = life(&base, &parameters, file, n) else { break };
                *found.entry((file, what)).or_insert(0) += 1;
            }
        }
    }
    println!("{found:?}");
    let times = |file, what| found.get(&(file, what)).copied().unwrap_or(0);
    let [data, undo] = ["/db/data01.dbf", "/db/undo01.dbf"].map(|file| {
        [Found::ByRead, Found::ByRecovery, Found::ByOpening].map(|what| times(file, what))
    });
    assert!(data[0] > 20 && data[1] + undo[1] > 10 && data[2] + undo[2] > 0, "{found:?}");
    // What was written once and for all, and not met again, nobody knows of.
    assert!(times("/db/data01.dbf", Found::Not) * 2 < data.iter().sum(), "{found:?}");
    // An old undo block that nobody needs is passed over.
    assert_eq!(times("/db/undo01.dbf", Found::Not), 0, "{found:?}");
}
