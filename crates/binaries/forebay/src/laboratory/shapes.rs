//! The experiments that have shapes of their own: a curve, and two tables.
//!
//! Callers: `laboratory`.

use std::path::Path;

use lab::Follower;
use lab::block_size_scan::{self, Scans};
use lab::free_buffer_waits::{self, Matrix, Setting, Size};
use lab::redo_size::{self, Curve, Sizes};
use stop::Stop;

use super::outputs::{Following, Outputs};
use super::{COMMIT, DISK, Run, begin, failure, worth_something};
use crate::output::{CommandResult, Failure, fitting};
use crate::progress::Progress;

/// How a shape's report is told.
struct Telling<F> {
    text: fn(&F) -> String,
    json: fn(&F) -> String,
    /// How many of its commits were lost.
    lost: fn(&F) -> u64,
}

impl<F> Telling<F> {
    /// The report as JSON or as text; a failure, behind it, if commits were lost.
    fn tell(&self, found: &F, as_json: bool) -> CommandResult {
        let told = match as_json {
            true => (self.json)(found) + "\n",
            false => fitting(&(self.text)(found)),
        };
        worth_something((self.lost)(found), told)
    }
}

impl Run {
    /// The experiment that is a curve.
    pub(super) fn draw(self) -> CommandResult {
        let curve = self.curve().map_err(Failure::usage)?;
        let run = |tell: &mut dyn FnMut(&str), session: &os::Session| {
            redo_size::run(&curve, &os::linux::interrupted, tell, session)
        };
        let telling = Telling {
            text: redo_size::Report::text,
            json: redo_size::Report::json,
            lost: |found: &redo_size::Report| found.commits().lost(),
        };
        self.answer(run, &telling)
    }

    fn curve(&self) -> Result<Curve, String> {
        self.compares_nothing(redo_size::NAME, "draws a curve", self.how.given())?;
        self.has_no_option_of_others(redo_size::NAME)?;
        let command = self.command_of(redo_size::NAME);
        Ok(Curve {
            sizes: if self.place.simulate.is_some() { Sizes::MODELLED } else { Sizes::HERE },
            run_on: self.place.run_on(DISK),
            seed: self.place.seed,
            commit: COMMIT.to_string(),
            command,
        })
    }

    /// The experiment on writers, which is a table.
    pub(super) fn tabulate(self) -> CommandResult {
        let matrix = self.matrix().map_err(Failure::usage)?;
        let telling = Telling {
            text: free_buffer_waits::Report::text,
            json: free_buffer_waits::Report::json,
            lost: |found: &free_buffer_waits::Report| found.commits().lost(),
        };
        self.fill(
            |follower, session| {
                free_buffer_waits::run(&matrix, &os::linux::interrupted, follower, session)
            },
            &telling,
        )
    }

    /// The experiment on block sizes, which is a table.
    pub(super) fn scan(self) -> CommandResult {
        let scans = self.scans().map_err(Failure::usage)?;
        let telling = Telling {
            text: block_size_scan::Report::text,
            json: block_size_scan::Report::json,
            lost: |found: &block_size_scan::Report| found.commits().lost(),
        };
        self.fill(
            |follower, session| {
                block_size_scan::run(&scans, &os::linux::interrupted, follower, session)
            },
            &telling,
        )
    }

    /// Runs an experiment that is a table of cells, with a row for each run, and shows what it
    /// found.
    fn fill<F>(
        &self,
        run: impl FnOnce(&mut dyn Follower, &os::Session) -> Result<Option<F>, Stop>,
        telling: &Telling<F>,
    ) -> CommandResult {
        Outputs::check(self.how.rows.as_deref(), None)?;
        let session = begin();
        let mut outputs = Outputs::make(self.how.rows.as_deref(), None, &session)?;
        let progress = Progress::new();
        let written = &mut outputs;
        let mut following =
            Following { progress, outputs: written, call: None, is_told: false, threshold: None };
        let found = run(&mut following, &session);
        following.progress.end();
        if matches!(found, Ok(Some(_))) {
            let ended = outputs.end_rows();
            return match (ended, self.shown(found, None, telling)) {
                (Ok(()), shown) => shown,
                (Err(error), Ok(text)) => Err(Failure::from(error).behind(text)),
                (Err(error), Err(lost)) => Err(lost.saying(&error.to_string())),
            };
        }
        let left = outputs.without_answer(self.how.rows.as_deref(), found.as_ref().err());
        self.shown(found, left.rows, telling).map_err(|why| left.told(why))
    }

    /// Runs an experiment that gives what it found, and shows that as text or as JSON.
    fn answer<F>(
        &self,
        run: impl FnOnce(&mut dyn FnMut(&str), &os::Session) -> Result<Option<F>, Stop>,
        telling: &Telling<F>,
    ) -> CommandResult {
        let session = begin();
        let mut progress = Progress::new();
        let found = run(&mut |line: &str| progress.tell(line), &session);
        progress.end();
        self.shown(found, None, telling)
    }

    /// What was found, or that it was stopped; `rows` is the file of what was measured, if that is
    /// kept.
    fn shown<F>(
        &self,
        found: Result<Option<F>, Stop>,
        rows: Option<&Path>,
        telling: &Telling<F>,
    ) -> CommandResult {
        match found {
            Ok(Some(found)) => telling.tell(&found, self.place.json),
            Ok(None) => Err(Failure::stopped(match rows {
                Some(rows) => format!(
                    "stopped before it had an answer; what was measured is in {}",
                    rows.display()
                ),
                None => "stopped before it had an answer; nothing is left behind".to_owned(),
            })),
            Err(stop) => Err(match rows {
                Some(rows) => failure(stop)
                    .saying(&format!("what was measured until then is in {}", rows.display())),
                None => failure(stop),
            }),
        }
    }

    fn matrix(&self) -> Result<Matrix, String> {
        let given = self.how.given_but(&["--rows"]);
        self.compares_nothing(free_buffer_waits::NAME, "fills a table", given)?;
        self.has_no_option_of_others(free_buffer_waits::NAME)?;
        let here = self.place.simulate.is_none();
        let disk = self.paced.as_deref().unwrap_or(free_buffer_waits::DISK);
        let paced = (here && disk != "no").then(|| disk.to_string());
        let mut command = self.command_of(free_buffer_waits::NAME);
        if here {
            command += &format!(" --paced {disk}");
        }
        Ok(Matrix {
            size: if here { Size::HERE } else { Size::MODELLED },
            settings: Setting::all(),
            run_on: self.place.run_on(free_buffer_waits::DISK),
            paced,
            seed: self.place.seed,
            commit: COMMIT.to_string(),
            command,
        })
    }

    fn scans(&self) -> Result<Scans, String> {
        let name = block_size_scan::NAME;
        let given = self.how.given_but(&["--rows", "--full", "--matters"]);
        self.compares_nothing(name, "fills a table", given)?;
        self.has_no_option_of_others(name)?;
        let size = match (&self.place.simulate, self.how.full) {
            (Some(_), _) => block_size_scan::Size::MODELLED,
            (None, true) => block_size_scan::Size::FULL,
            (None, false) => block_size_scan::Size::HERE,
        };
        let mut command = self.command_of(name);
        if self.how.full {
            command += " --full";
        }
        if let Some(rows) = self.table_rows {
            command += &format!(" --table-rows {rows}");
        }
        if let Some(percent) = self.how.matters {
            command += &format!(" --matters {percent}");
        }
        Ok(Scans {
            size: block_size_scan::Size { rows: self.table_rows.unwrap_or(size.rows), ..size },
            settings: block_size_scan::Setting::all(),
            matters: 1.0 + self.how.matters.unwrap_or(block_size_scan::MATTERS) / 100.0,
            run_on: self.place.run_on(DISK),
            seed: self.place.seed,
            commit: COMMIT.to_string(),
            command,
        })
    }

    /// Refuses options that are of experiments that compare settings.
    fn compares_nothing(
        &self,
        name: &str,
        does: &str,
        given: Option<&'static str>,
    ) -> Result<(), String> {
        let set = (!self.settings.again().is_empty()).then_some("--set");
        match given.or(set) {
            Some(option) => {
                Err(format!("{name} {does} and doesn't compare settings: leave {option} out"))
            }
            None => Ok(()),
        }
    }

    /// Refuses options that are of one experiment only, which isn't the one of this name.
    pub(super) fn has_no_option_of_others(&self, name: &str) -> Result<(), String> {
        let paces = free_buffer_waits::NAME;
        if self.paced.is_some() && name != paces {
            let only = format!("only {paces} runs on a disk that is made slow");
            return Err(format!("{only}: leave --paced out"));
        }
        let scans = block_size_scan::NAME;
        if self.table_rows.is_some() && name != scans {
            let only = format!("only {scans} has tables of a number of rows");
            return Err(format!("{only}: leave --table-rows out"));
        }
        Ok(())
    }

    fn command_of(&self, name: &str) -> String {
        format!("forebay lab run {name}") + &self.place.again()
    }
}

#[cfg(test)]
mod tests {
    use super::Telling;

    /// A script that only looks at the exit status shouldn't take the figures.
    #[test]
    fn a_report_with_lost_commits_is_told_and_is_a_failure() {
        let telling = Telling::<u64> {
            text: |_| "a report\n".to_owned(),
            json: |_| "{}".to_owned(),
            lost: |lost| *lost,
        };
        assert!(matches!(telling.tell(&0, false), Ok(text) if text == "a report\n"));
        assert!(matches!(telling.tell(&0, true), Ok(json) if json == "{}\n"));
        for (as_json, shown) in [(false, "a report"), (true, "{}")] {
            let failure = telling.tell(&2, as_json).expect_err("two commits were lost");
            let failure = format!("{failure:?}");
            assert!(failure.contains("status: 1,") && failure.contains(shown), "{failure}");
            assert!(failure.contains("2 commits LOST"), "{failure}");
        }
    }
}
