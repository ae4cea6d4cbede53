//! What a person who waits is told.
//!
//! Callers: `session`.

use experiment::{Level, News, Plan, Progress, RoundKind, Rule, Run, decide};

/// Tells the progress of an experiment, with the estimate so far.
pub(crate) struct Teller<'a> {
    rule: Rule,
    plan: Plan,
    tell: &'a mut dyn FnMut(&str),
    rows: Vec<Run>,
    estimate: String,
}

impl<'a> Teller<'a> {
    pub(crate) fn new(rule: Rule, plan: Plan, tell: &'a mut dyn FnMut(&str)) -> Teller<'a> {
        Teller { rule, plan, tell, rows: Vec::new(), estimate: String::new() }
    }

    pub(crate) fn tell(&mut self, news: &News<'_>) {
        match news {
            News::Ended(_, run) => self.rows.push((*run).clone()),
            News::Begins(progress) => {
                if progress.step.place == 1 {
                    self.look();
                }
                let line = self.line(progress);
                (self.tell)(&line);
            }
        }
    }

    /// Takes the estimate of the last look.
    fn look(&mut self) {
        let Some(decision) = decide(&self.rows, Level::B, Run::throughput_parts, &self.rule) else {
            return;
        };
        let percent = |ratio: f64| format!("{:+.1}", (ratio - 1.0) * 100.0);
        self.estimate = format!(
            "; B/A {} % ({} to {})",
            percent(decision.ratio),
            percent(decision.interval.low),
            percent(decision.interval.high)
        );
    }

    fn line(&self, progress: &Progress<'_>) -> String {
        let step = progress.step;
        let kind = match step.kind {
            RoundKind::Compared => "round",
            RoundKind::Equals => "equals",
            RoundKind::Long => "long round",
        };
        let of = match step.kind {
            RoundKind::Compared => self.plan.rounds,
            RoundKind::Equals => self.plan.equals,
            RoundKind::Long => self.plan.long,
        };
        let left = progress.left.map_or_else(String::new, |left| {
            let seconds = left.0 / 1_000_000_000;
            format!("; at most {}:{:02} left", seconds / 60, seconds % 60)
        });
        format!("{kind} {} of {of}, setting {}{}{left}", step.round, step.level, self.estimate)
    }
}
