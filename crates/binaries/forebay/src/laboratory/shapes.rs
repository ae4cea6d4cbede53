//! The two experiments that have shapes of their own: a curve, and a table.
//!
//! Callers: `laboratory`.

use std::path::Path;

use lab::free_buffer_waits::{self, Matrix, Setting, Size};
use lab::redo_size::{self, Curve, Sizes};
use report::paragraph;
use stop::Stop;

use super::outputs::{Following, Outputs};
use super::{COMMIT, DISK, Run, begin, failure};
use crate::output::CommandResult;
use crate::output::Failure;
use crate::progress::Progress;

impl Run {
    /// The experiment that is a curve.
    pub(super) fn draw(self) -> CommandResult {
        let curve = self.curve().map_err(Failure::usage)?;
        let run = |tell: &mut dyn FnMut(&str), session: &os::Session| {
            redo_size::run(&curve, &os::linux::interrupted, tell, session)
        };
        self.answer(run, redo_size::Report::text, redo_size::Report::json)
    }

    fn curve(&self) -> Result<Curve, String> {
        self.compares_nothing(redo_size::NAME, "draws a curve", self.how.given())?;
        self.paces_nothing()?;
        let command = self.command_of(redo_size::NAME);
        Ok(Curve {
            sizes: if self.place.simulate.is_some() { Sizes::MODELLED } else { Sizes::HERE },
            run_on: self.place.run_on(DISK),
            seed: self.place.seed,
            commit: COMMIT.to_string(),
            command,
        })
    }

    /// The experiment that is a table.
    pub(super) fn tabulate(self) -> CommandResult {
        let matrix = self.matrix().map_err(Failure::usage)?;
        Outputs::check(self.how.rows.as_deref(), None)?;
        let session = begin();
        let mut outputs = Outputs::make(self.how.rows.as_deref(), None, &session)?;
        let progress = Progress::new();
        let written = &mut outputs;
        let mut following =
            Following { progress, outputs: written, call: None, is_told: false, threshold: None };
        let found =
            free_buffer_waits::run(&matrix, &os::linux::interrupted, &mut following, &session);
        following.progress.end();
        let (text, json) = (free_buffer_waits::Report::text, free_buffer_waits::Report::json);
        if matches!(found, Ok(Some(_))) {
            let ended = outputs.end_rows();
            let text = self.shown(found, None, text, json)?;
            return match ended {
                Ok(()) => Ok(text),
                Err(error) => Err(Failure::from(error).behind(text)),
            };
        }
        let left = outputs.without_answer(self.how.rows.as_deref(), found.as_ref().err());
        self.shown(found, left.rows, text, json).map_err(|why| left.told(why))
    }

    /// Runs an experiment that gives what it found, and shows that as text or as JSON.
    fn answer<F>(
        &self,
        run: impl FnOnce(&mut dyn FnMut(&str), &os::Session) -> Result<Option<F>, Stop>,
        text: fn(&F) -> String,
        json: fn(&F) -> String,
    ) -> CommandResult {
        let session = begin();
        let mut progress = Progress::new();
        let found = run(&mut |line: &str| progress.tell(line), &session);
        progress.end();
        self.shown(found, None, text, json)
    }

    /// What was found, or that it was stopped; `rows` is the file of what was measured, if that is
    /// kept.
    fn shown<F>(
        &self,
        found: Result<Option<F>, Stop>,
        rows: Option<&Path>,
        text: fn(&F) -> String,
        json: fn(&F) -> String,
    ) -> CommandResult {
        match found {
            Ok(Some(found)) if self.place.json => Ok(json(&found) + "\n"),
            Ok(Some(found)) => Ok(text(&found).lines().map(fitting).collect()),
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
        self.compares_nothing(free_buffer_waits::NAME, "fills a table", self.how.given_but_rows())?;
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

    /// Refuses options that are of experiments that compare settings.
    fn compares_nothing(
        &self,
        name: &str,
        does: &str,
        given: Option<&'static str>,
    ) -> Result<(), String> {
        match given {
            Some(option) => {
                Err(format!("{name} {does} and doesn't compare settings: leave {option} out"))
            }
            None => Ok(()),
        }
    }

    /// Refuses an option that is of one experiment only.
    pub(super) fn paces_nothing(&self) -> Result<(), String> {
        match self.paced {
            Some(_) => Err(format!(
                "only {} runs on a disk that is made slow: leave --paced out",
                free_buffer_waits::NAME
            )),
            None => Ok(()),
        }
    }

    fn command_of(&self, name: &str) -> String {
        format!("forebay lab run {name}") + &self.place.again()
    }
}

/// The line, broken where it is too long for a screen.
fn fitting(line: &str) -> String {
    match line.len() {
        ..=80 => format!("{line}\n"),
        _ => paragraph(line, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::fitting;

    #[test]
    fn a_line_that_is_too_long_is_several_and_others_stay_as_they_are() {
        let bar = format!("   4.436        218  {}", "#".repeat(59));
        assert_eq!(fitting(&bar), format!("{bar}\n"));
        let long = fitting(&"a word ".repeat(30));
        assert!(long.lines().count() == 3 && long.lines().all(|line| line.len() <= 80), "{long}");
    }
}
