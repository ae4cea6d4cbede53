//! The promise about formats, kept: a whole database of each format, shut in good order and
//! crashed, opens, is in order, has every row, and can be changed.
//!
//! ```text
//!   golden/format5.shut, .crashed    the files of a database, packed (`packed`)
//!   golden/format5.txt               what is in both: tables, rows, indexes, as text
//! ```
//!
//! Its dictionary has version 1 (rule catalog/DC32), and it must open in every later program, and
//! keep that version until a statement needs another.
//!
//! A golden database is written by a simulated machine (`made`), from a fixed seed, so it can be
//! written again: the newest one has to be the same, byte for byte, as what is written today. So
//! nobody changes the format without noticing, here or in a row's bytes, a key's, in redo or undo.
//!
//! When that fails, there are two cases.
//!
//! * Layouts have changed: that needs another format (rule format/F6). While the newest one isn't
//!   released it may be written anew:
//!   `cargo run -p proof --example golden`
//! * Only what the engine does is another (another order, other sizes, another time): the same,
//!   while the format isn't released. Once it is, its golden files stay as they are and go on
//!   opening; what is written today is then kept beside them, to be compared.
#![forbid(unsafe_code)]

#[path = "golden/made.rs"]
mod made;
#[path = "golden/packed.rs"]
mod packed;

use catalog::{DICTIONARY_VERSION, DICTIONARY_VERSION_FIRST, Dependency, ObjectId, ViewSpec};
use database::{Database, Value};
use format::{BlockHeader, BlockKind, FORMAT};
use os::Session;
use sim::World;
use sim::fs::FileSystem;

use made::{Files, directory, ended, file_options, files_of, machine, options};

/// A golden database.
#[derive(Clone, Copy)]
struct Golden {
    format: u8,
    /// The version of its dictionary.
    version: u32,
    shut: &'static [u8],
    crashed: &'static [u8],
    /// What is in it.
    text: &'static str,
}

const GOLDEN: [Golden; 2] = [
    Golden {
        format: 5,
        version: DICTIONARY_VERSION_FIRST,
        shut: include_bytes!("golden/format5.shut"),
        crashed: include_bytes!("golden/format5.crashed"),
        text: include_str!("golden/format5.txt"),
    },
    Golden {
        format: 5,
        version: 2,
        shut: include_bytes!("golden/format5.dictionary2.shut"),
        crashed: include_bytes!("golden/format5.dictionary2.crashed"),
        text: include_str!("golden/format5.dictionary2.txt"),
    },
];

/// The one of the first version of the dictionary.
const FIRST: Golden = GOLDEN[0];

/// Bytes of its blocks.
const BLOCK: usize = 2_048;

const ANEW: &str = "if layouts have changed, that needs another format, unless this one isn't \
                    released yet; the head of this test says what to do";

#[test]
fn a_database_of_every_format_opens_and_has_every_row() {
    for Golden { format, version, shut, crashed, text } in GOLDEN {
        for (name, packed, recovers) in [("shut", shut, false), ("crashed", crashed, true)] {
            let what = format!("format {format}, dictionary {version}, {name}");
            let files = packed::unpacked(packed);
            let said = BlockHeader::at(&files["control01.ctl"], 0).format();
            assert_eq!(said, format, "{what}");
            let found = opened(files, &what);
            assert_eq!(found.text, text, "{what}");
            assert_eq!(found.recovered, (recovers, recovers), "{what}: applied, rolled back");
            assert_eq!(found.version, version, "{what}: it is as it was");
        }
    }
}

#[test]
fn a_dictionary_of_the_newest_version_has_what_came_with_it() {
    let Golden { version, text, .. } = &GOLDEN[GOLDEN.len() - 1];
    assert_eq!(*version, DICTIONARY_VERSION, "a new version needs a golden database");
    for wanted in ["view item_names", "external table lines", "comment on item", "statistics"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}

#[test]
fn the_newest_format_is_written_byte_for_byte_as_its_golden_database() {
    is_written_as(&FIRST, made::databases());
    is_written_as(&GOLDEN[GOLDEN.len() - 1], made::databases_of_texts());
}

/// Databases that are made today, shut and crashed, have the bytes of the golden ones.
fn is_written_as(golden: &Golden, (now_shut, now_crashed): (FileSystem, FileSystem)) {
    let Golden { format, shut, crashed, text, .. } = *golden;
    assert_eq!(format, FORMAT, "a new format needs a golden database, here");
    assert_eq!(made::text_of(now_shut.clone()), text);
    for (name, golden, now) in [("shut", shut, now_shut), ("crashed", crashed, now_crashed)] {
        let (packed, golden, now) = (golden, packed::unpacked(golden), files_of(now));
        assert_eq!(golden.keys().collect::<Vec<_>>(), now.keys().collect::<Vec<_>>(), "{name}");
        let differ = |(file, bytes): (&String, &Vec<u8>)| {
            let golden = &golden[file];
            let at = golden.iter().zip(bytes).position(|(one, other)| one != other);
            let length = (golden.len() != bytes.len()).then(|| golden.len().min(bytes.len()));
            at.or(length).map(|at| format!("{file} from byte {at} on"))
        };
        let differ: Vec<String> = now.iter().filter_map(differ).collect();
        assert!(differ.is_empty(), "{name}: {} isn't as it was: {ANEW}", differ.join(", "));
        assert!(packed::packed(&now) == packed, "{name}: what is packed is unpacked");
    }
}

/// What lies in pieces, what has moved and what goes on is there, in heaps as they lie on disk.
#[test]
fn a_golden_database_has_rows_of_every_kind() {
    let Golden { shut, crashed, .. } = FIRST;
    for packed in [shut, crashed] {
        let files = packed::unpacked(packed);
        let is_heap = |block: &&[u8]| {
            block.iter().any(|byte| *byte != 0)
                && BlockHeader::at(block, 0).kind() == BlockKind::Heap
                && access::check_heap_block(block).is_ok()
        };
        let blocks = files["data01.dbf"].chunks(BLOCK).filter(is_heap);
        let slots: Vec<_> = blocks.flat_map(access::heap_slots).collect();
        let whole = slots.iter().filter(|slot| slot.is_row && slot.next.is_none()).count();
        let goes_on: Vec<_> =
            slots.iter().filter(|slot| slot.is_row && slot.next.is_some()).collect();
        let moved = goes_on.iter().filter(|slot| slot.data.is_empty()).count();
        let pieces = slots.iter().filter(|slot| !slot.is_row && slot.next.is_some()).count();
        assert!(whole > 50 && moved > 2 && pieces > 2, "{moved} moved, {pieces} pieces");
        assert!(goes_on.len() > moved, "some begin where they are, and go on elsewhere");
    }
}

fn write_files(world: &World, files: &Files, session: &Session) {
    let disk = world.disk();
    disk.create_dir(directory(), session).expect("created");
    for (name, bytes) in files {
        let path = directory().join(name);
        let file = disk.create(&path, bytes.len() as u64, file_options(), session);
        let waiting = session.waiting(waits::WaitEvent::DataFileInitWrite);
        let file = file.expect("created");
        file.write_at(0, &os::IoBuf::copy_of(bytes), waiting).expect("written");
    }
}

/// What was found in a database that was opened.
struct Found {
    /// What is in it.
    text: String,
    /// Whether redo was applied, and whether transactions were rolled back.
    recovered: (bool, bool),
    /// The version of its dictionary.
    version: u32,
}

/// Opens the database of these files, and looks at it. Then tables are changed; before and after
/// that the database is verified.
fn opened(files: Files, what: &str) -> Found {
    let name = what.to_string();
    let report = machine(5, FileSystem::new(1 << 30)).run(move |world, session| {
        write_files(world, &files, session);
        let disk = world.disk();
        let open = || {
            let opened = Database::open_in(&disk, directory(), &options(), session);
            opened.unwrap_or_else(|stop| panic!("{name}: it doesn't open: {stop}"))
        };
        let database = open();
        let opened = database.instance().opened();
        let recovered = (opened.recovered.applied > 0, opened.rolled_back > 0);
        let text = made::text(&database, session);
        let version = database.catalog().dictionary_version(session);
        database.shutdown_by(session).expect("shut in good order");
        verify(world, &name, session);
        let database = open();
        change(&database, session);
        assert_ne!(made::text(&database, session), text, "{name}: it can be changed");
        database.shutdown_by(session).expect("shut in good order");
        verify(world, &name, session);
        Found { text, recovered, version }
    });
    ended(report, what)
}

fn verify(world: &World, name: &str, session: &Session) {
    let mut findings = Vec::new();
    let tell = &mut |finding: &verify::Finding| findings.push(finding.to_string());
    let mut task =
        verify::Task { pairs: &[], told_max: verify::TOLD_MAX, tell, go_on: &mut |_| true };
    let report = verify::closed(&world.disk(), directory(), file_options(), &mut task, session);
    let report = report.unwrap_or_else(|stop| panic!("{name}: {stop}"));
    assert!(report.is_clean(), "{name}: {findings:#?}\n{report}");
}

/// Changes rows that are whole, that lie in pieces and that have moved; inserts and deletes.
fn change(database: &Database, session: &Session) {
    let mut connection = database.connect_with(session);
    let item = connection.table("item").expect("there");
    let mut tx = connection.begin();
    for id in (0..made::ROWS).filter(|id| id % 9 != 4) {
        let longer = "z".repeat(1_000);
        let key = [Value::Int(id)];
        let changed = tx.update(&item, &key, |_, row| row.set(4, Value::Text(&longer)));
        assert!(changed.expect("changed"), "there is row {id}");
    }
    for id in (0..made::ROWS).filter(|id| id % 9 == 5) {
        assert!(tx.delete(&item, &[Value::Int(id)]).expect("deleted"), "there is row {id}");
    }
    tx.commit().expect("committed");
    let every = connection.table("every_type").expect("there");
    let mut tx = connection.begin();
    let mut row = made::row_of_every_type(2);
    row[0] = Value::Int(1_000);
    tx.insert(&every, &row).expect("inserted");
    tx.commit().expect("committed");
    drop(connection);
    let catalog = database.catalog();
    let sequence = catalog.sequence("ticket", session).expect("there");
    let next = catalog.next_value(&sequence, session).expect("a value");
    assert!(next > made::TICKETS, "{next} was given before");
    let kind = catalog.table("kind", session).expect("there");
    let spec = ViewSpec {
        name: "kind_names".into(),
        text: "select name from kind".into(),
        columns: vec!["name".into()],
        depends_on: vec![Dependency { object: ObjectId::Table(kind.object), columns: vec![1] }],
        bound_in: catalog.generation(session),
        replace: false,
        retyped: vec![],
    };
    catalog.create_view(&spec, session).expect("its dictionary gets what it needs");
    assert_eq!(catalog.dictionary_version(session), DICTIONARY_VERSION);
}
