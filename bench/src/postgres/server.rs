//! A server in a race's folder.
//!
//! PostgreSQL refuses to run as root. Started by root, it runs as the user `postgres`, whom
//! Debian's package makes, and its folder is that user's.
//!
//! Callers: closures of a race.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process};

use super::Client;
use crate::scratch::ChildGuard;
use crate::{Ending, Error, Result, Scratch};

const MISSING: Error = Error::Missing { program: "PostgreSQL", package: "postgresql" };
/// Where Debian puts each version's programs.
const VERSIONS: &str = "/usr/lib/postgresql";
/// A path of a socket is shorter (`sun_path` of unix(7)), with PostgreSQL's own name in it.
const SOCKET_PATH_MAX: usize = 107 - "/.s.PGSQL.5432".len();
const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(300);

/// A running server.
pub struct Server<'s> {
    programs: PathBuf,
    folder: PathBuf,
    version: String,
    settings: Vec<(String, String)>,
    child: Child,
    _guard: ChildGuard<'s>,
}

impl<'s> Server<'s> {
    /// Makes a new database cluster in the folder, with these settings beyond the defaults, and
    /// starts a server on it.
    pub fn start(scratch: &'s Scratch, settings: &[(&str, &str)]) -> Result<Server<'s>> {
        let programs = find_programs()?;
        let folder = scratch.path().join("postgres");
        let user = make_folder(&folder)?;
        let (data, log) = (folder.join("data"), folder.join("log"));
        let mut initdb = run_as(user, &programs.join("initdb"), &folder);
        initdb.args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-D"]).arg(&data);
        succeed(&mut initdb, "make a database cluster of PostgreSQL's")?;
        let mut postgres = run_as(user, &programs.join("postgres"), &folder);
        postgres.arg("-D").arg(&data).arg("-k").arg(&folder).args(["-c", "listen_addresses="]);
        for (name, value) in settings {
            postgres.arg("-c").arg(format!("{name}={value}"));
        }
        let cannot = |cause| Error::cannot("start postgres", cause);
        let log_file = std::fs::File::create(&log).map_err(cannot)?;
        let child = postgres
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log_file)
            .spawn()
            .map_err(cannot)?;
        let guard = scratch.guard(child.id(), Ending::Quit)?;
        let settings =
            settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let version = String::new();
        let mut server = Server { programs, folder, version, settings, child, _guard: guard };
        server.wait_until_ready(&log)?;
        let version = server.connect()?.run("SHOW server_version;")?;
        server.version = version.into_iter().next().unwrap_or_default();
        Ok(server)
    }

    /// A folder that the server can read and write.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A new session.
    pub fn connect(&self) -> Result<Client> {
        Client::start(&self.programs.join("psql"), &self.folder)
    }

    /// Version and settings, in words.
    pub fn settings(&self) -> Vec<String> {
        let settings: Vec<String> =
            self.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        vec![format!("PostgreSQL {}", self.version), settings.join(", ")]
    }

    fn wait_until_ready(&mut self, log: &Path) -> Result<()> {
        let began = Instant::now();
        while self.connect()?.run("SELECT 1;").is_err() {
            let ended = self.child.try_wait().map_err(|cause| Error::cannot("wait", cause))?;
            if ended.is_some() || began.elapsed() > START_LIMIT {
                let told = std::fs::read_to_string(log).unwrap_or_default();
                return Err(Error::Failed(format!("PostgreSQL didn't start: {}", told.trim())));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        // A fast shutdown; if it takes too long, at once.
        kill_process(Pid::from_child(&self.child), Signal::INT).ok();
        let began = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && began.elapsed() < STOP_LIMIT {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The newest version's programs.
fn find_programs() -> Result<PathBuf> {
    let versions = std::fs::read_dir(VERSIONS).map_err(|_| MISSING)?;
    let number = |folder: &PathBuf| folder.file_name()?.to_str()?.parse::<u32>().ok();
    versions
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| folder.join("bin/postgres").exists())
        .max_by_key(number)
        .map(|folder| folder.join("bin"))
        .ok_or(MISSING)
}

/// Makes the server's folder; as whom it runs, if not as we do.
fn make_folder(folder: &Path) -> Result<Option<(u32, u32)>> {
    let shown = folder.display();
    if folder.as_os_str().len() > SOCKET_PATH_MAX {
        let message = format!(
            "{shown} is too long a path for PostgreSQL's socket: at most {SOCKET_PATH_MAX} bytes; \
             name another folder with --dir"
        );
        return Err(Error::Refused(message));
    }
    let cannot = |cause| Error::cannot(format_args!("make {shown}"), cause);
    std::fs::create_dir(folder).map_err(cannot)?;
    if !geteuid().is_root() {
        return Ok(None);
    }
    let user = user_postgres().ok_or_else(|| {
        let message = "PostgreSQL doesn't run as root, and there is no user 'postgres'; run this \
                       as another user";
        Error::Refused(message.into())
    })?;
    chown(folder, Some(user.0), Some(user.1)).map_err(cannot)?;
    Ok(Some(user))
}

/// The numbers of user and group.
fn user_postgres() -> Option<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.starts_with("postgres:"))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

fn run_as(user: Option<(u32, u32)>, program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
    command.current_dir(folder).process_group(0);
    command
}

fn succeed(command: &mut Command, what: &str) -> Result<()> {
    let output = command.output().map_err(|cause| Error::cannot(what, cause))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(Error::cannot(what, String::from_utf8_lossy(&output.stderr).trim())),
    }
}
