//! The files that an experiment writes: its rows, and its page.
//!
//! Rows are appended as runs end, so that what was measured is kept however the program ends.
//!
//! Callers: `laboratory`.

use std::path::Path;

use experiment::{Asked, Audit, Call, Rule, Run, Verdict, Whole};
use lab::Follower;
use os::{Disk, File, FileOperation, FileOptions, Session};
use stop::{RefusalKind, Stop};

use crate::output::Failure;
use crate::progress::Progress;

pub(super) const OPTIONS: FileOptions = FileOptions { direct: false, write_through: false };

/// The files, made before an experiment begins, so that what can't be made costs no experiment.
pub(super) struct Outputs<'s> {
    rows: Option<OutputFile>,
    html: Option<OutputFile>,
    session: &'s Session,
    /// The first failure to write a row; nothing is written behind it.
    failed: Option<os::Error>,
    /// There are rows in the file, so that it stays.
    has_rows: bool,
}

impl<'s> Outputs<'s> {
    pub(super) fn make(
        rows: Option<&Path>,
        html: Option<&Path>,
        session: &'s Session,
    ) -> Result<Outputs<'s>, os::Error> {
        let make =
            |path: Option<&Path>| path.map(|path| OutputFile::make(path, session)).transpose();
        let rows = make(rows)?;
        match make(html) {
            Ok(html) => Ok(Outputs { rows, html, session, failed: None, has_rows: false }),
            Err(error) => {
                rows.map_or(Ok(()), |rows| rows.remove(session))?;
                Err(error)
            }
        }
    }

    /// As `make`, but rows go on behind what is whole of a file that is there. Refused while
    /// another experiment writes it.
    pub(super) fn going_on(
        rows: &Path,
        whole: Whole,
        html: Option<&Path>,
        session: &'s Session,
    ) -> Result<Outputs<'s>, Failure> {
        let disk = os::linux::disk();
        let file = disk.open(rows, OPTIONS, session)?;
        if !file.try_lock()? {
            return Err(Failure::usage(format!(
                "{} is being written by an experiment: stop that one first",
                rows.display()
            )));
        }
        // It was read before it was locked, and another experiment may have ended in between.
        if file.length()? != whole.text_bytes as u64 {
            return Err(Failure::usage(format!(
                "{} has changed since it was read: try again",
                rows.display()
            )));
        }
        let mut rows = OutputFile { disk, file, length: whole.bytes as u64 };
        rows.file.set_len(rows.length, FileOperation::Resize.waiting(session))?;
        if whole.lacks_line_end {
            rows.append("\n", session)?;
        }
        let mut outputs = Outputs::make(None, html, session)?;
        (outputs.rows, outputs.has_rows) = (Some(rows), true);
        Ok(outputs)
    }

    fn line(&mut self, line: &str) {
        let Some(rows) = self.rows.as_mut().filter(|_| self.failed.is_none()) else { return };
        if let Err(error) = rows.append(&format!("{line}\n"), self.session) {
            self.failed.get_or_insert(error);
        }
    }

    /// Writes the page, and what is to be durable of the rows.
    pub(super) fn end(self, verdict: &Verdict, rows: &[Run]) -> Result<(), os::Error> {
        let session = self.session;
        self.failed.map_or(Ok(()), Err)?;
        self.rows.map_or(Ok(()), |file| file.sync(session))?;
        let Some(mut html) = self.html else { return Ok(()) };
        html.append(&verdict.html(rows), session)?;
        html.sync(session)
    }

    /// As `end`, of an experiment that has rows and no page.
    pub(super) fn end_rows(self) -> Result<(), os::Error> {
        let session = self.session;
        self.failed.map_or(Ok(()), Err)?;
        self.rows.map_or(Ok(()), |file| file.sync(session))
    }

    /// There is no answer, for this failure if it wasn't stopped. Rows are kept if there are any,
    /// in the file of this name. What a database did whose books are wrong is worth nothing: its
    /// rows say so, and nobody is sent to them.
    pub(super) fn without_answer<P>(mut self, rows_file: Option<P>, why: Option<&Stop>) -> Left<P> {
        let corrupt = why.filter(|why| why.refusal() == Some(RefusalKind::Corrupt));
        if let Some(corrupt) = corrupt {
            self.line(&experiment::corrupt_line(&corrupt.to_string()));
        }
        let (session, has_rows) = (self.session, self.has_rows);
        let (kept, gone) = if has_rows { (self.rows, None) } else { (None, self.rows) };
        let synced = kept.map_or(Ok(()), |rows| rows.sync(session));
        let removed =
            [gone, self.html].into_iter().flatten().try_for_each(|file| file.remove(session));
        let wrong = self.failed.or(synced.and(removed).err());
        Left { rows: rows_file.filter(|_| has_rows && corrupt.is_none()), wrong }
    }
}

/// What is left of an experiment without an answer.
pub(super) struct Left<P> {
    /// The name of the file of rows, if there are rows and they are worth something.
    pub(super) rows: Option<P>,
    /// A file couldn't be written, or removed.
    wrong: Option<os::Error>,
}

impl<P> Left<P> {
    /// Why there is none, with what else went wrong.
    pub(super) fn told(&self, why: Failure) -> Failure {
        match &self.wrong {
            Some(error) => why.saying(&error.to_string()),
            None => why,
        }
    }
}

struct OutputFile {
    disk: Disk,
    file: File,
    length: u64,
}

impl OutputFile {
    fn make(path: &Path, session: &Session) -> Result<OutputFile, os::Error> {
        let disk = os::linux::disk();
        let file = disk.create(path, 0, OPTIONS, session)?;
        // Nobody goes on with it meanwhile.
        file.try_lock()?;
        Ok(OutputFile { disk, file, length: 0 })
    }

    fn append(&mut self, text: &str, session: &Session) -> Result<(), os::Error> {
        let waiting = FileOperation::Fill.waiting(session);
        self.file.write_at(self.length, text.as_bytes(), waiting)?;
        self.length += text.len() as u64;
        Ok(())
    }

    fn sync(&self, session: &Session) -> Result<(), os::Error> {
        self.file.sync(FileOperation::Sync.waiting(session))
    }

    fn remove(self, session: &Session) -> Result<(), os::Error> {
        self.disk.remove(self.file.path(), session)
    }
}

/// Shows the progress, and writes rows as they come.
pub(super) struct Following<'o, 's> {
    pub(super) progress: Progress,
    pub(super) outputs: &'o mut Outputs<'s>,
    /// What the line before the rows says of the command, if there is such a line.
    pub(super) call: Option<Call>,
    /// That line is there, of an experiment that goes on. If it begins anew it is told again.
    pub(super) is_told: bool,
}

impl Follower for Following<'_, '_> {
    fn tell(&mut self, line: &str) {
        self.progress.tell(line);
    }

    fn shows(&mut self, line: &str, share: f64) {
        self.progress.show_share(line, share);
    }

    fn begins(&mut self, rule: &Rule, model: &str, notes: &[String]) {
        let is_told = std::mem::take(&mut self.is_told);
        let Some(call) = self.call.clone().filter(|_| !is_told) else { return };
        let (rule, model, notes) = (*rule, model.to_owned(), notes.to_vec());
        let line = Asked { rule, call, model, notes }.to_json_line();
        self.outputs.line(&line);
    }

    fn row(&mut self, run: &Run) {
        self.outputs.line(&run.to_json_line());
        self.outputs.has_rows = true;
    }

    fn audited(&mut self, audit: Audit) {
        self.outputs.line(&audit.to_json_line());
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes behind the program's back")]
mod tests {
    use super::*;

    /// Rows that another experiment has appended since aren't cut off.
    #[test]
    fn a_file_that_has_grown_since_it_was_read_stays_as_it_is() {
        let path = std::env::temp_dir().join(format!("forebay-grown-{}", std::process::id()));
        std::fs::write(&path, "a row\nanother\n").expect("written");
        let session = os::linux::start().adopt("test", waits::SessionKind::Foreground);
        let whole = |text_bytes| Whole { bytes: 6, text_bytes, lacks_line_end: false };
        let refused = Outputs::going_on(&path, whole(6), None, &session);
        let there = std::fs::read_to_string(&path).expect("there");
        let went_on = Outputs::going_on(&path, whole(14), None, &session).is_ok();
        std::fs::remove_file(&path).expect("removed");
        assert!(refused.is_err() && went_on);
        assert_eq!(there, "a row\nanother\n");
    }

    /// Its rows stay, say what was found, and nobody is sent to them.
    #[test]
    fn rows_of_a_corrupt_database_say_so() {
        let path = std::env::temp_dir().join(format!("forebay-corrupt-{}", std::process::id()));
        let session = os::linux::start().adopt("test", waits::SessionKind::Foreground);
        for (kind, ends) in
            [(RefusalKind::Corrupt, "{\"corrupt\":\"off\"}\n"), (RefusalKind::Io, "")]
        {
            let mut outputs = Outputs::make(Some(&path), None, &session).expect("made");
            outputs.has_rows = true;
            let left = outputs.without_answer(Some(&path), Some(&Stop::refuse(kind, "off")));
            let there = std::fs::read_to_string(&path).expect("there");
            std::fs::remove_file(&path).expect("removed");
            assert_eq!(there, ends);
            assert_eq!(left.rows.is_some(), kind == RefusalKind::Io);
        }
    }
}
