//! The files that an experiment writes: its rows, and its page.
//!
//! Rows are appended as runs end, so that what was measured is kept however the program ends. A
//! page is written beside its name, and gets that when it is whole: no half of one is left. Only
//! where no other file may have its name it is written over.
//!
//! Callers: `laboratory`.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use experiment::{Asked, Audit, Call, Rule, Run, Verdict, Whole, hash_of};
use lab::Follower;
use os::{Cause, Disk, File, FileOperation, FileOptions, NameKind, Session, TEMPORARY_NAME_END};
use stop::{RefusalKind, Stop};

use crate::output::{Failure, tell};
use crate::progress::Progress;

pub(super) const OPTIONS: FileOptions = FileOptions { direct: false, write_through: false };

/// The files, made before an experiment begins, so that what can't be made costs no experiment.
pub(super) struct Outputs<'s> {
    rows: Option<OutputFile>,
    html: Option<OutputFile>,
    session: &'s Session,
    /// Lines that couldn't be written yet, the oldest first: each line tries them again.
    waiting: VecDeque<Line>,
    /// Why not, at the last try.
    failed: Option<os::Error>,
    /// There are rows in the file, so that it stays.
    has_rows: bool,
    /// What stands at the end of the page.
    mark: String,
}

/// A line of the file of rows.
struct Line {
    /// With its line end.
    text: String,
    is_row: bool,
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
            Ok(html) => {
                let (waiting, failed, has_rows) = (VecDeque::new(), None, false);
                Ok(Outputs { rows, html, session, waiting, failed, has_rows, mark: String::new() })
            }
            Err(error) => {
                rows.map_or(Ok(()), |rows| rows.remove(session))?;
                Err(error)
            }
        }
    }

    /// The same, whose page ends with this mark ([`mark_of`]).
    pub(super) fn marked(self, mark: String) -> Outputs<'s> {
        Outputs { mark, ..self }
    }

    /// Refused if rows and page are to go to one file, or to what is no file's name.
    pub(super) fn check(rows: Option<&Path>, html: Option<&Path>) -> Result<(), Failure> {
        for (option, path) in [("--rows", rows), ("--html", html)] {
            if path == Some(Path::new("-")) {
                return Err(Failure::usage(format!(
                    "{option} wants the name of a file, and '-' isn't standard output here: choose \
                     a name, such as ./-"
                )));
            }
        }
        let (Some(rows), Some(html)) = (rows, html) else { return Ok(()) };
        let is_one = match [rows, html].map(std::path::absolute) {
            [Ok(rows), Ok(html)] => rows == html,
            _ => rows == html,
        };
        match is_one {
            true => Err(Failure::usage(format!(
                "--html names the file of rows, {}: choose another name for the page",
                rows.display()
            ))),
            false => Ok(()),
        }
    }

    /// As `make`, but rows go on behind what is whole of a file that is there, and the page with
    /// this mark, which the experiment wrote when it was stopped, is written over. Refused while
    /// another experiment writes the rows.
    pub(super) fn going_on(
        rows: &Path,
        whole: Whole,
        html: Option<&Path>,
        mark: &str,
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
        let html = html.map(|path| OutputFile::make_again(path, mark, session)).transpose()?;
        let mut rows = OutputFile { disk, file, length: whole.bytes as u64, was: Was::Own };
        rows.file.set_len(rows.length, FileOperation::Resize.waiting(session))?;
        if whole.lacks_line_end {
            rows.append("\n", session)?;
        }
        let mut outputs = Outputs::make(None, None, session)?;
        (outputs.rows, outputs.html, outputs.has_rows) = (Some(rows), html, true);
        Ok(outputs)
    }

    /// Writes a line behind those that wait. Returns what a person should know of it: that lines
    /// can't be written any more, or can be again.
    fn line(&mut self, text: String, is_row: bool) -> Option<String> {
        self.rows.as_ref()?;
        self.waiting.push_back(Line { text: text + "\n", is_row });
        let was_failing = self.failed.is_some();
        self.flush();
        match &self.failed {
            Some(error) if !was_failing => {
                Some(format!("{error}; rows are kept in memory until they can be written"))
            }
            None if was_failing => Some("rows are written again, and none is lost".to_owned()),
            _ => None,
        }
    }

    /// Writes what waits. A line that was written in part is written over by the next try.
    fn flush(&mut self) {
        let Some(rows) = &mut self.rows else { return };
        self.failed = None;
        while let Some(line) = self.waiting.front() {
            if let Err(error) = rows.append(&line.text, self.session) {
                self.failed = Some(error);
                return;
            }
            self.has_rows |= line.is_row;
            self.waiting.pop_front();
        }
    }

    /// Writes the page, and what is to be durable of the rows. If only one of them can be written,
    /// that is.
    pub(super) fn end(self, verdict: &Verdict, rows: &[Run]) -> Result<(), os::Error> {
        let page = self.html.as_ref().map(|_| verdict.html(rows) + &self.mark);
        self.end_with(page)
    }

    fn end_with(mut self, page: Option<String>) -> Result<(), os::Error> {
        let session = self.session;
        let written: Result<(), os::Error> =
            self.html.take().zip(page).map_or(Ok(()), |(html, page)| html.publish(&page, session));
        self.end_rows().and(written)
    }

    /// As `end`, of an experiment that has rows and no page.
    pub(super) fn end_rows(mut self) -> Result<(), os::Error> {
        self.flush();
        let session = self.session;
        let synced = self.rows.map_or(Ok(()), |file| file.sync(session));
        self.failed.map_or(synced, Err)
    }

    /// There is no answer, for this failure if it wasn't stopped. Rows are kept if there are any,
    /// in the file of this name. What a database did whose books are wrong is worth nothing: its
    /// rows say so, and nobody is sent to them.
    pub(super) fn without_answer<P>(mut self, rows_file: Option<P>, why: Option<&Stop>) -> Left<P> {
        let corrupt = why.filter(|why| why.refusal() == Some(RefusalKind::Corrupt));
        match corrupt {
            Some(corrupt) => {
                // Rows that wait are worth nothing: what says so of the others comes first.
                self.waiting.clear();
                self.line(experiment::corrupt_line(&corrupt.to_string()), false);
            }
            None => self.flush(),
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

/// The file of this name, locked, if it is empty and no program has it.
fn empty(disk: &Disk, path: &Path, session: &Session) -> Result<Option<File>, os::Error> {
    match disk.open(path, OPTIONS, session) {
        Ok(file) => Ok(is_free(disk, &file, session)?.then_some(file)),
        Err(error) if error.cause() == Cause::NotAFile => {
            Err(error.advise("choose the name of a file"))
        }
        // What else can't be opened to be written is refused as what exists.
        Err(_) => Ok(None),
    }
}

/// Whether no program has this file, and it is empty. It is locked then. A program that made it may
/// have removed it before it let go.
fn is_free(disk: &Disk, file: &File, session: &Session) -> Result<bool, os::Error> {
    Ok(file.try_lock()? && file.length()? == 0 && disk.has_its_name(file, session)?)
}

/// The page of this name, locked, if it ends with this mark and no program has it.
fn page_with(
    mark: &str,
    disk: &Disk,
    path: &Path,
    session: &Session,
) -> Result<Option<File>, os::Error> {
    let Ok(file) = disk.open(path, OPTIONS, session) else { return Ok(None) };
    let Some(at) = file.length()?.checked_sub(mark.len() as u64) else { return Ok(None) };
    if !file.try_lock()? || !disk.has_its_name(&file, session)? {
        return Ok(None);
    }
    let mut end = vec![0; mark.len()];
    file.read_at(at, &mut end, FileOperation::Read.waiting(session))?;
    Ok((end == mark.as_bytes()).then_some(file))
}

/// The mark of the pages of the experiment that this call asked for: by it the experiment knows its
/// own page when it goes on. The names of its files are in it.
pub(super) fn mark_of(call: &Call) -> String {
    let words = call.arguments.iter().chain([&call.commit]).map(String::as_str);
    format!("<!-- forebay lab {} -->\n", hash_of(words))
}

/// A name in the same folder, which is short enough wherever that of the file is.
fn beside(path: &Path, session: &Session) -> PathBuf {
    let random = session.os().random() as u32;
    path.with_file_name(format!("page-{random:08x}{TEMPORARY_NAME_END}"))
}

struct OutputFile {
    disk: Disk,
    file: File,
    length: u64,
    was: Was,
}

/// What was there before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Was {
    Nothing,
    /// An empty file: a user may have made it so, so it stays.
    Empty,
    /// What the experiment wrote before it was stopped: it stays until there is another.
    Own,
}

impl OutputFile {
    /// Makes the file. One that is there is refused, but for an empty one that nobody has open: a
    /// program leaves that if it is killed before it writes.
    fn make(path: &Path, session: &Session) -> Result<OutputFile, os::Error> {
        let disk = os::linux::disk();
        let (file, was) = match disk.create(path, 0, OPTIONS, session) {
            Err(exists) if exists.cause() == Cause::AlreadyExists => {
                (empty(&disk, path, session)?.ok_or(exists)?, Was::Empty)
            }
            made => (made?, Was::Nothing),
        };
        // Nobody goes on with it meanwhile.
        file.try_lock()?;
        Ok(OutputFile { disk, file, length: 0, was })
    }

    /// Makes the page, or takes the one with this mark, to write it over.
    fn make_again(path: &Path, mark: &str, session: &Session) -> Result<OutputFile, Failure> {
        let exists = match OutputFile::make(path, session) {
            Err(error) if error.cause() == Cause::AlreadyExists => error,
            made => return Ok(made?),
        };
        let disk = os::linux::disk();
        match page_with(mark, &disk, path, session)? {
            Some(file) => Ok(OutputFile { disk, file, length: 0, was: Was::Own }),
            None => Err(Failure::from(exists)
                .saying("only the page that this experiment wrote itself is written over")),
        }
    }

    /// Makes this text all that is in it, durably. If that fails, what was there before is there,
    /// unless it had to be written over.
    fn publish(mut self, text: &str, session: &Session) -> Result<(), os::Error> {
        let written = match self.is_replaced(session) {
            Ok(true) => self.replace(text, session),
            Ok(false) => self.fill(text, session),
            Err(error) => Err(error),
        };
        if written.is_err() {
            // Why it can't be written is what there is to say.
            let _ = self.remove(session);
        }
        written
    }

    fn fill(&mut self, text: &str, session: &Session) -> Result<(), os::Error> {
        if self.was == Was::Own {
            // A beginning of the new page is better than one with the end of the old one.
            self.file.set_len(0, FileOperation::Resize.waiting(session))?;
        }
        self.append(text, session)?;
        self.sync(session)
    }

    /// Whether another file may get its name: it isn't the user's own, nor a link or a device.
    fn is_replaced(&self, session: &Session) -> Result<bool, os::Error> {
        let kind = self.disk.look_up(self.file.path(), session)?;
        Ok(self.was != Was::Empty && kind.is_none_or(|kind| kind == NameKind::File))
    }

    /// Writes this text to a file beside it, which then gets its name. Where no other file can be
    /// made that has its rights, as in a folder of another user, it is written over.
    fn replace(&mut self, text: &str, session: &Session) -> Result<(), os::Error> {
        let beside = beside(self.file.path(), session);
        match self.disk.replace(&self.file, &beside, text.as_bytes(), session) {
            Err(refused) if refused.cause() == Cause::PermissionDenied => self.fill(text, session),
            Err(error) => Err(error.while_doing(format!("write {}", self.file.path().display()))),
            Ok(()) => Ok(()),
        }
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

    /// Leaves what was there before.
    fn remove(self, session: &Session) -> Result<(), os::Error> {
        match self.was {
            // The name may be another file's by now.
            Was::Nothing => match self.disk.has_its_name(&self.file, session)? {
                true => self.disk.remove(self.file.path(), session),
                false => Ok(()),
            },
            Was::Empty => self.file.set_len(0, FileOperation::Resize.waiting(session)),
            Was::Own => Ok(()),
        }
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
    /// What matters by that line, if something else does this time: another `lab resume` checks
    /// the rows by it.
    pub(super) threshold: Option<f64>,
}

impl Follower for Following<'_, '_> {
    fn tell(&mut self, line: &str) {
        self.progress.tell(line);
    }

    fn notice(&mut self, line: &str) {
        tell(&format!("\nnotice: {line}"));
    }

    fn shows(&mut self, line: &str, share: f64) {
        self.progress.show_share(line, share);
    }

    fn begins(&mut self, rule: &Rule, model: &str, notes: &[String]) {
        let is_told = std::mem::take(&mut self.is_told);
        let Some(call) = self.call.clone().filter(|_| !is_told) else { return };
        let rule = Rule { threshold: self.threshold.unwrap_or(rule.threshold), ..*rule };
        let (model, notes) = (model.to_owned(), notes.to_vec());
        self.line(Asked { rule, call, model, notes }.to_json_line(), false);
    }

    fn row(&mut self, run: &Run) {
        self.line(run.to_json_line(), true);
    }

    fn noted(&mut self, note: &str) {
        self.line(experiment::note_line(note), false);
    }

    fn audited(&mut self, audit: Audit) {
        self.line(audit.to_json_line(), false);
    }
}

impl Following<'_, '_> {
    /// Writes a line of the file of rows. What goes wrong with it is told at once: an experiment
    /// may go on for a day.
    fn line(&mut self, text: String, is_row: bool) {
        if let Some(told) = self.outputs.line(text, is_row) {
            self.notice(&told);
        }
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
        let refused = Outputs::going_on(&path, whole(6), None, "", &session);
        let there = std::fs::read_to_string(&path).expect("there");
        let went_on = Outputs::going_on(&path, whole(14), None, "", &session).is_ok();
        std::fs::remove_file(&path).expect("removed");
        assert!(refused.is_err() && went_on);
        assert_eq!(there, "a row\nanother\n");
    }

    /// A second Ctrl-C, while all blocks are simulated, kills the program before it writes a page.
    #[test]
    fn an_empty_file_that_a_killed_program_left_is_taken() {
        let path = std::env::temp_dir().join(format!("forebay-empty-{}", std::process::id()));
        std::fs::write(&path, "").expect("written");
        let session = os::linux::start().adopt("test", waits::SessionKind::Foreground);
        let taken = Outputs::make(None, Some(&path), &session);
        let beside = Outputs::make(None, Some(&path), &session).err();
        assert!(taken.is_ok(), "it is refused");
        assert!(beside.is_some_and(|error| error.cause() == Cause::AlreadyExists));
        drop(taken);
        std::fs::write(&path, "mine").expect("written");
        let full = Outputs::make(Some(&path), None, &session).err();
        let there = std::fs::read_to_string(&path).expect("there");
        std::fs::remove_file(&path).expect("removed");
        assert!(full.is_some_and(|error| error.cause() == Cause::AlreadyExists));
        assert_eq!(there, "mine");
    }

    /// `--rows $(mktemp)`: what the lab didn't make isn't the lab's to remove.
    #[test]
    fn an_empty_file_of_the_user_stays_where_an_experiment_is_refused() {
        let path = std::env::temp_dir().join(format!("forebay-mine-{}", std::process::id()));
        let session = os::linux::start().adopt("test", waits::SessionKind::Foreground);
        for was_there in [true, false] {
            if was_there {
                std::fs::write(&path, "").expect("written");
            }
            let mut outputs = Outputs::make(Some(&path), None, &session).expect("taken");
            // What isn't a row isn't kept.
            outputs.line("what was asked".to_owned(), false);
            assert!(outputs.without_answer(Some(&path), None).rows.is_none());
            let length = std::fs::metadata(&path).ok().map(|file| file.len());
            let _ = std::fs::remove_file(&path);
            assert_eq!(length, was_there.then_some(0));
        }
    }

    /// Else a day of rows is written to a file that another program has just removed.
    #[test]
    fn an_empty_file_whose_name_is_gone_is_not_taken() {
        let path = std::env::temp_dir().join(format!("forebay-nameless-{}", std::process::id()));
        let session = os::linux::start().adopt("test", waits::SessionKind::Foreground);
        std::fs::write(&path, "").expect("written");
        let disk = os::linux::disk();
        let open = || disk.open(&path, OPTIONS, &session).expect("there");
        let (before, again) = (open(), open());
        assert!(is_free(&disk, &before, &session).expect("looked at"));
        drop(before);
        std::fs::remove_file(&path).expect("removed");
        assert!(!is_free(&disk, &again, &session).expect("looked at"));
    }

    /// Else only the first verdict would say it.
    #[test]
    fn a_note_is_a_line_of_the_file_of_rows() {
        let path = std::env::temp_dir().join(format!("forebay-note-{}", std::process::id()));
        let session = os::linux::start().adopt("test", waits::SessionKind::Foreground);
        let mut outputs = Outputs::make(Some(&path), None, &session).expect("made");
        let progress = Progress::new();
        let outputs = &mut outputs;
        let mut following =
            Following { progress, outputs, call: None, is_told: false, threshold: None };
        following.noted("it stood still");
        let there = std::fs::read_to_string(&path).expect("there");
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(there, "{\"note\":\"it stood still\"}\n");
    }

    /// A file that nothing can be written to.
    fn closed(name: &str, session: &Session) -> (std::path::PathBuf, OutputFile) {
        let path = std::env::temp_dir().join(format!("forebay-{name}-{}", std::process::id()));
        std::fs::write(&path, "").expect("written");
        let disk = os::linux::disk();
        let file = disk.open_read_only(&path, OPTIONS, session).expect("there");
        (path, OutputFile { disk, file, length: 0, was: Was::Nothing })
    }

    /// A device may be full for a moment of a day: that is told at once, and costs no row.
    #[test]
    fn rows_that_could_not_be_written_are_written_later() {
        let session = os::linux::start().adopt("test", waits::SessionKind::Foreground);
        let (path, file) = closed("later", &session);
        let mut outputs = Outputs::make(None, None, &session).expect("none is made");
        outputs.rows = Some(file);
        let told = outputs.line("one".to_owned(), true).expect("it is told");
        assert!(told.contains("cannot write"), "{told}");
        assert!(!outputs.has_rows, "it is in no file yet");
        assert_eq!(outputs.line("two".to_owned(), true), None, "it is told once");
        let disk = os::linux::disk();
        let file = disk.open(&path, OPTIONS, &session).expect("there");
        outputs.rows = Some(OutputFile { disk, file, length: 0, was: Was::Nothing });
        let told = outputs.line("three".to_owned(), false);
        let there = std::fs::read_to_string(&path).expect("there");
        std::fs::remove_file(&path).expect("removed");
        assert!(told.is_some_and(|told| told.contains("written again")));
        assert_eq!((there.as_str(), outputs.has_rows), ("one\ntwo\nthree\n", true));
    }

    /// A stopped experiment has a page, which it replaces when it goes on. Until then that stays,
    /// and so does the page of any other.
    #[test]
    fn the_page_with_the_mark_of_an_experiment_is_written_over_and_no_other() {
        let path = std::env::temp_dir().join(format!("forebay-mark-{}", std::process::id()));
        let session = os::linux::start().adopt("test", waits::SessionKind::Foreground);
        let call = |rows: &str| Call { arguments: vec![rows.to_owned()], ..Call::default() };
        let (mine, others) = (mark_of(&call("--rows=a")), mark_of(&call("--rows=b")));
        let written = |text: &str, mark: &str| {
            std::fs::write(&path, text).expect("written");
            let page = OutputFile::make_again(&path, mark, &session);
            let there = std::fs::read_to_string(&path).expect("there");
            (page, there)
        };
        let old = format!("a longer page{mine}");
        for mark in [others, "longer than all of it".repeat(9)] {
            let (page, there) = written(&old, &mark);
            assert!(page.is_err() && there == old, "{there}");
        }
        let (page, there) = written(&old, &mine);
        assert_eq!(there, old, "there is no other page yet");
        let page = page.unwrap_or_else(|_| panic!("it is its own"));
        page.publish("a page", &session).expect("written");
        let there = std::fs::read_to_string(&path).expect("there");
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(there, "a page");
    }

    /// What the user made has the user's rights, and may be where a link leads.
    #[test]
    fn only_a_page_of_the_lab_itself_is_replaced_by_another_file() {
        let session = os::linux::start().adopt("test", waits::SessionKind::Foreground);
        let path = std::env::temp_dir().join(format!("forebay-own-page-{}", std::process::id()));
        for was_there in [true, false] {
            if was_there {
                std::fs::write(&path, "").expect("written");
            }
            let page = OutputFile::make(&path, &session).expect("made");
            let before = page.file.identity().expect("it has one");
            page.publish("a page", &session).expect("written");
            let disk = os::linux::disk();
            let file = disk.open_read_only(&path, OPTIONS, &session).expect("there");
            let after = file.identity().expect("it has one");
            let there = std::fs::read_to_string(&path).expect("there");
            std::fs::remove_file(&path).expect("removed");
            assert_eq!((there.as_str(), before == after), ("a page", was_there));
        }
    }

    /// A page that a user has locked away, or shown to others, is that still.
    #[test]
    fn a_page_that_is_written_over_keeps_its_rights() {
        use std::os::unix::fs::PermissionsExt;
        let session = os::linux::start().adopt("test", waits::SessionKind::Foreground);
        let path = std::env::temp_dir().join(format!("forebay-rights-{}", std::process::id()));
        for rights in [0o600, 0o644] {
            std::fs::write(&path, "a page, and its mark").expect("written");
            let page = OutputFile::make_again(&path, "mark", &session);
            let page = page.unwrap_or_else(|_| panic!("it is its own"));
            // While the experiment goes on.
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(rights)).expect("mine");
            page.publish("another", &session).expect("written");
            let has = std::fs::metadata(&path).expect("there").permissions().mode();
            let there = std::fs::read_to_string(&path).expect("there");
            std::fs::remove_file(&path).expect("removed");
            assert_eq!((there.as_str(), has & 0o777), ("another", rights));
        }
    }

    /// Rows that can't be written are told of at the end, and cost no page.
    #[test]
    fn a_page_is_written_where_rows_could_not_be() {
        let session = os::linux::start().adopt("test", waits::SessionKind::Foreground);
        let (path, file) = closed("no-rows", &session);
        let page = path.with_extension("html");
        let mut outputs = Outputs::make(None, Some(&page), &session).expect("made");
        outputs.rows = Some(file);
        outputs.line("one".to_owned(), true);
        let ended = outputs.end_with(Some("a page".to_owned()));
        let there = std::fs::read_to_string(&page).expect("there");
        std::fs::remove_file(&path).expect("removed");
        std::fs::remove_file(&page).expect("removed");
        assert!(ended.is_err_and(|error| error.to_string().contains("cannot write")));
        assert_eq!(there, "a page");
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
