//! The rival that is another build of ours: what did a change cost?
//!
//! The other build's `xbench race NAME --serve` makes its own database and then does one run for
//! each line that it reads: `SEED WORKLOAD`. It answers with the run's metrics, a line of JSON.
//! So both builds are raced like any other pair, in turn, each on a database that stays open.
//!
//! Callers: `run`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::race::case::Case;
use crate::race::pairs::{Metrics, Turn};
use crate::race::run::Workload;
use crate::{Error, Result};

/// Another build, at its database. It ends when this is dropped.
pub(crate) struct Build {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Build {
    /// Starts the program, which is to serve.
    pub(crate) fn start(program: &Path, arguments: &[String]) -> Result<Build> {
        let shown = program.display();
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|cause| Error::cannot(format_args!("start {shown}"), cause))?;
        let input = child.stdin.take();
        let output = child.stdout.take().expect("its output is piped");
        Ok(Build { child, input, output: BufReader::new(output) })
    }

    /// Has it run a workload once; the metrics that the cases ask for.
    pub(crate) fn run(&mut self, workload: &str, cases: &[Case], turn: Turn) -> Result<Metrics> {
        let input = self.input.as_mut().expect("it is closed by drop only");
        // If it has gone, reading says so.
        let _ = writeln!(input, "{} {workload}", turn.seed).and_then(|()| input.flush());
        let mut line = String::new();
        let read = self.output.read_line(&mut line);
        if read.map_err(|cause| Error::cannot("read from the other build", cause))? == 0 {
            return Err(Error::Failed("the other build has ended; it says above why".into()));
        }
        let metrics: BTreeMap<String, f64> = serde_json::from_str(&line).map_err(|cause| {
            Error::Failed(format!("the other build answered '{}': {cause}", line.trim()))
        })?;
        let asked = cases.iter().map(|case| case.metric);
        Ok(asked.filter_map(|name| metrics.get(name).map(|value| (name, *value))).collect())
    }
}

impl Drop for Build {
    fn drop(&mut self) {
        // At the end of its input it shuts its database and ends.
        drop(self.input.take());
        self.child.wait().ok();
    }
}

/// Does a run of ours for each line of `requests`, until there are no more.
pub(crate) fn serve(
    workloads: &mut [Workload<'_>],
    requests: &mut dyn BufRead,
    out: &mut dyn Write,
) -> Result<()> {
    for line in requests.lines() {
        let line = line.map_err(|cause| Error::cannot("read what is to be run", cause))?;
        let asked = line.split_once(' ').and_then(|(seed, name)| {
            let workload = workloads.iter_mut().find(|workload| workload.name == name)?;
            Some((seed.parse().ok()?, workload))
        });
        let Some((seed, workload)) = asked else {
            return Err(Error::Refused(format!("'{line}' is no seed and workload of this race")));
        };
        let metrics = (workload.ours)(Turn { pair: 0, first: true, seed })?;
        let answer = serde_json::to_string(&metrics).expect("names and numbers always serialize");
        let written = writeln!(out, "{answer}").and_then(|()| out.flush());
        written.map_err(|cause| Error::cannot("answer", cause))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::metric;

    fn case(metric: &'static str) -> Case {
        Case { name: metric.into(), metric, unit: "x/s", higher_is_better: true, goal: None }
    }

    fn workload(name: &str) -> Workload<'static> {
        Workload {
            name: name.into(),
            settings: vec![],
            cases: vec![case(metric::IOPS)],
            ours: Box::new(|turn| Ok(Metrics::from([(metric::IOPS, turn.seed as f64)]))),
            rival: Box::new(|_| Err(Error::Failed("nobody asks the rival".into()))),
        }
    }

    #[test]
    fn each_line_is_a_run() {
        let mut out = Vec::new();
        let mut requests = &b"7 two words\n9 one\n"[..];
        serve(&mut [workload("one"), workload("two words")], &mut requests, &mut out)
            .expect("both are known");
        assert_eq!(String::from_utf8_lossy(&out), "{\"iops\":7.0}\n{\"iops\":9.0}\n");
        let refused = serve(&mut [workload("one")], &mut &b"7 two\n"[..], &mut out);
        assert!(matches!(refused, Err(Error::Refused(_))));
    }

    fn sh(script: &str) -> Build {
        let arguments = ["-c".to_owned(), script.to_owned()];
        Build::start(Path::new("/bin/sh"), &arguments).expect("every system has a shell")
    }

    #[test]
    fn the_other_build_is_asked_in_turn() {
        let turn = Turn { pair: 3, first: false, seed: 41 };
        let mut build =
            sh("while read seed name; do echo \"{\\\"iops\\\": $seed, \\\"more\\\": 1}\"; done");
        for _ in 0..2 {
            let told = build.run("two words", &[case(metric::IOPS)], turn);
            assert_eq!(told, Ok(Metrics::from([(metric::IOPS, 41.0)])));
        }
        assert!(sh("exit 1").run("one", &[], turn).is_err(), "it has gone");
        assert!(sh("read line; echo nonsense").run("one", &[], turn).is_err());
    }
}
