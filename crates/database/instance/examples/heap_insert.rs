//! What an insert into a heap costs on this machine, when nothing is ever deleted: rows of 100
//! bytes, one thread; CPU time of that thread, so that others on the machine don't count.
//!
//! `cargo run --release -p instance --example heap_insert [FOLDER]`; the folder gets a
//! database, which has to be removed afterwards.

use std::path::PathBuf;

use access::{Heap, HeapInserter};
use instance::{Creation, Instance, Parameters, Transaction};
use os::Session;
use space::Holds;
use stop::Stop;
use waits::SessionKind;

const ROWS: u32 = 200_000;
const ROUNDS: u32 = 10;
/// Rows of a transaction.
const AT_ONCE: u32 = 1_000;

fn main() -> Result<(), Stop> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    let os = os::linux::start();
    let session = os.adopt("insert", SessionKind::Foreground);
    let (disk, folder) = (os::linux::disk(), folder.join("insert-database.tmp"));
    let parameters = Parameters { db_cache_size: 512 << 20, ..Parameters::default() };
    let creation = Creation { data_bytes: 512 << 20, ..Creation::default() };
    Instance::create(&disk, &folder, &creation, &parameters, &session)?;
    let instance = Instance::open(&disk, &folder, &parameters, &session)?;
    for round in 0..ROUNDS {
        measure(round, &instance, &session)?;
    }
    instance.shutdown(&session)
}

fn measure(round: u32, instance: &Instance, session: &Session) -> Result<(), Stop> {
    let (space, transactions) = (instance.space(), instance.transactions());
    let segment = space.create(&format!("heap{round}"), Holds::Table, session)?;
    let heap = Heap::new(&segment, space, transactions, session);
    let (mut inserter, row) = (HeapInserter::default(), [7; 100]);
    let started = session.thread_times().cpu;
    for _ in 0..ROWS / AT_ONCE {
        let mut transaction = Transaction::new();
        for _ in 0..AT_ONCE {
            heap.insert(&mut transaction, &mut inserter, &row, session)?;
        }
        instance.commit(transaction, session)?;
    }
    let took = session.thread_times().cpu.0.saturating_sub(started.0) as f64 / f64::from(ROWS);
    let blocks: u32 = heap.runs(session)?.iter().map(|run| run.count).sum();
    println!("insert: {took:.1} ns each, {blocks} blocks");
    Ok(())
}
