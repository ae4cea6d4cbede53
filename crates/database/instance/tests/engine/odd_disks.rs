//! A database on disks that aren't alike: some do no direct I/O, or want longer pieces for it, or
//! fail one read, or tell what a probe's result depends on.

use std::any::Any;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use ids::BlockSize;
use instance::{
    Creation, DataFileSpec, Instance, LogChange, Parameters, TablespaceSpec, Transaction,
};
use os::probe::DurableWrite;
use os::{
    Alignment, Cause, Disk, DiskPort, Error, FileOptions, FilePort, FilesystemIo, OpenMode,
    RingPort, Session,
};
use sim::World;
use sim::fs::FileSystem;
use waits::{Nanos, WaitEvent};

use crate::common::{
    self, CAPACITY, TABLE, abort, add, creation, database, directory, ended, fill, machine, open,
    pause, rows, run, shut, start,
};
use crate::rows::Rows;

/// A disk that is in some places other than elsewhere.
#[derive(Clone)]
struct Odd {
    inner: Arc<dyn DiskPort>,
    /// Below this no direct I/O.
    no_direct: &'static str,
    /// Below this direct I/O wants 4 KiB.
    coarse: &'static str,
    /// A read of the first byte of this file fails once, when armed.
    header: (&'static str, Arc<AtomicBool>),
    /// A write of the first byte of this file takes as long as this is armed.
    stalls: (&'static str, Arc<AtomicBool>),
    has_ring: bool,
    /// What it says of its surroundings, if it can tell.
    surroundings: Option<Arc<AtomicU64>>,
    /// How often a file was made for a probe.
    probes: Arc<AtomicU64>,
}

impl Odd {
    fn of(world: &World) -> Odd {
        let inner = Arc::clone(world.disk().port());
        let header = ("-", Arc::new(AtomicBool::new(false)));
        let stalls = ("-", Arc::new(AtomicBool::new(false)));
        let (surroundings, probes) = (None, Arc::default());
        let (no_direct, coarse, has_ring) = ("-", "-", true);
        Odd { inner, no_direct, coarse, header, stalls, has_ring, surroundings, probes }
    }

    fn disk(&self) -> Disk {
        Disk::new(Arc::new(self.clone()))
    }
}

#[derive(Debug)]
struct OddFile {
    inner: Arc<dyn FilePort>,
    unit: u32,
    fails: Option<Arc<AtomicBool>>,
    stalls: Option<Arc<AtomicBool>>,
}

impl FilePort for OddFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8], event: WaitEvent) -> io::Result<usize> {
        if let Some(fails) = &self.fails
            && offset == 0
            && fails.swap(false, SeqCst)
        {
            return Err(io::Error::from_raw_os_error(5));
        }
        self.inner.read_at(offset, buffer, event)
    }
    fn write_at(&self, offset: u64, buffer: &[u8], event: WaitEvent) -> io::Result<usize> {
        if let Some(stalls) = &self.stalls
            && offset == 0
        {
            while stalls.load(SeqCst) {
                // Time passes.
                self.inner.sync(event)?;
            }
        }
        self.inner.write_at(offset, buffer, event)
    }
    fn sync(&self, event: WaitEvent) -> io::Result<()> {
        self.inner.sync(event)
    }
    fn length(&self) -> io::Result<u64> {
        self.inner.length()
    }
    fn set_len(&self, length: u64, event: WaitEvent) -> io::Result<()> {
        self.inner.set_len(length, event)
    }
    fn try_lock(&self) -> io::Result<bool> {
        self.inner.try_lock()
    }
    fn identity(&self) -> io::Result<(u64, u64)> {
        self.inner.identity()
    }
    fn alignment(&self) -> Alignment {
        let inner = self.inner.alignment();
        Alignment { memory: inner.memory, offset: inner.offset.max(self.unit) }
    }
    fn as_any(&self) -> &dyn Any {
        self.inner.as_any()
    }
}

impl DiskPort for Odd {
    fn open(
        &self,
        path: &Path,
        mode: OpenMode,
        options: FileOptions,
        event: WaitEvent,
    ) -> io::Result<Arc<dyn FilePort>> {
        if options.direct && path.starts_with(self.no_direct) {
            return Err(io::Error::from_raw_os_error(22));
        }
        let inner = self.inner.open(path, mode, options, event)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if mode == OpenMode::CreateNew && name.starts_with("probe-") {
            self.probes.fetch_add(1, SeqCst);
        }
        if self.has_ring {
            return Ok(inner);
        }
        let unit = if options.direct && path.starts_with(self.coarse) { 4096 } else { 1 };
        let fails = path.ends_with(self.header.0).then(|| Arc::clone(&self.header.1));
        let stalls = path.ends_with(self.stalls.0).then(|| Arc::clone(&self.stalls.1));
        Ok(Arc::new(OddFile { inner, unit, fails, stalls }))
    }
    fn create_dir(&self, path: &Path, event: WaitEvent) -> io::Result<()> {
        self.inner.create_dir(path, event)
    }
    fn sync_dir(&self, path: &Path, event: WaitEvent) -> io::Result<()> {
        self.inner.sync_dir(path, event)
    }
    fn rename(&self, from: &Path, to: &Path, event: WaitEvent) -> io::Result<()> {
        self.inner.rename(from, to, event)
    }
    fn remove(&self, path: &Path, event: WaitEvent) -> io::Result<()> {
        self.inner.remove(path, event)
    }
    fn look_up(&self, path: &Path, event: WaitEvent) -> io::Result<Option<os::NameKind>> {
        self.inner.look_up(path, event)
    }
    fn list(&self, path: &Path, event: WaitEvent) -> io::Result<Vec<String>> {
        self.inner.list(path, event)
    }
    fn canonical(&self, directory: &Path) -> io::Result<PathBuf> {
        self.inner.canonical(directory)
    }
    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        self.inner.free_bytes(path)
    }
    fn surroundings(&self, _: &Path) -> Option<String> {
        self.surroundings.as_ref().map(|told| told.load(SeqCst).to_string())
    }
    fn ring(&self, depth: u32) -> Result<Box<dyn RingPort>, Error> {
        if self.has_ring {
            return self.inner.ring(depth);
        }
        Err(Error::new("use a ring", Cause::IoUringUnavailable, "it has none"))
    }
}

fn change(name: &str, value: &str) -> LogChange {
    LogChange::read(name, value).expect("it is one").expect("it can be read")
}

/// So many logs are begun, each with a commit and followed by a checkpoint.
fn switches(instance: &Instance, count: u32, session: &Session) {
    for _ in 0..count {
        instance.redo().switch(session).expect("free");
        let table = Rows::open(instance, TABLE, session).expect("there");
        let row = rows(&table, session)[0];
        let mut transaction = Transaction::new();
        add(&table, &mut transaction, row, 1, session).expect("no deadlock");
        instance.commit(transaction, session).expect("committed");
        instance.checkpoint(session).expect("no halt");
        pause(Nanos::from_secs(4), session);
    }
}

/// A redo log group on a file system without direct I/O, of a database whose redo is written with
/// it, is refused; that is no halt, and the database can be opened again.
#[test]
fn a_log_group_is_refused_where_redo_can_not_be_written_directly() {
    let (added, halted, left) = run(machine(1, database(8)), |world, session| {
        world.disk().create_dir(Path::new("/plain"), session).expect("made");
        let disk = Odd { no_direct: "/plain", ..Odd::of(world) }.disk();
        let instance = Instance::open(&disk, directory(), &common::parameters(), session);
        let instance = instance.expect("it opens");
        let added = instance.change_logs(&change("add_log_group", "220k:/plain/x.log"), session);
        let halted = instance.halt().cause(session).map(|cause| cause.to_string());
        let left = world.disk().list(Path::new("/plain"), session).expect("listed");
        instance.abort(session);
        drop(instance);
        Instance::open(&disk, directory(), &common::parameters(), session)
            .expect("it opens again")
            .abort(session);
        (added.map_err(|stop| stop.to_string()), halted, left)
    });
    assert_eq!((halted, left), (None, vec![]));
    let text = added.expect_err("refused");
    assert!(text.contains("/plain/x.log") && text.contains("redo_write"), "{text}");
}

/// So is a member; and the group goes on with those that it has.
#[test]
fn a_log_member_is_refused_where_redo_can_not_be_written_directly() {
    let (added, members) = run(machine(1, database(8)), |world, session| {
        world.disk().create_dir(Path::new("/plain"), session).expect("made");
        let disk = Odd { no_direct: "/plain", ..Odd::of(world) }.disk();
        let instance = Instance::open(&disk, directory(), &common::parameters(), session);
        let instance = Arc::new(instance.expect("it opens"));
        let added = instance.change_logs(&change("add_log_member", "1:/plain/x.log"), session);
        switches(&instance, 4, session);
        let members = instance.log_groups(session)[0].members.len();
        shut(instance, session);
        (added.map_err(|stop| stop.to_string()), members)
    });
    assert_eq!(members, 1);
    let text = added.expect_err("refused");
    assert!(text.contains("/plain/x.log") && text.contains("redo_write"), "{text}");
}

/// A member that can't be used again when a log begins in its group stays invalid, and why is said
/// once, not at each switch.
#[test]
fn why_a_member_stays_invalid_is_said_once() {
    let report = machine(1, database(8)).run(|world, session| {
        let plain =
            Parameters { redo_write: Some(DurableWrite::BufferedThenSync), ..common::parameters() };
        world.disk().create_dir(Path::new("/plain"), session).expect("made");
        let disk = Odd { no_direct: "/plain", ..Odd::of(world) }.disk();
        let instance = Instance::open(&disk, directory(), &plain, session).expect("it opens");
        let added = instance.change_logs(&change("add_log_member", "1:/plain/x.log"), session);
        added.expect("it can be written in this way");
        instance.abort(session);
        drop(instance);
        let instance = Instance::open(&disk, directory(), &common::parameters(), session);
        let instance = Arc::new(instance.expect("it opens"));
        switches(&instance, 9, session);
        let members = instance.log_groups(session)[0].members.clone();
        shut(instance, session);
        members.iter().map(|(_, good)| *good).collect::<Vec<_>>()
    });
    let notices = report.notices.clone();
    assert_eq!(ended(report, "a member that can't be used"), [true, false]);
    let told: Vec<_> = notices.iter().filter(|said| said.contains("/plain/x.log")).collect();
    assert!(told.len() == 1 && told[0].contains("redo_write"), "{notices:?}");
}

/// A tablespace of 2 KiB blocks lies on a disk where direct I/O is a matter of 512 bytes; the
/// doublewrite file on one where it is one of 4 KiB.
#[test]
fn copies_are_written_where_direct_io_wants_longer_pieces_than_at_home() {
    let (written, again) = run(machine(1, FileSystem::new(CAPACITY)), |world, session| {
        world.disk().create_dir(Path::new("/other"), session).expect("made");
        let disk = Odd { coarse: "/db", has_ring: false, ..Odd::of(world) }.disk();
        let creation = Creation {
            db_block_size: BlockSize::KIB_8,
            data_bytes: 100 * 8192,
            undo_bytes: 32 * 8192,
            undo_bytes_max: 100 * 8192,
            undo_growth_bytes: 8 * 8192,
            ..creation()
        };
        let parameters = Parameters {
            db_cache_size: 32 * 8192,
            db_2k_cache_size: 32 * 2048,
            filesystemio_options: FilesystemIo::DirectIo,
            ..common::parameters()
        };
        Instance::create(&disk, directory(), &creation, &parameters, session).expect("created");
        let instance = Instance::open(&disk, directory(), &parameters, session).expect("opened");
        let file = DataFileSpec {
            path: "/other/small.dbf".to_string(),
            bytes: 64 * 2048,
            bytes_max: 0,
            growth_bytes: 0,
        };
        let spec = TablespaceSpec {
            name: "small".to_string(),
            block_size: BlockSize::KIB_2,
            extent_blocks: 4,
            files: vec![file],
        };
        instance.create_tablespace(&spec, session).expect("made");
        let table = Rows::create_within(&instance, ("small", "u"), session).expect("made");
        fill(&instance, &table, 40, session);
        let written = instance.checkpoint(session).map_err(|stop| stop.to_string());
        drop(table);
        instance.abort(session);
        drop(instance);
        let again = Instance::open(&disk, directory(), &parameters, session);
        let again = again.map(|instance| instance.abort(session)).map_err(|stop| stop.to_string());
        (written, again)
    });
    assert_eq!((written, again), (Ok(()), Ok(())));
}

/// Buffers for blocks of 2 KiB, which no file has, on a disk whose direct I/O is a matter of 4 KiB.
#[test]
fn buffers_for_short_blocks_do_no_harm_where_direct_io_wants_longer_pieces() {
    let report = machine(1, FileSystem::new(CAPACITY)).run(|world, session| {
        let disk = Odd { coarse: "/db", has_ring: false, ..Odd::of(world) }.disk();
        let creation = Creation {
            db_block_size: BlockSize::KIB_8,
            data_bytes: 100 * 8192,
            undo_bytes: 32 * 8192,
            undo_bytes_max: 100 * 8192,
            undo_growth_bytes: 8 * 8192,
            ..creation()
        };
        let parameters = Parameters {
            db_cache_size: 32 * 8192,
            sga_max_size: 64 * 8192,
            filesystemio_options: FilesystemIo::DirectIo,
            ..common::parameters()
        };
        Instance::create(&disk, directory(), &creation, &parameters, session).expect("created");
        let instance = Instance::open(&disk, directory(), &parameters, session).expect("opened");
        let table = Rows::create(&instance, TABLE, session).expect("made");
        fill(&instance, &table, 40, session);
        instance.checkpoint(session).expect("it can be written");
        let set = instance.set_parameter("db_2k_cache_size", "64k", session);
        let set = set.map_err(|stop| stop.to_string());
        fill(&instance, &table, 40, session);
        let written = instance.checkpoint(session).map_err(|stop| stop.to_string());
        drop(table);
        instance.abort(session);
        (set, written)
    });
    assert_eq!(ended(report, "coarse"), (Ok(()), Ok(())));
}

/// While the header of a log is being written, the group's invalid member is dropped, and a new
/// file of that name becomes a member of another group.
#[test]
fn a_member_that_changes_its_group_while_a_log_begins_is_not_good() {
    let (good, is_refused) = run(machine(1, database(8)), |world, session| {
        let odd = Odd { has_ring: false, stalls: ("redo01.log", Arc::default()), ..Odd::of(world) };
        let parameters =
            Parameters { filesystemio_options: FilesystemIo::DirectIo, ..common::parameters() };
        let instance = Instance::open(&odd.disk(), directory(), &parameters, session);
        let instance = Arc::new(instance.expect("opened"));
        let table = Rows::open(&instance, TABLE, session).expect("there");
        let row = rows(&table, session)[0];
        let commit = move |instance: &Instance, session: &Session| {
            let table = Rows::open(instance, TABLE, session).expect("there");
            let mut transaction = Transaction::new();
            add(&table, &mut transaction, row, 1, session).expect("no deadlock");
            instance.commit(transaction, session).map_err(|stop| stop.to_string())
        };
        drop(table);
        let views = |session: &Session| instance.log_groups(session);
        commit(&instance, session).expect("no halt");
        // Until group 1 is next.
        loop {
            let views = views(session);
            let oldest = views.iter().min_by_key(|view| view.sequence).expect("three").number;
            if oldest == 1 && views.iter().max_by_key(|v| v.sequence).expect("three").number != 2 {
                break;
            }
            instance.redo().switch(session).expect("free");
            commit(&instance, session).expect("no halt");
            instance.checkpoint(session).expect("no halt");
            pause(Nanos::from_secs(4), session);
        }
        instance.change_logs(&change("add_log_member", "1:x.log"), session).expect("added");
        odd.stalls.1.store(true, SeqCst);
        instance.redo().switch(session).expect("free");
        let user = start("user", &instance, session, move |instance, session| {
            commit(instance, session).expect("no halt");
        });
        pause(Nanos::from_millis(50), session);
        instance.change_logs(&change("drop_log_member", "x.log"), session).expect("dropped");
        instance.change_logs(&change("add_log_member", "2:x.log"), session).expect("added");
        odd.stalls.1.store(false, SeqCst);
        assert!(user.join(session).is_ok());
        let second = views(session)[1].clone();
        let good = second.members.iter().filter(|(_, good)| *good).count();
        let last = instance.change_logs(&change("drop_log_member", "redo02.log"), session);
        for _ in 0..6 {
            instance.redo().switch(session).expect("free");
            commit(&instance, session).expect("no halt");
            instance.checkpoint(session).expect("no halt");
            pause(Nanos::from_secs(4), session);
        }
        abort(instance, session);
        let opened = Instance::open(&world.disk(), directory(), &common::parameters(), session);
        opened.expect("it opens again").abort(session);
        (good, last.is_err())
    });
    assert!(good == 1 && is_refused, "group 2 has no good member left");
}

/// A read of a data file's header fails once while the instance runs, at a log switch: that file is
/// left out this time, and somebody is told.
#[test]
fn a_header_that_can_not_be_read_at_a_log_switch_is_left_out() {
    let report = machine(1, database(8)).run(|world, session| {
        let mut odd = Odd { has_ring: false, ..Odd::of(world) };
        odd.header.0 = "data01.dbf";
        let parameters =
            Parameters { filesystemio_options: FilesystemIo::DirectIo, ..common::parameters() };
        let instance = Instance::open(&odd.disk(), directory(), &parameters, session);
        let instance = instance.expect("opened");
        // The checkpoint moves for the first time, with every header (rule space/SP51).
        switches(&instance, 1, session);
        odd.header.1.store(true, SeqCst);
        switches(&instance, 4, session);
        instance.abort(session);
        drop(instance);
        assert!(!odd.header.1.load(SeqCst), "the header was read");
        let opened = Instance::open(&world.disk(), directory(), &common::parameters(), session);
        opened.expect("it opens again").abort(session);
    });
    let notices = report.notices.clone();
    ended(report, "a header");
    assert_eq!(notices.iter().filter(|said| said.contains("data01.dbf")).count(), 1, "{notices:?}");
}

/// Rule space/SP51: where the checkpoint moves for the first time since an opening that left the
/// headers, one that can't be read halts the instance, as it would have ended that opening. Nothing
/// is lost.
#[test]
fn a_header_that_was_left_and_can_not_be_read_halts_the_instance() {
    let cause = run(machine(1, database(8)), |world, session| {
        let mut odd = Odd { has_ring: false, ..Odd::of(world) };
        odd.header.0 = "data01.dbf";
        let parameters =
            Parameters { filesystemio_options: FilesystemIo::DirectIo, ..common::parameters() };
        let instance = Instance::open(&odd.disk(), directory(), &parameters, session);
        let instance = instance.expect("opened");
        let table = Rows::open(&instance, TABLE, session).expect("there");
        fill(&instance, &table, 1, session);
        instance.checkpoint(session).expect("written");
        odd.header.1.store(true, SeqCst);
        pause(Nanos::from_secs(4), session);
        let cause = instance.halt().cause(session).map(|cause| cause.to_string());
        drop(table);
        instance.abort(session);
        drop(instance);
        let instance = open(world, session);
        let table = Rows::open(&instance, TABLE, session).expect("there");
        assert_eq!(rows(&table, session).len(), 9);
        drop(table);
        abort(instance, session);
        cause
    });
    let cause = cause.expect("it has halted");
    assert!(cause.contains("header of a data file") && cause.contains("data01.dbf"), "{cause}");
}

/// IN5: the processes that a shutdown ends together are told at once. While the checkpoint process
/// is held up by a write of the control file, the writers and the log writer are gone already.
#[test]
fn a_shutdown_tells_its_last_processes_at_once() {
    let names = run(machine(1, database(8)), |world, session| {
        let odd =
            Odd { has_ring: false, stalls: ("control01.ctl", Arc::default()), ..Odd::of(world) };
        let parameters =
            Parameters { filesystemio_options: FilesystemIo::DirectIo, ..common::parameters() };
        let instance = Instance::open(&odd.disk(), directory(), &parameters, session);
        let instance = Arc::new(instance.expect("opened"));
        let table = Rows::open(&instance, TABLE, session).expect("there");
        fill(&instance, &table, 1, session);
        drop(table);
        instance.checkpoint(session).expect("written");
        odd.stalls.1.store(true, SeqCst);
        // Its heartbeat.
        pause(Nanos::from_secs(4), session);
        let user = start("user", &instance, session, |instance, session| {
            instance.shutdown(session).expect("shut in good order");
        });
        pause(Nanos::from_secs(1), session);
        let running = session.os().running();
        let names = running.iter().map(|one| one.account.name().to_owned());
        let names: Vec<String> = names.filter(|name| name.starts_with("fb_")).collect();
        odd.stalls.1.store(false, SeqCst);
        assert!(user.join(session).is_ok());
        names
    });
    assert_eq!(names, ["fb_ckpt"]);
}

/// Parameters that leave the way to write redo to a probe, which counts for so many seconds.
fn probing(redo_probe_retention: u32) -> Parameters {
    Parameters {
        redo_write: None,
        redo_probe_retention,
        filesystemio_options: FilesystemIo::DirectIo,
        ..common::parameters()
    }
}

/// Opens the database and aborts it. Returns how often it has probed, and what it has chosen.
fn probes(odd: &Odd, retention: u32, session: &Session) -> (u64, (DurableWrite, u32)) {
    let before = odd.probes.load(SeqCst);
    let instance = Instance::open(&odd.disk(), directory(), &probing(retention), session);
    let instance = instance.expect("it opens");
    let opened = instance.opened().clone();
    instance.abort(session);
    let chosen = (opened.redo_write, opened.log_writes_in_flight);
    (odd.probes.load(SeqCst) - before, chosen)
}

/// IN53: what one opening has probed counts for later ones on the same disk until it is too old,
/// and for no other opening.
#[test]
fn what_was_probed_counts_where_it_was_found_and_for_its_time() {
    run(machine(1, database(8)), |world, session| {
        let told = Arc::new(AtomicU64::new(1));
        let odd = Odd { surroundings: Some(Arc::clone(&told)), ..Odd::of(world) };
        let (count, chosen) = probes(&odd, 100, session);
        assert_eq!(count, 1, "nothing was known");
        assert_eq!(probes(&odd, 100, session), (0, chosen), "the second opening");
        assert_eq!(probes(&odd, 0, session).0, 1, "each opening is to probe");
        pause(Nanos::from_secs(50), session);
        assert_eq!(probes(&odd, 100, session).0, 0, "it is young enough");
        pause(Nanos::from_secs(100), session);
        assert_eq!(probes(&odd, 100, session).0, 1, "it is too old");
        told.store(2, SeqCst);
        assert_eq!(probes(&odd, 1_000, session).0, 1, "another disk, or another start");
        assert_eq!(probes(&odd, 1_000, session).0, 0, "the same one");
        let ringless = Odd { has_ring: false, ..odd.clone() };
        assert_eq!(probes(&ringless, 1_000, session).0, 1, "there was a ring");
        assert_eq!(probes(&ringless, 1_000, session).0, 0, "there was none");
        let silent = Odd { surroundings: None, ..odd };
        for _ in 0..2 {
            assert_eq!(probes(&silent, 1_000, session).0, 1, "nobody can tell where it was found");
        }
    });
}

/// IN53: a creation opens the database too, and its probe counts for the first opening.
#[test]
fn what_a_creation_has_probed_counts() {
    run(machine(1, FileSystem::new(CAPACITY)), |world, session| {
        let odd = Odd { surroundings: Some(Arc::new(AtomicU64::new(1))), ..Odd::of(world) };
        let (creation, parameters) = (creation(), probing(100));
        Instance::create(&odd.disk(), directory(), &creation, &parameters, session).expect("made");
        assert_eq!(odd.probes.load(SeqCst), 1);
        assert_eq!(probes(&odd, 100, session).0, 0);
    });
}
