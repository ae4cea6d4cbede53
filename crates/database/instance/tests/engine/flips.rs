//! Each byte of each kind of header flipped: reading finds it, and says in which file and block. No
//! panic, and nothing is used that isn't as it was sealed.

use instance::{Instance, Transaction};
use os::Session;
use sim::fs::FileSystem;

use crate::common::{
    TABLE, abort, add, bytes_of, database, directory, ended, machine, open, parameters, put, rows,
    run_kept,
};
use crate::rows::Rows;

const BLOCK: u64 = 2048;
/// Bytes from a block's start: the header of every block, and that of its kind behind it.
const HEADERS: u64 = 96;

/// The file with one byte changed.
fn flipped(base: &FileSystem, path: &str, at: u64) -> FileSystem {
    let mut disk = base.clone();
    let file = disk.open(path).expect("there");
    let mut byte = [0];
    disk.read(file, at, &mut byte).expect("read");
    disk.write(file, at, &[!byte[0]], true).expect("written");
    disk.close(file).expect("it is open");
    disk
}

/// What opening, and then reading everything, says; nothing if it finds nothing wrong.
fn reads(disk: FileSystem, what: &str) -> Option<String> {
    let report = machine(1, disk).run(|world, session| {
        let opened = Instance::open(&world.disk(), directory(), &parameters(), session);
        let instance = opened.map_err(|stop| stop.to_string())?;
        let read = read_all(&instance, session);
        instance.abort(session);
        read
    });
    ended(report, what).err()
}

fn read_all(instance: &Instance, session: &Session) -> Result<(), String> {
    let table = Rows::open(instance, TABLE, session).map_err(|stop| stop.to_string())?;
    table.scan(|_, _| {}, session).map_err(|stop| stop.to_string())?;
    instance.space().check(session)?;
    instance.transactions().undo().check(session)
}

/// Flips bytes of the block that begins at `start`, each in turn.
fn all_found(base: &FileSystem, path: &str, start: u64, names: &[&str]) {
    for at in (0..HEADERS).chain([BLOCK - 1]) {
        let what = format!("byte {at} of the block at {start} of {path}");
        let text = reads(flipped(base, path, start + at), &what)
            .unwrap_or_else(|| panic!("{what}: it is used"));
        assert!(names.iter().any(|name| text.contains(name)), "{what}: '{text}'");
        assert!(!text.contains('\n'), "{what}: {text}");
    }
}

/// Every kind of block in a data file: its header, the map, the directory, segment headers, undo
/// and rows.
#[test]
fn a_flipped_byte_of_a_data_block_is_found() {
    let base = database(16 * 4);
    let mut blocks = Vec::new();
    let mut disk = base.clone();
    let file = disk.open("/db/data01.dbf").expect("there");
    let mut seen = std::collections::BTreeMap::new();
    for block in 0..64 {
        let mut bytes = vec![0; BLOCK as usize];
        disk.read(file, block * BLOCK, &mut bytes).expect("read");
        // Two of each kind; what was never written has none.
        // Its checksum was right when it was read by the database.
        let kind = bytes[4];
        let count = seen.entry(kind).or_insert(0);
        if bytes.iter().any(|byte| *byte != 0) && *count < 2 {
            *count += 1;
            blocks.push((block, kind));
        }
    }
    println!("{blocks:?}");
    assert!(seen.len() >= 6, "{seen:?}");
    for (block, _) in blocks {
        let (name, path) = (format!("file 1 block {block} "), "/db/data01.dbf");
        all_found(&base, path, block * BLOCK, &[&name, path]);
    }
}

/// Of the control file one copy is enough; with both broken it is refused by name.
#[test]
fn a_flipped_byte_of_the_control_file_is_found() {
    let base = database(16);
    let paths = ["/db/control01.ctl", "/db/control02.ctl"];
    for at in (0..HEADERS).chain([32_767]) {
        let one = flipped(&base, paths[(at % 2) as usize], at);
        if let Some(text) = reads(one.clone(), "one copy") {
            // A later format is refused also if the other copy is whole: its writer knew more.
            assert!(text.contains("control0"), "byte {at}: {text}");
        }
        let text = reads(flipped(&one, paths[((at + 1) % 2) as usize], at), "both copies")
            .unwrap_or_else(|| panic!("byte {at}: it is used"));
        assert!(text.contains("control0"), "byte {at}: {text}");
    }
}

/// The header of the log that recovery needs, and a block of it that was durable.
#[test]
fn a_flipped_byte_of_redo_is_found() {
    let base = database(16);
    let (at, base) = run_kept(machine(1, base), |world, session| {
        let instance = open(world, session);
        let table = Rows::open(&instance, TABLE, session).expect("there");
        let all = rows(&table, session);
        for row in all {
            let mut transaction = Transaction::new();
            add(&table, &mut transaction, row, 1, session).expect("changed");
            instance.commit(transaction, session).expect("committed");
        }
        let at = instance.redo().position(session);
        drop(table);
        abort(instance, session);
        at
    });
    assert!(at.block > 8, "{at}");
    let path = format!("/db/redo{:02}.log", (at.sequence - 1) % 3 + 1);
    for block in [0, 1, 4] {
        for byte in (0..HEADERS).chain([4_095]) {
            let what = format!("byte {byte} of block {block} of {path}");
            let text = reads(flipped(&base, &path, block * 4096 + byte), &what)
                .unwrap_or_else(|| panic!("{what}: it is used"));
            let names = text.contains("redo") || text.contains(&path);
            let place = text.contains("block") || text.contains("group");
            assert!(names && place, "{what}: {text}");
        }
    }
}

/// All redo lies below the checkpoint: it may be anything.
#[test]
fn a_database_that_was_shut_needs_no_redo_below_its_checkpoint() {
    let mut disk = database(16);
    for group in 1..=3 {
        let path = format!("/db/redo0{group}.log");
        let mut bytes = bytes_of(&mut disk, &path);
        bytes.chunks_mut(4096).skip(1).for_each(|block| block[200] ^= 1);
        put(&mut disk, &path, &bytes);
    }
    assert_eq!(reads(disk, "redo that nobody needs has rotted"), None);
}
