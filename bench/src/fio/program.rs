//! The fio program: found once, asked for its version, run as often as needed.
//!
//! Callers: closures of a race.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::child::{self, Watched};
use crate::fio::figures::{self, FioResult};
use crate::fio::job::{Durability, FioJob, HUGE_PAGES};
use crate::{Error, Result, Scratch};

/// Beyond ramp and runtime, what fio may take to start and to end before it counts as hung.
const GRACE: Duration = Duration::from_secs(60);

const MISSING: Error = Error::Missing { program: "fio", package: "fio" };

/// An installed fio.
#[derive(Clone, Debug)]
pub struct Fio {
    program: PathBuf,
    version: String,
}

impl Fio {
    /// The fio on this process's search path.
    pub fn find() -> Result<Fio> {
        Fio::find_in(&std::env::var_os("PATH").unwrap_or_default())
    }

    /// The first fio in the folders of a search path, as in `PATH`.
    pub fn find_in(search_path: &OsStr) -> Result<Fio> {
        let program = std::env::split_paths(search_path)
            .map(|folder| folder.join("fio"))
            .find(|program| is_executable(program))
            .ok_or(MISSING)?;
        let shown = program.display();
        let output = Command::new(&program)
            .arg("--version")
            .output()
            .map_err(|cause| Error::cannot(format_args!("start {shown}"), cause))?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if !output.status.success() || !version.starts_with("fio-") {
            return Err(Error::Failed(format!("{shown} doesn't say that it is fio: '{version}'")));
        }
        Ok(Fio { program, version })
    }

    /// Where it was found.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Such as `fio-3.33`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Runs a job to its end. `scratch` sees to it that fio doesn't outlive us.
    pub fn run(&self, job: &FioJob, scratch: &Scratch) -> Result<FioResult> {
        job.check()?;
        let limit = job.ramp + job.runtime + GRACE;
        let watched = child::run(&self.program, &job.arguments(), &[HUGE_PAGES], limit, scratch)?;
        let place = || format!("{} ({})", self.version, job.settings());
        if watched.timed_out || !watched.status.success() {
            return Err(complaint(&watched, limit).within(place()));
        }
        let workers = |interval| watched.workers.in_last(interval);
        let result = figures::parse(&watched.stdout, job.pattern.writes(), workers, watched.cpu)
            .map_err(|error| error.within(place()))?;
        let syncs_each = job.durability == Durability::Fdatasync { every: 1 };
        if job.is_timed && syncs_each && result.durable_us_p50 <= result.lat_us_p50 {
            let what = "fio didn't say how long its syncs took".into();
            return Err(Error::Failed(what).within(place()));
        }
        Ok(result)
    }
}

/// What fio said of its failure. Its error may stand on either output.
fn complaint(watched: &Watched, limit: Duration) -> Error {
    if watched.timed_out {
        return Error::Failed(format!("killed, as it didn't end within {} s", limit.as_secs()));
    }
    let lines = watched.stderr.lines().chain(watched.stdout.lines());
    let said: Vec<&str> = lines.filter(|line| line.starts_with("fio:")).take(3).collect();
    Error::Failed(format!("{}: {}", watched.status, said.join("; ")))
}

fn is_executable(program: &Path) -> bool {
    program.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_fio_is_told_with_the_package_to_install() {
        for search_path in ["", "/no/such/folder:/proc"] {
            let missing = Fio::find_in(OsStr::new(search_path)).expect_err("it isn't there");
            assert_eq!(missing.to_string(), "fio is not installed: apt-get install fio");
        }
    }

    #[test]
    fn what_is_called_fio_and_is_not_is_told_apart() {
        let scratch = Scratch::create(&std::env::temp_dir()).expect("it is writable");
        let impostor = scratch.path().join("fio");
        std::os::unix::fs::symlink("/bin/cat", impostor).expect("the folder is ours");
        let error = Fio::find_in(scratch.path().as_os_str()).expect_err("it isn't fio");
        assert!(error.to_string().contains("doesn't say that it is fio"), "{error}");
    }
}
