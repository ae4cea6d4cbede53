//! A file of rows: one JSON object a line.
//!
//! ```text
//!   {"asked": {...}}      what was asked: the rule, and the command line that goes on with it
//!   {"identity": ...}     a row for each run, appended when it has ended
//!   {"note": "..."}       how the blocks of an instance came about, for a reader of the verdict
//!   {"audit": {...}}      of an instance that runs share: whether commits survived its crash
//!   {"corrupt": "..."}    the database's books were found wrong, which ended the experiment
//! ```
//!
//! A second line of what was asked begins anew: the lines before it don't count once a row is
//! behind it. Of two rows of one place of one round the later counts.
//!
//! Callers: `forebay lab run --rows`, `lab resume`, `lab report`; programs that read its file.

use std::collections::BTreeMap;
use std::fmt;

use report::number::counted;
use serde::{Deserialize, Serialize};

use crate::{Commits, RoundKind, Rule, Run};

/// What was asked of the rows that follow.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Asked {
    /// The rule by which it is decided.
    pub rule: Rule,
    /// Who asked.
    #[serde(flatten)]
    pub call: Call,
    /// Of a simulated world: what the model stands for.
    pub model: String,
    /// What else a reader should know, in sentences.
    pub notes: Vec<String>,
}

/// How the program was called.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Call {
    /// The command line, as people write it.
    pub command: String,
    /// The words of the command line behind the program's name; none if one of them isn't text.
    pub arguments: Vec<String>,
    /// The commit that the program was built from.
    pub commit: String,
}

/// What a file of rows holds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Rows {
    /// What was asked, if the file says so.
    pub asked: Option<Asked>,
    /// The rows.
    pub runs: Vec<Run>,
    /// How they came about, in sentences.
    pub notes: Vec<String>,
    /// Of instances that the rows share: whether commits survived, where that was looked for.
    pub audits: Vec<Audit>,
    /// The database was found corrupt, and how: what such an engine measured is worth nothing.
    pub corrupt: Option<String>,
    /// The lines that are whole.
    pub whole: Whole,
}

/// The lines of a file of rows that are whole. What is behind them was being written when the
/// program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Whole {
    /// Where in the text they end.
    pub bytes: usize,
    /// Where the text ends.
    pub text_bytes: usize,
    /// Whether the last of them lacks its line end.
    pub lacks_line_end: bool,
}

/// Whether commits survived the crash of an instance that runs share.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Audit {
    /// Which instance: [`crate::Block::instance_ns`] of its rows. Older files don't say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_ns: Option<u64>,
    /// Its commits.
    #[serde(flatten)]
    pub commits: Commits,
}

/// The error of a line that is no row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowError {
    /// Which line, from 1.
    pub line: usize,
    what: String,
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} is no row of an experiment: {}", self.line, self.what)
    }
}

impl std::error::Error for RowError {}

impl Run {
    /// The row as a line of JSON, without its line end.
    pub fn to_json_line(&self) -> String {
        json(self)
    }
}

impl Asked {
    /// The first line of a file of rows, without its line end.
    pub fn to_json_line(&self) -> String {
        format!("{{\"asked\":{}}}", json(self))
    }
}

impl Audit {
    /// Adds it to these. An instance that was made again has another audit, which takes the place
    /// of the first, unless commits were lost in that.
    pub fn add_to(self, audits: &mut Vec<Audit>) {
        let is_same =
            |of: &&mut Audit| of.instance_ns.is_some() && of.instance_ns == self.instance_ns;
        match audits.iter_mut().find(is_same) {
            Some(known) if known.commits.lost() > 0 => {}
            Some(known) => *known = self,
            None => audits.push(self),
        }
    }

    /// The line of an instance's audit, without its line end.
    pub fn to_json_line(&self) -> String {
        format!("{{\"audit\":{}}}", json(self))
    }
}

/// The line of a note on how rows came about, without its line end.
pub fn note_line(note: &str) -> String {
    format!("{{\"note\":{}}}", json(&note))
}

/// The note, of an experiment that went on behind it.
pub fn before_resumed(note: &str) -> String {
    format!("Before it was resumed: {note}")
}

/// The line that ends the rows of a database that was found corrupt, without its line end.
pub fn corrupt_line(how: &str) -> String {
    format!("{{\"corrupt\":{}}}", json(&how))
}

fn json(of: &impl Serialize) -> String {
    serde_json::to_string(of).expect("strings and numbers always serialize")
}

/// Reads a file of rows; empty lines are passed over, and a last one that has no line end and is
/// none: the program ended while it was written.
pub fn parse_rows(text: &str) -> Result<Rows, RowError> {
    let mut reader = RowReader::default();
    text.as_bytes().split_inclusive(is_line_end).try_for_each(|line| reader.line(line))?;
    Ok(reader.end())
}

fn is_line_end(byte: &u8) -> bool {
    *byte == b'\n'
}

/// Reads a file of rows line by line, as [`parse_rows`] does: its text may be larger than what a
/// program likes to have in memory.
#[derive(Default)]
pub struct RowReader {
    rows: Rows,
    places: Places,
    /// What was there before the last line of what was asked, if no row is behind that yet.
    before: Option<Rows>,
    /// So many rows were of another command than those that count.
    others: usize,
    /// So many notes have a row behind them.
    resumed: usize,
    /// How many lines were read, and their bytes.
    lines: usize,
    bytes: usize,
}

/// The place of a row in its plan, and its index.
type Places = BTreeMap<(RoundKind, u32, u32), usize>;

impl RowReader {
    /// Reads the next line, with its line end. Only the last one may have none.
    pub fn line(&mut self, line: &[u8]) -> Result<(), RowError> {
        let has_end = line.ends_with(b"\n");
        let taken = match line.trim_ascii() {
            b"" => Ok(()),
            content => self.take(content),
        };
        self.lines += 1;
        self.bytes += line.len();
        match taken {
            Ok(()) => {
                let whole = &mut self.rows.whole;
                (whole.bytes, whole.lacks_line_end) = (self.bytes, !has_end);
                Ok(())
            }
            Err(_) if !has_end && self.lines > 1 => Ok(()),
            Err(what) => Err(RowError { line: self.lines, what }),
        }
    }

    /// What was read.
    pub fn end(mut self) -> Rows {
        // It ended before the first row of what was to begin anew: that is cut off, and made again.
        if let (true, Some(before)) = (self.rows.runs.is_empty(), self.before.take()) {
            let corrupt = self.rows.corrupt.take();
            self.rows = Rows { corrupt, ..before };
        }
        self.rows.whole.text_bytes = self.bytes;
        self.rows
    }

    fn take(&mut self, line: &[u8]) -> Result<(), String> {
        #[derive(Deserialize)]
        struct AskedLine {
            asked: Asked,
        }
        #[derive(Deserialize)]
        struct NoteLine {
            note: String,
        }
        #[derive(Deserialize)]
        struct AuditLine {
            audit: Audit,
        }
        #[derive(Deserialize)]
        struct CorruptLine {
            corrupt: String,
        }
        if line.starts_with(b"{\"asked\":") {
            let AskedLine { asked } = read(line)?;
            asked.rule.check()?;
            // Once more, by restarts: what was there before isn't compared with what follows.
            let new = Rows { asked: Some(asked), ..Rows::default() };
            let old = std::mem::replace(&mut self.rows, new);
            if !old.runs.is_empty() {
                self.before = Some(old);
            }
            self.places.clear();
            self.resumed = 0;
        } else if line.starts_with(b"{\"note\":") {
            let NoteLine { note } = read(line)?;
            self.rows.notes.push(note);
        } else if line.starts_with(b"{\"audit\":") {
            let AuditLine { audit } = read(line)?;
            audit.add_to(&mut self.rows.audits);
        } else if line.starts_with(b"{\"corrupt\":") {
            let CorruptLine { corrupt } = read(line)?;
            self.rows.corrupt = Some(corrupt);
        } else {
            let run: Run = read(line)?;
            run.check()?;
            self.add(run);
        }
        Ok(())
    }

    fn add(&mut self, run: Run) {
        let command = |rows: &Rows| rows.asked.as_ref().map(|asked| asked.call.command.clone());
        let begins = self.before.take();
        if let Some(old) = begins.as_ref().filter(|old| command(old) != command(&self.rows)) {
            self.others += old.runs.len();
        }
        let notes = &mut self.rows.notes;
        notes[self.resumed..].iter_mut().for_each(|note| *note = before_resumed(note));
        if begins.is_some() && self.others > 0 {
            let rows = counted(self.others as u64, "row");
            notes.push(format!("The file begins with {rows} of another command: none counts."));
        }
        self.resumed = notes.len();
        // An experiment that went on makes the last round anew, if that was broken off.
        let place = (run.identity.kind, run.identity.round, run.identity.place);
        let runs = &mut self.rows.runs;
        let at = *self.places.entry(place).or_insert(runs.len());
        match runs.get_mut(at) {
            Some(known) => *known = run,
            None => runs.push(run),
        }
    }
}

fn read<'l, T: Deserialize<'l>>(line: &'l [u8]) -> Result<T, String> {
    serde_json::from_slice(line).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::tests::run_of;
    use crate::{Measure, Plan};

    const RULE: Rule = Rule {
        threshold: 0.02,
        error: 0.025,
        rounds: 9,
        is_device_neutral: false,
        measure: Measure::Throughput,
        is_open_ended: false,
    };

    fn runs() -> Vec<Run> {
        let plan = Plan { levels: 2, rounds: 2, equals: 1, stretches: 1, together: 1, seed: 1 };
        plan.steps().iter().map(|step| run_of(step, 1_000)).collect()
    }

    /// What was asked of so many rounds.
    fn asked(rounds: u32) -> Asked {
        let (model, notes) = (String::new(), Vec::new());
        Asked { rule: Rule { rounds, ..RULE }, call: Call::default(), model, notes }
    }

    fn audit(instance_ns: Option<u64>, acknowledged: u64) -> Audit {
        Audit { instance_ns, commits: Commits { acknowledged, found: acknowledged } }
    }

    /// What begins anew on a model is the same instance, and counts once.
    #[test]
    fn audits_say_of_which_instance_they_are() {
        let all = [audit(Some(0), 9), audit(Some(7), 10), audit(Some(0), 11)];
        let text: String = all.iter().map(|audit| audit.to_json_line() + "\n").collect();
        let read = parse_rows(&text).expect("audits").audits;
        assert_eq!(read, [audit(Some(0), 11), audit(Some(7), 10)]);
        let lost = Audit { commits: Commits { acknowledged: 9, found: 7 }, ..audit(Some(7), 9) };
        let text = format!("{}\n{text}", lost.to_json_line());
        assert_eq!(parse_rows(&text).expect("audits").audits, [lost, audit(Some(0), 11)]);
        let old = "{\"audit\":{\"acknowledged\":9,\"found\":9}}\n";
        let read = parse_rows(&old.repeat(2)).expect("audits").audits;
        assert_eq!(read, [audit(None, 9), audit(None, 9)]);
    }

    #[test]
    fn rows_come_back_as_they_went() {
        let text: Vec<String> = runs().iter().map(Run::to_json_line).collect();
        assert!(text.iter().all(|line| !line.contains('\n')));
        let read = parse_rows(&text.join("\n\n")).expect("they are rows");
        assert_eq!((read.runs, read.asked, read.audits), (runs(), None, Vec::new()));
    }

    #[test]
    fn rows_say_that_the_database_was_found_corrupt() {
        let row = runs()[0].to_json_line();
        assert_eq!(parse_rows(&row).expect("a row").corrupt, None);
        let how = "books: \"district 3\" is off by 1";
        let text = format!("{row}\n{}\n", corrupt_line(how));
        assert_eq!(parse_rows(&text).expect("rows").corrupt.as_deref(), Some(how));
    }

    #[test]
    fn a_line_that_is_no_row_is_named() {
        let text = format!("{}\n{{\"a\": 1}}\n", runs()[0].to_json_line());
        let error = parse_rows(&text).expect_err("the second line is no row");
        assert!(error.to_string().starts_with("line 2 is no row of an experiment: "), "{error}");
    }

    #[test]
    fn a_rule_that_none_can_have_is_refused() {
        for rule in [Rule { threshold: 0.0, ..RULE }, Rule { error: 1.0, ..RULE }] {
            let line = Asked { rule, ..asked(RULE.rounds) }.to_json_line();
            let refused = parse_rows(&line).expect_err("it is a rule of nothing").to_string();
            assert!(refused.starts_with("line 1 is no row of an experiment: no "), "{refused}");
        }
    }

    /// A program that was killed while it wrote leaves whole rows, and a part of one.
    #[test]
    fn what_was_asked_comes_first_and_a_line_that_was_being_written_is_passed_over() {
        let call = Call {
            command: "forebay lab run".to_owned(),
            arguments: vec!["lab".to_owned()],
            commit: "1".to_owned(),
        };
        let asked = Asked { call, ..asked(RULE.rounds) };
        let audit = audit(Some(0), 9);
        let row = runs()[0].to_json_line();
        let whole = format!("{}\n{row}\n{}\n", asked.to_json_line(), audit.to_json_line());
        let read = parse_rows(&format!("{whole}{}", &row[..row.len() / 2])).expect("rows");
        assert_eq!((read.asked, read.audits), (Some(asked), vec![audit]));
        assert_eq!((read.runs.len(), read.whole.bytes), (1, whole.len()));
        assert!(!read.whole.lacks_line_end);
        let read = parse_rows(whole.trim_end()).expect("a row, and the program ended behind it");
        assert_eq!((read.runs.len(), read.whole.lacks_line_end), (1, true));
        assert!(parse_rows("{\"a").is_err(), "nothing of it is a row");
    }

    /// What was asked a second time (by restarts, after blocks) begins anew; a round that was
    /// broken off and made again counts once, in its place.
    #[test]
    fn what_begins_anew_or_is_made_again_counts_once() {
        let asked = asked(RULE.rounds);
        let mut again = runs().remove(1);
        again.transactions += 7;
        let lines = |of: &[Run]| of.iter().map(|run| run.to_json_line() + "\n").collect::<String>();
        let audit = audit(Some(0), 9).to_json_line() + "\n";
        let before = asked.to_json_line() + "\n" + &lines(&runs()) + &audit;
        let text = before + &asked.to_json_line() + "\n" + &lines(&runs()[..2]);
        let read = parse_rows(&(text + &again.to_json_line() + "\n")).expect("rows");
        assert_eq!(read.audits, [], "the audit was of what doesn't count");
        assert_eq!(read.runs, [runs().remove(0), again]);
    }

    /// Two files of rows that were put together: the first isn't dropped without a
    /// word. What begins anew, by restarts, has the same command.
    #[test]
    fn rows_of_another_command_are_told_of() {
        let line = |command: &str| {
            let call = Call { command: command.to_owned(), ..Call::default() };
            Asked { call, ..asked(RULE.rounds) }.to_json_line() + "\n"
        };
        let rows: String = runs().iter().map(|run| run.to_json_line() + "\n").collect();
        let notes = |text: &str| parse_rows(text).expect("rows").notes;
        let two = line("one") + &rows + &line("two") + &rows;
        let told = ["The file begins with 6 rows of another command: none counts."];
        assert_eq!(runs().len(), 6);
        assert_eq!(notes(&two), told);
        assert_eq!(notes(&(two.clone() + &line("two") + &rows)), told);
        assert_eq!(parse_rows(&two).expect("rows").runs, runs());
        assert!(notes(&(line("one") + &rows + &line("one") + &rows)).is_empty());
    }

    /// What is told once by the verdict is told by each report.
    #[test]
    fn notes_are_kept_and_a_row_behind_one_says_that_it_was_resumed() {
        let line = |rounds| asked(rounds).to_json_line() + "\n";
        let rows: Vec<String> = runs().iter().map(|run| run.to_json_line() + "\n").collect();
        let [full, still] = ["full: \"history\"", "it stood still"];
        let of = |note| note_line(note) + "\n";
        let first = line(9) + &rows[0] + &of(full);
        let notes = |text: &str| parse_rows(text).expect("rows").notes;
        assert_eq!(notes(&first), [full]);
        let second = first.clone() + &rows[1] + &rows[2] + &of(still);
        let both = [before_resumed(full), still.to_owned()];
        assert_eq!(notes(&second), both);
        assert_eq!(notes(&(second.clone() + &line(8))), both);
        assert!(notes(&(second + &line(8) + &rows[0])).is_empty(), "it began anew");
        assert!(notes(&(line(9) + &rows[0])).is_empty(), "older files have none");
    }

    /// Killed inside a letter that takes several bytes.
    #[test]
    fn a_last_line_that_is_no_text_is_passed_over() {
        let mut reader = RowReader::default();
        let row = runs()[0].to_json_line() + "\n";
        reader.line(row.as_bytes()).expect("a row");
        reader.line(b"{\"corrupt\":\"\xc3").expect("it was being written");
        let rows = reader.end();
        assert_eq!((rows.runs.len(), rows.corrupt, rows.whole.bytes), (1, None, row.len()));
    }

    /// Else all blocks would be thrown away, and made once more.
    #[test]
    fn what_was_to_begin_anew_and_has_no_row_changes_nothing() {
        let line = |rounds| asked(rounds).to_json_line() + "\n";
        let rows: String = runs().iter().map(|run| run.to_json_line() + "\n").collect();
        let audit = audit(Some(0), 9);
        let before = line(9) + &rows + &audit.to_json_line() + "\n";
        for behind in [line(8), line(8) + &rows[..9], line(8) + &line(7)] {
            let text = before.clone() + &behind;
            let read = parse_rows(&text).expect("rows");
            assert_eq!((read.asked, read.runs), (Some(asked(9)), runs()));
            assert_eq!((read.audits, read.corrupt), (vec![audit], None));
            let whole =
                Whole { bytes: before.len(), text_bytes: text.len(), lacks_line_end: false };
            assert_eq!(read.whole, whole, "what goes on is behind the rows that count");
        }
        let text = before.clone() + &line(8) + &corrupt_line("off by 1") + "\n";
        assert_eq!(parse_rows(&text).expect("rows").corrupt.as_deref(), Some("off by 1"));
        let read = parse_rows(&(line(9) + &line(8))).expect("no rows");
        assert_eq!(read.asked, Some(asked(8)));
    }

    /// Rule EX5.
    #[test]
    fn a_row_whose_account_does_not_close_is_refused() {
        let mut run = runs().remove(0);
        run.foreground.profile.cpu_ns += 1;
        let error = parse_rows(&run.to_json_line()).expect_err("the account doesn't close");
        assert!(error.to_string().contains("foreground account doesn't close"), "{error}");
    }
}
