//! A session with the server: a psql that is told statements and answers.
//!
//! Callers: closures of a race.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::{Error, Result};

/// What psql is asked to say when it has done what it was told before.
const DONE: &str = "-- done --";

/// One session. It ends when this is dropped.
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Client {
    pub(crate) fn start(psql: &Path, socket_folder: &Path) -> Result<Client> {
        let cannot = |cause| Error::cannot("start psql", cause);
        let mut child = Command::new(psql)
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres"])
            .args(["-d", "postgres", "-h"])
            .arg(socket_folder)
            .env("PGOPTIONS", "-c client_min_messages=warning")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(cannot)?;
        let input = child.stdin.take();
        let output = child.stdout.take().expect("its output is piped");
        Ok(Client { child, input, output: BufReader::new(output) })
    }

    /// Does what these statements say, each of which ends with a semicolon; what they return, a
    /// line for each row. An error if one of them fails; then the session is over.
    pub fn run(&mut self, statements: &str) -> Result<Vec<String>> {
        let input = self.input.as_mut().expect("it is closed by drop only");
        // If psql has gone, reading says why.
        let _ = writeln!(input, "{statements}\n\\echo {DONE}").and_then(|()| input.flush());
        let mut rows = Vec::new();
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line);
            match read.map_err(|cause| Error::cannot("read from psql", cause))? {
                0 => return Err(self.complaint(statements)),
                _ if line.trim_end() == DONE => return Ok(rows),
                _ => rows.push(line.trim_end().to_owned()),
            }
        }
    }

    fn complaint(&mut self, statements: &str) -> Error {
        let mut text = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            // What can't be read is not there to be told.
            let _ = std::io::Read::read_to_string(&mut stderr, &mut text);
        }
        Error::Failed(format!("PostgreSQL, asked for '{statements}': {}", text.trim()))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // At the end of its input psql ends.
        drop(self.input.take());
        self.child.wait().ok();
    }
}
