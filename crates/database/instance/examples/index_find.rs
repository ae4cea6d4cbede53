//! What a find in an index costs on this machine: three levels of 8 KiB blocks, all in the cache,
//! one thread; CPU time, so that others on the machine don't count.
//!
//! `cargo run --release -p instance --example index_find [FOLDER]`; the folder gets a
//! database, which has to be removed afterwards.

use std::ops::Bound;
use std::path::PathBuf;

use access::{Direction, Index, IndexBuilder, RowAddress};
use ids::Dba;
use instance::{Creation, Instance, Parameters};
use os::Session;
use stop::Stop;
use waits::SessionKind;

const ENTRIES: u32 = 1_000_000;
const FINDS: u32 = 4_000_000;
/// Keys of the second round: what they need fits into a processor's cache.
const FEW: u32 = 5_000;

fn main() -> Result<(), Stop> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    let os = os::linux::start();
    let session = os.adopt("find", SessionKind::Foreground);
    let (disk, folder) = (os::linux::disk(), folder.join("find-database.tmp"));
    let parameters = Parameters { db_cache_size: 96 << 20, ..Parameters::default() };
    let creation = Creation { data_bytes: 96 << 20, ..Creation::default() };
    Instance::create(&disk, &folder, &creation, &parameters, &session)?;
    let instance = Instance::open(&disk, &folder, &parameters, &session)?;
    measure(&instance, &session)?;
    instance.shutdown(&session)
}

fn row(number: u32) -> RowAddress {
    RowAddress { block: Dba::new(1, number / 64), slot: (number % 64) as u16 }
}

/// Eight bytes, in the order of the numbers.
fn key(number: u32) -> [u8; 8] {
    let mut key = [0, 0, 0, 0, 0, 0, 0, 1];
    (0..4).for_each(|at| key[at + 2] = (number >> (8 * (3 - at))) as u8);
    key
}

fn measure(instance: &Instance, session: &Session) -> Result<(), Stop> {
    let (space, transactions) = (instance.space(), instance.transactions());
    let system = space.tablespaces(session)[0].name.clone();
    let index = Index::create(&system, "find", true, space, transactions, session)?;
    let mut builder = IndexBuilder::new(&index, session);
    for number in 0..ENTRIES {
        builder.add(&key(number), row(number))?;
    }
    builder.finish()?;
    instance.redo().make_durable(
        instance.redo().last_scn(session),
        session,
        waits::WaitEvent::LogFileSync,
    )?;
    let checked = index.check(&mut |_, _| (), session).expect("the index is in order");
    println!("{checked:?}");
    for keys in [ENTRIES, FEW, ENTRIES, FEW] {
        let started = session.thread_times().cpu;
        let mut at = 1_u32;
        for _ in 0..FINDS {
            at = at.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let number = ((u64::from(at) * u64::from(keys)) >> 32) as u32;
            let view = transactions.view(None, session)?;
            let found = index.find(view, &key(number), session)?;
            assert_eq!(found, Some(row(number)));
        }
        let took = session.thread_times().cpu.0.saturating_sub(started.0) as f64 / f64::from(FINDS);
        println!("find, one of {keys} keys: {took:.1} ns");
    }
    let started = session.thread_times().cpu;
    let snapshot = transactions.snapshot(None, session)?;
    let view = transactions.view_of(&snapshot, None);
    let everything = (Bound::Unbounded, Bound::Unbounded);
    let mut cursor = index.cursor(everything, Direction::Ascending, view);
    let mut count = 0_u32;
    while cursor.visit(&mut |_, _| count += 1, session)? {}
    let took = session.thread_times().cpu.0.saturating_sub(started.0) as f64 / f64::from(count);
    println!("scan of {count} entries: {took:.1} ns each");
    Ok(())
}
