//! The fault model is shown right: it breaks careless formats and spares careful ones.
//!
//! Three little key-value files go through the crash sweep: a naive one (count first, then data,
//! never a sync), a careful one, and the careful one with one precaution left out at a time. The
//! sweep runs *every* load of three operations over a small alphabet, cuts the power at every crash
//! point, and opens every state that the cut can leave. Nothing is sampled.
//!
//! Oracle: every acknowledged operation is there, the one in flight is there wholly or not at all,
//! and opening a second time changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;

use sim::fs::crash::CrashStates;
use sim::fs::errno::is_power_lost;
use sim::fs::{FileId, FileSystem, ImageHash};

const SECTOR: usize = 512;
/// A crash with more states than this would have to be sampled; the sweep refuses to.
const STATES_MAX: u64 = 100_000;
const CAPACITY: u64 = 1 << 20;
const LOAD_OPERATIONS: u32 = 3;

type Map = BTreeMap<u8, Vec<u8>>;

// Loads

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    /// Key, fill byte and length of the value.
    Put(u8, u8, usize),
    Delete(u8),
    /// Rewrites the file with the live records: temporary file, rename.
    Replace,
}

/// Values of one, two and three sectors, so that records tear in every way.
const ALPHABET: [Op; 6] = [
    Op::Put(b'a', 1, 700),
    Op::Put(b'a', 2, 100),
    Op::Put(b'b', 3, 1200),
    Op::Delete(b'a'),
    Op::Delete(b'b'),
    Op::Replace,
];

fn loads(operations: u32) -> impl Iterator<Item = Vec<Op>> {
    let count = ALPHABET.len().pow(operations);
    (0..count).map(move |number| {
        (0..operations).map(|place| ALPHABET[number / ALPHABET.len().pow(place) % 6]).collect()
    })
}

/// The content of the map before the load and after each of its operations.
fn models(load: &[Op]) -> Vec<Map> {
    let mut models = vec![Map::new()];
    for op in load {
        let mut map = models.last().expect("begins with one").clone();
        match op {
            Op::Put(key, fill, len) => _ = map.insert(*key, vec![*fill; *len]),
            Op::Delete(key) => _ = map.remove(key),
            Op::Replace => {}
        }
        models.push(map);
    }
    models
}

// The careful format

/// A way of storing a map in files that the sweep can run and open again.
trait Format: Copy + fmt::Debug {
    /// Opens the existing file and repairs it, or creates it if there is none.
    fn open(self, fs: &mut FileSystem) -> io::Result<Store>;
    /// Does one operation, which is acknowledged on return.
    fn apply(self, fs: &mut FileSystem, store: &mut Store, op: Op) -> io::Result<()>;
}

struct Store {
    file: FileId,
    map: Map,
    /// End of the last record.
    tail: usize,
    /// The sequence of the next record.
    sequence: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flush {
    DurableWrites,
    WriteThenSync,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    None,
    SkipDataSync,
    SkipDirectorySync,
    RenameBeforeSync,
    NoChecksum,
}

/// Records in whole sectors, each with length, sequence and CRC-32C, in a file of fixed size that
/// was written with zeros; replaced by temporary file, sync, rename, directory sync.
///
/// ```text
///   0    4         12   16  17   18
///   │len │ sequence │ crc │key│kind│ value ... │ zeros to the end of the sector
/// ```
#[derive(Clone, Copy, Debug)]
struct Careful {
    flush: Flush,
    flaw: Flaw,
}

const DIRECTORY: &str = "/db";
const STORE: &str = "/db/store";
const TEMPORARY: &str = "/db/store.tmp";
const STORE_BYTES: usize = 8 * SECTOR;
const RECORD_HEADER_BYTES: usize = 18;
const KIND_PUT: u8 = 1;
const KIND_DELETE: u8 = 2;

impl Format for Careful {
    fn open(self, fs: &mut FileSystem) -> io::Result<Store> {
        if !fs.exists(DIRECTORY) {
            fs.create_dir(DIRECTORY)?;
        }
        self.sync_dir(fs, "/")?;
        if fs.exists(TEMPORARY) {
            fs.remove(TEMPORARY)?;
        }
        if !fs.exists(STORE) {
            self.write_whole(fs, &[0; STORE_BYTES])?;
        }
        self.sync_dir(fs, DIRECTORY)?;
        let file = fs.open(STORE)?;
        let mut bytes = vec![0; STORE_BYTES];
        let len = fs.read(file, 0, &mut bytes)?;
        let mut store = self.scan(file, &bytes[..len]);
        // The rest of a torn record behind the tail must not look like the rest of a successor.
        if bytes[store.tail..].iter().any(|byte| *byte != 0) {
            let zeros = vec![0; STORE_BYTES - store.tail];
            fs.write(file, to_u64(store.tail), &zeros, false)?;
            self.sync(fs, file)?;
        }
        store.file = file;
        Ok(store)
    }

    fn apply(self, fs: &mut FileSystem, store: &mut Store, op: Op) -> io::Result<()> {
        let (key, kind, value) = match op {
            Op::Put(key, fill, len) => (key, KIND_PUT, vec![fill; len]),
            Op::Delete(key) => (key, KIND_DELETE, Vec::new()),
            Op::Replace => return self.replace(fs, store),
        };
        let record = record(store.sequence, key, kind, &value);
        if store.tail + record.len() > STORE_BYTES {
            self.replace(fs, store)?;
        }
        let record = self::record(store.sequence, key, kind, &value);
        let durable = self.flush == Flush::DurableWrites && self.flaw != Flaw::SkipDataSync;
        fs.write(store.file, to_u64(store.tail), &record, durable)?;
        if self.flush == Flush::WriteThenSync {
            self.sync(fs, store.file)?;
        }
        store.tail += record.len();
        store.sequence += 1;
        match kind {
            KIND_PUT => _ = store.map.insert(key, value),
            _ => _ = store.map.remove(&key),
        }
        Ok(())
    }
}

impl Careful {
    fn replace(self, fs: &mut FileSystem, store: &mut Store) -> io::Result<()> {
        let mut bytes = Vec::new();
        for (key, value) in &store.map {
            bytes.extend(record(store.sequence, *key, KIND_PUT, value));
            store.sequence += 1;
        }
        store.tail = bytes.len();
        bytes.resize(STORE_BYTES, 0);
        self.write_whole(fs, &bytes)?;
        self.sync_dir(fs, DIRECTORY)?;
        fs.close(store.file)?;
        store.file = fs.open(STORE)?;
        Ok(())
    }

    /// Writes everything but doesn't sync the directory.
    fn write_whole(self, fs: &mut FileSystem, bytes: &[u8]) -> io::Result<()> {
        let file = fs.create(TEMPORARY)?;
        fs.write(file, 0, bytes, false)?;
        if self.flaw == Flaw::RenameBeforeSync {
            fs.rename(TEMPORARY, STORE)?;
            self.sync_dir(fs, DIRECTORY)?;
            self.sync(fs, file)?;
        } else {
            self.sync(fs, file)?;
            fs.rename(TEMPORARY, STORE)?;
        }
        fs.close(file)
    }

    fn sync(self, fs: &mut FileSystem, file: FileId) -> io::Result<()> {
        if self.flaw == Flaw::SkipDataSync { Ok(()) } else { fs.sync(file) }
    }

    fn sync_dir(self, fs: &mut FileSystem, path: &str) -> io::Result<()> {
        if self.flaw == Flaw::SkipDirectorySync { Ok(()) } else { fs.sync_dir(path) }
    }

    /// Reads records until the first that is not the successor of the previous one.
    fn scan(self, file: FileId, bytes: &[u8]) -> Store {
        let mut store = Store { file, map: Map::new(), tail: 0, sequence: 1 };
        while let Some(found) = self.record_at(&bytes[store.tail..]) {
            if store.tail > 0 && found.sequence != store.sequence {
                break;
            }
            match found.kind {
                KIND_PUT => _ = store.map.insert(found.key, found.value.to_vec()),
                _ => _ = store.map.remove(&found.key),
            }
            store.tail += found.bytes;
            store.sequence = found.sequence + 1;
        }
        store
    }

    fn record_at(self, bytes: &[u8]) -> Option<StoredRecord<'_>> {
        let header = bytes.get(..RECORD_HEADER_BYTES)?;
        let len = usize::try_from(u32_at(header, 0)).expect("32 bits");
        let record = bytes.get(..len)?;
        if len < RECORD_HEADER_BYTES {
            return None;
        }
        if self.flaw != Flaw::NoChecksum && u32_at(header, 12) != checksum(record) {
            return None;
        }
        let sequence = u64::from_le_bytes(header[4..12].try_into().expect("8 bytes"));
        let bytes = len.next_multiple_of(SECTOR);
        let value = &record[RECORD_HEADER_BYTES..];
        Some(StoredRecord { sequence, key: header[16], kind: header[17], value, bytes })
    }
}

struct StoredRecord<'a> {
    sequence: u64,
    key: u8,
    kind: u8,
    value: &'a [u8],
    /// The length with the zeros to the end of the sector.
    bytes: usize,
}

fn record(sequence: u64, key: u8, kind: u8, value: &[u8]) -> Vec<u8> {
    let len = u32::try_from(RECORD_HEADER_BYTES + value.len()).expect("small");
    let mut record = Vec::new();
    record.extend(len.to_le_bytes());
    record.extend(sequence.to_le_bytes());
    record.extend([0; 4]);
    record.extend([key, kind]);
    record.extend(value);
    let crc = checksum(&record);
    record[12..16].copy_from_slice(&crc.to_le_bytes());
    record.resize(record.len().next_multiple_of(SECTOR), 0);
    record
}

/// The checksum over the record without its checksum field.
fn checksum(record: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(&[&record[..12], &record[16..]].concat())
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

fn to_u64(number: usize) -> u64 {
    u64::try_from(number).expect("64 bits")
}

// The naive format

/// A header with a count, then records `len, key, value`; the header is written first, and nothing
/// is ever synced but the empty file.
#[derive(Clone, Copy, Debug)]
struct Naive;

const NAIVE: &str = "/naive";

impl Format for Naive {
    fn open(self, fs: &mut FileSystem) -> io::Result<Store> {
        let new = !fs.exists(NAIVE);
        let file = if new { fs.create(NAIVE)? } else { fs.open(NAIVE)? };
        if new {
            fs.write(file, 0, &[0; STORE_BYTES], false)?;
            fs.sync(file)?;
            fs.sync_dir("/")?;
        }
        let mut bytes = vec![0; STORE_BYTES];
        let len = fs.read(file, 0, &mut bytes)?;
        let mut store = Store { file, map: Map::new(), tail: 4, sequence: 0 };
        let count = if len < 4 { 0 } else { u32_at(&bytes, 0) };
        for _ in 0..count {
            let len = usize::try_from(u32_at(&bytes, store.tail)).expect("32 bits");
            let key = bytes[store.tail + 4];
            let value = bytes[store.tail + 5..store.tail + 5 + len].to_vec();
            store.tail += 5 + len;
            store.sequence += 1;
            if value.is_empty() {
                store.map.remove(&key)
            } else {
                store.map.insert(key, value)
            };
        }
        Ok(store)
    }

    fn apply(self, fs: &mut FileSystem, store: &mut Store, op: Op) -> io::Result<()> {
        let (key, value) = match op {
            Op::Put(key, fill, len) => (key, vec![fill; len]),
            Op::Delete(key) => (key, Vec::new()),
            Op::Replace => return Ok(()),
        };
        store.sequence += 1;
        let count = u32::try_from(store.sequence).expect("small");
        fs.write(store.file, 0, &count.to_le_bytes(), false)?;
        let mut record = u32::try_from(value.len()).expect("small").to_le_bytes().to_vec();
        record.push(key);
        record.extend(&value);
        fs.write(store.file, to_u64(store.tail), &record, false)?;
        store.tail += record.len();
        Ok(())
    }
}

// The sweep

/// A state that breaks the oracle, with the data to reproduce it.
#[derive(Debug)]
struct Violation {
    format: String,
    load: Vec<Op>,
    acknowledged: usize,
    crash_point: u64,
    state: u64,
    fates: String,
    reason: String,
    /// Whether the state differs even from those that shorter loads would have left.
    half_done: bool,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.format)?;
        writeln!(f, "  load        {:?}, {} acknowledged", self.load, self.acknowledged)?;
        writeln!(f, "  crash point {}, state {}", self.crash_point, self.state)?;
        writeln!(f, "  survival    {}", self.fates)?;
        write!(f, "  broken      {}", self.reason)
    }
}

#[derive(Default)]
struct Tally {
    loads: u64,
    crashes: u64,
    states: u64,
    distinct: BTreeSet<ImageHash>,
}

impl Tally {
    fn line(&self) -> String {
        let Tally { loads, crashes, states, distinct } = self;
        format!("{loads} loads, {crashes} crashes, {states} states, {} distinct", distinct.len())
    }
}

/// Runs the load until the power fails. Returns the number of acknowledged operations.
fn run(format: impl Format, fs: &mut FileSystem, load: &[Op]) -> usize {
    let mut acknowledged = 0;
    let result = format.open(fs).and_then(|mut store| {
        for op in load {
            format.apply(fs, &mut store, *op)?;
            acknowledged += 1;
        }
        Ok(())
    });
    match result {
        Ok(()) => fs.cut_power(),
        Err(error) => assert!(is_power_lost(&error), "only the power fails here: {error}"),
    }
    acknowledged
}

/// Opens a state twice. Returns the reason if the oracle is broken.
fn judge(format: impl Format, fs: &mut FileSystem, allowed: &[Map]) -> Result<(), String> {
    let opened = |fs: &mut FileSystem| {
        format.open(fs).map(|store| store.map).map_err(|error| format!("it doesn't open: {error}"))
    };
    let map = opened(fs)?;
    if !allowed.contains(&map) {
        let shown: Vec<String> = allowed.iter().map(show).collect();
        return Err(format!("it holds {}, not {}", show(&map), shown.join(" or ")));
    }
    let hash = fs.image_hash();
    if opened(fs)? != map || fs.image_hash() != hash {
        return Err("opening it a second time changes it".to_owned());
    }
    Ok(())
}

fn show(map: &Map) -> String {
    let runs = |value: &Vec<u8>| {
        let runs = value.chunk_by(|left, right| left == right);
        runs.map(|run| format!("{}x{}", run.len(), run[0])).collect::<Vec<_>>().join("+")
    };
    let pairs = map.iter().map(|(key, value)| format!("{}={}", char::from(*key), runs(value)));
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
}

/// Every crash point of one load, every state of each.
fn sweep_load(format: impl Format, load: &[Op], tally: &mut Tally) -> Result<(), Box<Violation>> {
    let models = models(load);
    tally.loads += 1;
    for crash_point in 1.. {
        let mut fs = FileSystem::new(CAPACITY);
        fs.lose_power_at(crash_point);
        let acknowledged = run(format, &mut fs, load);
        let allowed = &models[acknowledged..(acknowledged + 2).min(models.len())];
        let states = CrashStates::of(&fs);
        tally.crashes += 1;
        for mut state in states.exhaustive(STATES_MAX).expect("few enough to try all") {
            tally.states += 1;
            tally.distinct.insert(state.fs.image_hash());
            if let Err(reason) = judge(format, &mut state.fs.clone(), allowed) {
                let prefixes = &models[..(acknowledged + 2).min(models.len())];
                let half_done = judge(format, &mut state.fs, prefixes).is_err();
                return Err(Box::new(Violation {
                    format: format!("{format:?}"),
                    load: load.to_vec(),
                    acknowledged,
                    crash_point,
                    state: state.number,
                    fates: states.describe(state.number),
                    reason,
                    half_done,
                }));
            }
        }
        if fs.crash_points() < crash_point {
            break;
        }
    }
    Ok(())
}

fn sweep(format: impl Format, operations: u32) -> Result<Tally, Box<Violation>> {
    let mut tally = Tally::default();
    for load in loads(operations) {
        sweep_load(format, &load, &mut tally)?;
    }
    Ok(tally)
}

// The claims

/// Acknowledged data is lost, and half of an operation shows: the count is a promise that the data
/// doesn't keep.
#[test]
fn the_naive_format_breaks() {
    let first = sweep(Naive, LOAD_OPERATIONS).err().expect("the naive format breaks somewhere");
    println!("first broken state: {first}");
    let half_done = loads(LOAD_OPERATIONS)
        .filter_map(|load| sweep_load(Naive, &load, &mut Tally::default()).err())
        .find(|violation| violation.half_done)
        .expect("some state shows half of an operation");
    println!("first half-done state: {half_done}");
}

#[test]
fn the_careful_format_with_durable_writes_survives_every_crash_state() {
    let format = Careful { flush: Flush::DurableWrites, flaw: Flaw::None };
    let tally = sweep(format, LOAD_OPERATIONS).unwrap_or_else(|violation| panic!("{violation}"));
    println!("durable writes: {}", tally.line());
    assert_eq!(tally.line(), "216 loads, 2813 crashes, 21224 states, 635 distinct");
}

#[test]
fn the_careful_format_with_write_and_sync_survives_every_crash_state() {
    let format = Careful { flush: Flush::WriteThenSync, flaw: Flaw::None };
    let tally = sweep(format, LOAD_OPERATIONS).unwrap_or_else(|violation| panic!("{violation}"));
    println!("write and sync: {}", tally.line());
    assert_eq!(tally.line(), "216 loads, 3353 crashes, 23168 states, 635 distinct");
}

/// Crash, and crash again at every point of the recovery from every distinct state.
#[test]
fn the_careful_format_survives_every_crash_of_its_recovery() {
    let format = Careful { flush: Flush::WriteThenSync, flaw: Flaw::None };
    let mut tally = Tally::default();
    for load in loads(2) {
        let models = models(&load);
        tally.loads += 1;
        for crash_point in 1.. {
            let mut fs = FileSystem::new(CAPACITY);
            fs.lose_power_at(crash_point);
            let acknowledged = run(format, &mut fs, &load);
            let allowed = &models[acknowledged..(acknowledged + 2).min(models.len())];
            let states = CrashStates::of(&fs);
            let mut seen = BTreeSet::new();
            for state in states.exhaustive(STATES_MAX).expect("few enough to try all") {
                if seen.insert(state.fs.image_hash()) {
                    crash_recovery(format, &state.fs, allowed, &mut tally);
                }
            }
            if fs.crash_points() < crash_point {
                break;
            }
        }
    }
    println!("recovery: {}", tally.line());
    assert_eq!(tally.line(), "36 loads, 6986 crashes, 46026 states, 108 distinct");
}

fn crash_recovery(format: Careful, crashed: &FileSystem, allowed: &[Map], tally: &mut Tally) {
    for crash_point in 1.. {
        let mut fs = crashed.clone();
        fs.lose_power_at(crash_point);
        run(format, &mut fs, &[]);
        tally.crashes += 1;
        let states = CrashStates::of(&fs);
        for mut state in states.exhaustive(STATES_MAX).expect("few enough to try all") {
            tally.states += 1;
            tally.distinct.insert(state.fs.image_hash());
            if let Err(reason) = judge(format, &mut state.fs, allowed) {
                panic!("recovery, crash point {crash_point}: {reason}");
            }
        }
        if fs.crash_points() < crash_point {
            break;
        }
    }
}

/// The violation that the sweep finds when one precaution is left out.
fn caught(flush: Flush, flaw: Flaw) -> Box<Violation> {
    let format = Careful { flush, flaw };
    let violation = sweep(format, LOAD_OPERATIONS).err();
    let violation = violation.unwrap_or_else(|| panic!("{flaw:?} is not caught with {flush:?}"));
    println!("{violation}");
    assert!(violation.format.contains(&format!("{flaw:?}")));
    violation
}

#[test]
fn skipping_the_data_sync_is_caught() {
    for flush in [Flush::DurableWrites, Flush::WriteThenSync] {
        let violation = caught(flush, Flaw::SkipDataSync);
        assert!(violation.acknowledged > 0, "an acknowledged operation is lost");
    }
}

#[test]
fn skipping_the_directory_sync_is_caught() {
    for flush in [Flush::DurableWrites, Flush::WriteThenSync] {
        let violation = caught(flush, Flaw::SkipDirectorySync);
        assert!(violation.acknowledged > 0, "an acknowledged operation is lost");
        assert!(violation.fates.contains("dropped"), "a name was lost, not a write");
    }
}

#[test]
fn renaming_before_the_sync_is_caught() {
    for flush in [Flush::DurableWrites, Flush::WriteThenSync] {
        let violation = caught(flush, Flaw::RenameBeforeSync);
        assert!(violation.load.contains(&Op::Replace) || violation.acknowledged == 2);
    }
}

#[test]
fn accepting_torn_records_for_want_of_a_checksum_is_caught() {
    for flush in [Flush::DurableWrites, Flush::WriteThenSync] {
        let violation = caught(flush, Flaw::NoChecksum);
        assert!(violation.half_done, "half of a value is taken for the whole");
    }
}
