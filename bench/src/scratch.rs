//! A folder for a race's files, and the certainty that it is gone afterwards.
//!
//! A race ends in many ways: done, failed, panicked, Ctrl-C, killed. Destructors see only the
//! first three. So the folder has a keeper, a small shell process that holds the reading end of a
//! pipe from us and does nothing until that pipe closes, which the kernel sees to however we end.
//! Then it ends the rival that it was told of, if one still runs, and whatever works in the folder,
//! waits until nothing does any more, and removes the folder.
//!
//! ```text
//!   we ── "run PID SIGNAL" / "end PID" ──▶ keeper (sh, own process group: no Ctrl-C reaches it)
//!   we end, in whatever way: pipe closes
//!     ──▶ kill -SIGNAL PID; after 5 s -KILL PID and its process group
//!     ──▶ kill -KILL what descends from PID or works in FOLDER, until nothing does
//!     ──▶ rm -rf FOLDER
//! ```
//!
//! PostgreSQL's sessions leave the process group of their server, and go on for as long as a
//! statement lasts when it is killed. They are found by their working directory, and as descendants
//! of the server: root in a container may not see where another user's process works
//! (CAP_SYS_PTRACE), and PostgreSQL runs as another user. A rival that was started and not yet told
//! of is found by its working directory: the pipe stays open in it until its program begins, and by
//! then it is in the folder.
//!
//! No signal handler, no unsafe code, and Ctrl-C keeps its meaning: we end at once.
//!
//! Invariants
//!   * the folder is made by us, empty, under a name that did not exist; nothing else is removed
//!   * at most one child is guarded at a time: races run one side after the other
//!   * after drop the folder is gone
//!
//! Callers: `xbench race` makes one, `child` registers what it starts.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{Advice, fadvise};

use crate::{Error, Result};

/// What the keeper runs; `$1` is the folder.
const KEEPER: &str = r#"
trap '' HUP INT TERM
folder=$1
child=
while read -r word pid signal; do
    case $word in
        run) child=$pid gently=$signal ;;
        end) child= ;;
    esac
done
lives() {
    while read -r key value rest; do
        if [ "$key" = State: ]; then
            case $value in Z | X) return 1 ;; *) return 0 ;; esac
        fi
    done 2>/dev/null <"/proc/$1/status"
    return 1
}
place() { readlink "/proc/$1/cwd" 2>/dev/null; }
below() {
    for descendant in $(cat "/proc/$1"/task/*/children 2>/dev/null); do
        echo "$descendant"
        below "$descendant"
    done
}
inside() {
    for process in /proc/[0-9]*; do
        case $(place "${process#/proc/}") in
            "$folder" | "$folder"/* | "$folder "*) echo "${process#/proc/}" ;;
        esac
    done
    for process in $family; do
        if [ -z "$(place "$process")" ] && lives "$process"; then echo "$process"; fi
    done
}
family=
if [ -n "$child" ]; then
    family="$child $(below "$child")"
    kill -"$gently" "$child" 2>/dev/null
    tries=0
    while lives "$child" && [ "$tries" -lt 50 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    family="$family $(below "$child")"
    if lives "$child"; then kill -KILL "$child" "-$child" 2>/dev/null; fi
fi
tries=0
while working=$(inside) && [ -n "$working" ] && [ "$tries" -lt 100 ]; do
    kill -KILL $working 2>/dev/null
    tries=$((tries + 1))
    sleep 0.1
done
tries=0
until rm -rf -- "$folder" 2>/dev/null || [ "$tries" -ge 100 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
"#;

/// How a child is ended if we end before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// At once.
    Kill,
    /// It is told to end at once and to end its own children; killed if it doesn't within 5 s.
    Quit,
}

const CHUNK_BYTES: usize = 1 << 20;

/// A scratch folder that does not outlive this process.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
    keeper: Child,
}

impl Scratch {
    /// A new folder in `parent`, which must exist and be writable.
    pub fn create(parent: &Path) -> Result<Scratch> {
        let parent = fs::canonicalize(parent).map_err(|cause| {
            let shown = parent.display();
            Error::Refused(format!("no folder {shown}: {cause}; make it or name another one"))
        })?;
        let folder = parent.join(unused_name());
        fs::create_dir(&folder).map_err(|cause| {
            Error::cannot(format_args!("make a scratch folder in {}", parent.display()), cause)
        })?;
        match start_keeper(&folder) {
            Ok(keeper) => Ok(Scratch { folder, keeper }),
            Err(cause) => {
                let gone = fs::remove_dir(&folder);
                debug_assert!(gone.is_ok(), "an empty folder of ours can be removed");
                Err(Error::cannot("start sh to guard the scratch folder", cause))
            }
        }
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Writes files of equal size and age, full of data that neither compresses nor repeats. All
    /// grow together, 1 MiB each in turn, so that none is younger, and none is left in the page
    /// cache (RM1: a file just written reads faster than a cold one).
    pub fn lay_out(&self, names: &[&str], size: u64) -> Result<Vec<PathBuf>> {
        let paths: Vec<PathBuf> = names.iter().map(|name| self.folder.join(name)).collect();
        let mut files = Vec::new();
        for path in &paths {
            let file = File::create_new(path)
                .map_err(|cause| Error::cannot(format_args!("make {}", path.display()), cause))?;
            files.push(file);
        }
        let mut state = 0;
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut written = 0;
        while written < size {
            let part = usize::try_from(size - written).map_or(CHUNK_BYTES, |n| n.min(CHUNK_BYTES));
            for (file, path) in files.iter_mut().zip(&paths) {
                fill(&mut chunk[..part], &mut state);
                file.write_all(&chunk[..part]).map_err(|cause| {
                    let shown = path.display();
                    Error::cannot(format_args!("fill {shown} to {size} bytes"), cause)
                })?;
            }
            written += part as u64;
        }
        for (file, path) in files.iter().zip(&paths) {
            let settled =
                file.sync_all().and_then(|()| Ok(fadvise(file, 0, None, Advice::DontNeed)?));
            settled
                .map_err(|cause| Error::cannot(format_args!("sync {}", path.display()), cause))?;
        }
        let synced = File::open(&self.folder).and_then(|folder| folder.sync_all());
        synced.map_err(|cause| Error::cannot("sync the scratch folder", cause))?;
        Ok(paths)
    }

    /// From now until the guard is dropped, the keeper ends this child if we end.
    pub fn guard(&self, child: u32, ending: Ending) -> Result<ChildGuard<'_>> {
        let signal = match ending {
            Ending::Kill => "KILL",
            Ending::Quit => "QUIT",
        };
        self.tell(&format!("run {child} {signal}")).map_err(|cause| {
            Error::cannot("reach the keeper of the scratch folder (was it killed?)", cause)
        })?;
        Ok(ChildGuard { scratch: self, child })
    }

    fn tell(&self, line: &str) -> std::io::Result<()> {
        let mut pipe = self.keeper.stdin.as_ref().expect("the pipe is closed only by drop");
        pipe.write_all(format!("{line}\n").as_bytes())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let ended = self.keeper.wait();
        if ended.is_err() || self.folder.exists() {
            // Somebody killed the keeper. The next best is to do its work.
            if let Err(cause) = fs::remove_dir_all(&self.folder) {
                eprintln!("cannot remove {}: {cause}; remove it by hand", self.folder.display());
            }
        }
    }
}

/// A running child that the keeper knows of.
#[derive(Debug)]
pub struct ChildGuard<'a> {
    scratch: &'a Scratch,
    child: u32,
}

impl Drop for ChildGuard<'_> {
    fn drop(&mut self) {
        // A keeper that is gone kills nobody: nothing is lost.
        self.scratch.tell(&format!("end {}", self.child)).ok();
    }
}

fn start_keeper(folder: &Path) -> std::io::Result<Child> {
    Command::new("sh")
        .args(["-c", KEEPER, "scratch-keeper"])
        .arg(folder)
        .process_group(0)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

fn unused_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("race-scratch-{}-{count}", std::process::id())
}

/// Fills with random bytes. SplitMix64 (Steele, Lea & Flood, OOPSLA '14): fast, and good enough not
/// to compress.
pub fn fill(bytes: &mut [u8], state: &mut u64) {
    for part in bytes.chunks_mut(8) {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = *state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        part.copy_from_slice(&(word ^ (word >> 31)).to_le_bytes()[..part.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent() -> PathBuf {
        std::env::temp_dir()
    }

    #[test]
    fn a_dropped_scratch_leaves_nothing() {
        let scratch = Scratch::create(&parent()).expect("the temporary folder is writable");
        let folder = scratch.path().to_path_buf();
        scratch.lay_out(&["a", "b"], 10_000).expect("there is room for 20 KB");
        drop(scratch);
        assert!(!folder.exists());
    }

    #[test]
    fn a_scratch_whose_keeper_was_killed_still_leaves_nothing() {
        use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
        let scratch = Scratch::create(&parent()).expect("the temporary folder is writable");
        // By hand, as `Child::wait` would close the pipe, too.
        let keeper = Pid::from_child(&scratch.keeper);
        kill_process(keeper, Signal::KILL).expect("our child can be killed");
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(keeper), ended).expect("our child can be waited for");
        let folder = scratch.path().to_path_buf();
        assert!(folder.exists());
        assert!(
            scratch.guard(1, Ending::Kill).is_err(),
            "a child is not called guarded without a keeper"
        );
        drop(scratch);
        assert!(!folder.exists());
    }

    /// A stand-in for a server: it starts a session that leaves its process group and works on in
    /// the folder, as PostgreSQL's do. The pipe to the keeper closes when we end in whatever way.
    #[test]
    fn a_server_and_its_sessions_end_with_us() {
        for (ending, obeys) in [(Ending::Kill, false), (Ending::Quit, false), (Ending::Quit, true)]
        {
            let scratch = Scratch::create(&parent()).expect("the temporary folder is writable");
            let folder = scratch.path().to_path_buf();
            let trap = if obeys { "" } else { "trap '' QUIT;" };
            let script = format!(
                "{trap} setsid sh -c \
                 'echo $$ > session; while :; do sleep 0.01; echo >> work; done' & sleep 1000"
            );
            let mut server = Command::new("sh");
            server.args(["-c", &script]).current_dir(&folder).process_group(0);
            let mut server = server.stdin(Stdio::null()).spawn().expect("every system has a shell");
            std::mem::forget(scratch.guard(server.id(), ending).expect("the keeper lives"));
            let began = std::time::Instant::now();
            let session = loop {
                let told = fs::read_to_string(folder.join("session")).unwrap_or_default();
                if let Ok(session) = told.trim().parse::<u32>() {
                    break session;
                }
                assert!(began.elapsed().as_secs() < 30, "the stand-in doesn't begin");
                std::thread::sleep(std::time::Duration::from_millis(10));
            };
            drop(scratch);
            assert!(!folder.exists());
            let works = |process: u32| fs::read_link(format!("/proc/{process}/cwd")).is_ok();
            assert!(!works(session), "the session of the server works on");
            assert!(!works(server.id()), "the server works on");
            server.wait().expect("it is our child");
        }
    }

    #[test]
    fn files_laid_out_together_have_their_size_and_different_data() {
        let scratch = Scratch::create(&parent()).expect("the temporary folder is writable");
        let size = CHUNK_BYTES as u64 + 4097;
        let paths = scratch.lay_out(&["a", "b"], size).expect("there is room for 2 MB");
        let read = |path| fs::read(path).expect("a file just written can be read");
        let (a, b) = (read(&paths[0]), read(&paths[1]));
        assert_eq!((a.len() as u64, b.len() as u64), (size, size));
        assert_ne!(a, b);
        assert!(a.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)));
    }

    #[test]
    fn a_missing_parent_is_refused_with_what_to_do() {
        let refusal = Scratch::create(Path::new("/no/such/folder")).expect_err("it is missing");
        let text = refusal.to_string();
        assert!(text.contains("/no/such/folder") && text.contains("make it or name another"));
    }
}
