//! The shared parts of this crate's tests: a scratch directory that cleans up after itself, a world
//! that remembers its notices, and a fake disk that fails on command.

#![allow(dead_code, reason = "each test file uses a part of this")]

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use os::{
    Alignment, Disk, DiskPort, Error, File, FileOptions, FilePort, IoKind, IoPool, NameKind,
    OpenMode, Os, RawCompletion, RawRequest, RingPort, Session,
};
use waits::{Nanos, SessionKind, WaitEvent};

/// Around the page cache, durable after a sync.
pub(crate) const DIRECT: FileOptions = FileOptions { direct: true, write_through: false };
/// Through the page cache, durable after a sync.
pub(crate) const BUFFERED: FileOptions = FileOptions { direct: false, write_through: false };
/// Through the page cache, durable at once.
pub(crate) const WRITE_THROUGH: FileOptions = FileOptions { direct: false, write_through: true };

/// A directory of this test alone, gone when it ends.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// On the file system where the build lives: a real disk with direct I/O.
    pub(crate) fn new(name: &str) -> Scratch {
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("the build's directory is writable");
        Scratch(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The names in it.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("it exists");
        let mut names: Vec<String> = entries
            .map(|e| e.expect("readable").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The notices of a world.
#[derive(Clone, Default)]
pub(crate) struct Notices(Arc<Mutex<Vec<String>>>);

impl Notices {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().expect("not poisoned").clone()
    }
}

/// The real world, its notices remembered.
pub(crate) fn world() -> (Os, Notices) {
    let notices = Notices::default();
    let sink = notices.clone();
    let os = os::linux::start_with(Arc::new(move |line: &str| {
        sink.0.lock().expect("not poisoned").push(line.to_string());
    }));
    notices.0.lock().expect("not poisoned").clear();
    (os, notices)
}

/// A session for the calling thread.
pub(crate) fn session(os: &Os) -> Session {
    os.adopt("test", SessionKind::Foreground)
}

/// The behaviour of a fake file in one call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FakeResult {
    /// It moves all bytes.
    Whole,
    /// It moves at most this many bytes.
    AtMost(usize),
    /// It moves half of the bytes.
    Half,
    /// It moves all bytes once this many reads and writes have come, or it is let go.
    UntilCalls(usize),
    /// It moves nothing and returns the error with this number.
    Fail(i32),
}

/// A file in memory that fails on command, and refuses misaligned requests as a kernel does.
#[derive(Debug)]
pub(crate) struct FakeFile {
    pub(crate) bytes: Mutex<Vec<u8>>,
    /// The behaviour of the next reads and writes; when it is used up, all go well.
    pub(crate) script: Mutex<VecDeque<FakeResult>>,
    /// The behaviour of the next syncs.
    pub(crate) syncs: Mutex<VecDeque<FakeResult>>,
    /// Offset and length of every read and write that came.
    pub(crate) calls: Mutex<Vec<(IoKind, u64, usize)>>,
    pub(crate) sync_calls: Mutex<u64>,
    /// How often its identity was asked.
    pub(crate) identity_calls: Mutex<u64>,
    is_let_go: AtomicBool,
    has_locks: bool,
    unit: usize,
}

impl FakeFile {
    pub(crate) fn will(&self, outcomes: impl IntoIterator<Item = FakeResult>) {
        self.script.lock().expect("not poisoned").extend(outcomes);
    }

    pub(crate) fn sync_will(&self, outcome: FakeResult) {
        self.syncs.lock().expect("not poisoned").push_back(outcome);
    }

    /// Lets all waiting calls go.
    pub(crate) fn let_go(&self) {
        self.is_let_go.store(true, SeqCst);
    }

    pub(crate) fn calls(&self) -> Vec<(IoKind, u64, usize)> {
        self.calls.lock().expect("not poisoned").clone()
    }

    /// The number of bytes of `length` that this call moves.
    fn next(&self, kind: IoKind, offset: u64, length: usize) -> io::Result<usize> {
        self.calls.lock().expect("not poisoned").push((kind, offset, length));
        if !offset.is_multiple_of(self.unit as u64) || !length.is_multiple_of(self.unit) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let next = self.script.lock().expect("not poisoned").pop_front();
        match next.unwrap_or(FakeResult::Whole) {
            FakeResult::Whole => Ok(length),
            FakeResult::AtMost(bytes) => Ok(length.min(bytes)),
            FakeResult::Half => Ok(length / 2),
            FakeResult::UntilCalls(calls) => {
                while self.calls().len() < calls && !self.is_let_go.load(SeqCst) {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                Ok(length)
            }
            FakeResult::Fail(number) => Err(io::Error::from_raw_os_error(number)),
        }
    }
}

impl FilePort for FakeFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8], _event: WaitEvent) -> io::Result<usize> {
        let moved = self.next(IoKind::Read, offset, buffer.len())?;
        let bytes = self.bytes.lock().expect("not poisoned");
        let from = bytes.len().min(offset as usize);
        let moved = moved.min(bytes.len() - from);
        buffer[..moved].copy_from_slice(&bytes[from..from + moved]);
        Ok(moved)
    }

    fn write_at(&self, offset: u64, buffer: &[u8], _event: WaitEvent) -> io::Result<usize> {
        let moved = self.next(IoKind::Write, offset, buffer.len())?;
        let mut bytes = self.bytes.lock().expect("not poisoned");
        let from = offset as usize;
        let length = bytes.len().max(from + moved);
        bytes.resize(length, 0);
        bytes[from..from + moved].copy_from_slice(&buffer[..moved]);
        Ok(moved)
    }

    fn sync(&self, _event: WaitEvent) -> io::Result<()> {
        *self.sync_calls.lock().expect("not poisoned") += 1;
        match self.syncs.lock().expect("not poisoned").pop_front() {
            Some(FakeResult::Fail(number)) => Err(io::Error::from_raw_os_error(number)),
            _ => Ok(()),
        }
    }

    fn try_lock(&self) -> io::Result<bool> {
        match self.has_locks {
            true => Ok(true),
            false => Err(io::Error::from_raw_os_error(libc::ENOLCK)),
        }
    }

    fn identity(&self) -> io::Result<(u64, u64)> {
        *self.identity_calls.lock().expect("not poisoned") += 1;
        Ok((0, std::ptr::from_ref(self).addr() as u64))
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.bytes.lock().expect("not poisoned").len() as u64)
    }

    fn set_len(&self, length: u64, _event: WaitEvent) -> io::Result<()> {
        self.bytes.lock().expect("not poisoned").resize(length as usize, 0);
        Ok(())
    }

    fn alignment(&self) -> Alignment {
        Alignment { memory: self.unit as u32, offset: self.unit as u32 }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A disk of fake files, with a fake ring that does its requests when it is waited for.
pub(crate) struct FakeDisk {
    pub(crate) files: Mutex<BTreeMap<PathBuf, Arc<FakeFile>>>,
    /// Whether [`DiskPort::ring`] gives one.
    pub(crate) has_ring: bool,
    /// The unit of every direct file's requests.
    pub(crate) unit: usize,
    /// The behaviour of the first writes and syncs of the next new file.
    pub(crate) newborn: Mutex<(Vec<FakeResult>, Vec<FakeResult>)>,
    /// Whether the next new file loses its name before its maker gets it.
    pub(crate) takes_name: AtomicBool,
    /// Whether the file system knows locks.
    pub(crate) has_locks: AtomicBool,
    /// The log of the ring.
    pub(crate) ring: Arc<RingLog>,
}

/// The requests and calls of a fake ring, seen from outside.
#[derive(Debug, Default)]
pub(crate) struct RingLog {
    /// Requests that were started.
    pub(crate) started: Mutex<u64>,
    /// The number of calls of `wait` that return after a millisecond with nothing done.
    pub(crate) empty_waits: Mutex<u32>,
    /// Calls of `wait`, with the timeout that each was given.
    pub(crate) waits: Mutex<Vec<Option<Nanos>>>,
}

impl FakeDisk {
    pub(crate) fn new(unit: usize) -> Arc<FakeDisk> {
        Arc::new(FakeDisk {
            files: Mutex::default(),
            has_ring: true,
            unit,
            newborn: Mutex::default(),
            takes_name: AtomicBool::new(false),
            has_locks: AtomicBool::new(true),
            ring: Arc::default(),
        })
    }

    /// A disk over this one, and an open file of `length` bytes of it with the fake behind it.
    pub(crate) fn file(
        self: &Arc<FakeDisk>,
        options: FileOptions,
        length: usize,
        session: &Session,
    ) -> (Disk, File, Arc<FakeFile>) {
        let disk = Disk::new(Arc::clone(self) as Arc<dyn DiskPort>);
        let path = Path::new("/fake/file");
        let file = disk.create(path, length as u64, options, session).expect("the fake goes well");
        let fake = Arc::clone(&self.files.lock().expect("not poisoned")[path]);
        fake.calls.lock().expect("not poisoned").clear();
        (disk, file, fake)
    }
}

impl DiskPort for FakeDisk {
    fn open(
        &self,
        path: &Path,
        mode: OpenMode,
        options: FileOptions,
        _event: WaitEvent,
    ) -> io::Result<Arc<dyn FilePort>> {
        let mut files = self.files.lock().expect("not poisoned");
        match (files.get(path), mode) {
            (Some(_), OpenMode::CreateNew) => Err(io::Error::from_raw_os_error(libc::EEXIST)),
            (Some(file), _) => Ok(Arc::clone(file) as Arc<dyn FilePort>),
            (None, OpenMode::CreateNew) => {
                let (script, syncs) = std::mem::take(&mut *self.newborn.lock().expect("whole"));
                let file = Arc::new(FakeFile {
                    bytes: Mutex::default(),
                    script: Mutex::new(script.into()),
                    syncs: Mutex::new(syncs.into()),
                    calls: Mutex::default(),
                    sync_calls: Mutex::default(),
                    identity_calls: Mutex::default(),
                    is_let_go: AtomicBool::new(false),
                    has_locks: self.has_locks.load(SeqCst),
                    unit: if options.direct { self.unit } else { 1 },
                });
                if !self.takes_name.swap(false, SeqCst) {
                    files.insert(path.to_path_buf(), Arc::clone(&file));
                }
                Ok(file)
            }
            (None, _) => Err(io::Error::from_raw_os_error(libc::ENOENT)),
        }
    }

    fn create_dir(&self, _path: &Path, _event: WaitEvent) -> io::Result<()> {
        Ok(())
    }

    fn sync_dir(&self, _path: &Path, _event: WaitEvent) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, _from: &Path, _to: &Path, _event: WaitEvent) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, path: &Path, _event: WaitEvent) -> io::Result<()> {
        let removed = self.files.lock().expect("not poisoned").remove(path);
        removed.map(drop).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
    }

    fn look_up(&self, path: &Path, _event: WaitEvent) -> io::Result<Option<NameKind>> {
        let files = self.files.lock().expect("not poisoned");
        Ok(files.contains_key(path).then_some(NameKind::File))
    }

    fn list(&self, _path: &Path, _event: WaitEvent) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn canonical(&self, directory: &Path) -> io::Result<PathBuf> {
        Ok(directory.to_path_buf())
    }

    fn free_bytes(&self, _path: &Path) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    fn ring(&self, _depth: u32) -> Result<Box<dyn RingPort>, Error> {
        if self.has_ring {
            return Ok(Box::new(FakeRing { log: Arc::clone(&self.ring), ..FakeRing::default() }));
        }
        Err(Error::new("use the fake's ring", os::Cause::IoUringUnavailable, "it has none"))
    }
}

/// Does the started requests by the file's own blocking calls, so that a file's script makes its
/// completions short. It hands completions back last first.
#[derive(Default)]
struct FakeRing {
    pushed: Vec<(Arc<dyn FilePort>, RawRequest)>,
    started: Vec<(Arc<dyn FilePort>, RawRequest)>,
    log: Arc<RingLog>,
}

impl RingPort for FakeRing {
    fn push(&mut self, file: &Arc<dyn FilePort>, request: RawRequest) {
        self.pushed.push((Arc::clone(file), request));
    }

    fn submit(&mut self) -> io::Result<()> {
        *self.log.started.lock().expect("not poisoned") += self.pushed.len() as u64;
        self.started.append(&mut self.pushed);
        Ok(())
    }

    fn collect(&mut self, completed: &mut Vec<RawCompletion>) {
        while let Some((file, request)) = self.started.pop() {
            let RawRequest { slot, kind, offset, mut buffer, range } = request;
            let event = WaitEvent::DbFileParallelWrite;
            let result = match kind {
                IoKind::Read => file.read_at(offset, &mut buffer[range], event),
                IoKind::Write => file.write_at(offset, &buffer[range], event),
                IoKind::Sync => file.sync(event).map(|()| 0),
            };
            completed.push(RawCompletion { slot, buffer, result });
        }
    }

    fn wait(&mut self, _: u32, timeout: Option<Nanos>, _: WaitEvent) -> io::Result<bool> {
        self.log.waits.lock().expect("not poisoned").push(timeout);
        let mut empty = self.log.empty_waits.lock().expect("not poisoned");
        if *empty > 0 {
            *empty -= 1;
            std::thread::sleep(std::time::Duration::from_millis(1));
            return Ok(false);
        }
        drop(empty);
        self.submit()?;
        Ok(false)
    }

    fn register(&mut self, _pool: &IoPool) -> Result<(), Error> {
        Ok(())
    }

    fn description(&self) -> String {
        "a fake".into()
    }
}

/// Tells a test that it runs as its own child, and with what.
const CHILD: &str = "FOREBAY_TEST_CHILD";

/// The message of the parent, when this process is such a child.
pub(crate) fn child() -> Option<String> {
    std::env::var(CHILD).ok()
}

/// Runs the test called `test` of this program again, in a process of its own that `command` starts
/// (the shell's `"$@"` is the program and its arguments). [`child`] returns `told` there.
pub(crate) fn in_a_child(test: &str, command: &str, told: &str) {
    let program = std::env::current_exe().expect("this program has a name");
    let output = std::process::Command::new("sh")
        .args(["-c", command, "sh"])
        .arg(program)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CHILD, told)
        .output()
        .expect("sh runs");
    let text = [output.stdout, output.stderr].map(|b| String::from_utf8_lossy(&b).into_owned());
    assert!(output.status.success(), "{command}\n{}{}", text[0], text[1]);
    assert!(text[0].contains("1 passed"), "no test is called {test}: {}", text[0]);
}

/// Does the same with `mount` (and its place) mounted for the child alone, with root's rights or in
/// a user namespace.
pub(crate) fn in_a_child_with_mount(test: &str, mount: &str, place: &Path) {
    let unshare = if is_root() { "unshare -m" } else { "unshare -rm" };
    let place = place.display();
    let command = format!("exec {unshare} sh -c '{mount} {place} && exec \"$@\"' sh \"$@\"");
    in_a_child(test, &command, &place.to_string());
}

pub(crate) fn is_root() -> bool {
    // SAFETY: only reads this process's identity.
    unsafe { libc::geteuid() == 0 }
}

/// Gives up root for the calling thread alone, if it has it: the raw system calls change one thread
/// only.
pub(crate) fn become_nobody_in_this_thread() {
    const NOBODY: libc::c_long = 65534;
    if !is_root() {
        return;
    }
    // SAFETY: plain numbers are passed; only this thread's identity changes.
    unsafe {
        assert_eq!(libc::syscall(libc::SYS_setresgid, NOBODY, NOBODY, NOBODY), 0);
        assert_eq!(libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY), 0);
    }
}

/// A terminal that passes bytes on as they come: bytes written to the file are read at the path,
/// and a read there waits until something is written.
pub(crate) fn raw_terminal() -> (std::fs::File, PathBuf) {
    use std::os::fd::FromRawFd;
    // SAFETY: the calls get a descriptor that was just opened, and a buffer and a structure of
    // their own, each of the stated length; the descriptor has no other owner.
    unsafe {
        let keyboard = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY);
        assert!(keyboard >= 0 && libc::unlockpt(keyboard) == 0, "{}", io::Error::last_os_error());
        let mut name = [0 as libc::c_char; 64];
        assert_eq!(libc::ptsname_r(keyboard, name.as_mut_ptr(), name.len()), 0);
        let mut modes: libc::termios = std::mem::zeroed();
        assert_eq!(libc::tcgetattr(keyboard, &raw mut modes), 0);
        libc::cfmakeraw(&raw mut modes);
        assert_eq!(libc::tcsetattr(keyboard, libc::TCSANOW, &raw const modes), 0);
        let path = std::ffi::CStr::from_ptr(name.as_ptr()).to_str().expect("/dev/pts/N");
        (std::fs::File::from_raw_fd(keyboard), PathBuf::from(path))
    }
}
