//! Rows as text: one JSON object a line.
//!
//! Callers: `forebay lab run --rows`; programs that read its file.

use std::fmt;

use crate::Run;

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
        serde_json::to_string(self).expect("strings and numbers always serialize")
    }
}

/// Reads rows; empty lines are passed over.
pub fn parse_rows(text: &str) -> Result<Vec<Run>, RowError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            let error = |what| RowError { line: index + 1, what };
            let run: Run = serde_json::from_str(line).map_err(|e| error(e.to_string()))?;
            run.check().map_err(error)?;
            Ok(run)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;
    use crate::row::tests::run_of;

    fn runs() -> Vec<Run> {
        let plan = Plan { levels: 2, rounds: 2, equals: 1, long: 0, seed: 1 };
        plan.steps().iter().map(|step| run_of(step, 1_000)).collect()
    }

    #[test]
    fn rows_come_back_as_they_went() {
        let text: Vec<String> = runs().iter().map(Run::to_json_line).collect();
        assert!(text.iter().all(|line| !line.contains('\n')));
        assert_eq!(parse_rows(&text.join("\n\n")), Ok(runs()));
    }

    #[test]
    fn a_line_that_is_no_row_is_named() {
        let text = format!("{}\n{{\"a\": 1}}\n", runs()[0].to_json_line());
        let error = parse_rows(&text).expect_err("the second line is no row");
        assert!(error.to_string().starts_with("line 2 is no row of an experiment: "), "{error}");
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
