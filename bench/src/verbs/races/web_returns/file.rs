//! The file that both sides read.
//!
//! Callers: `web_returns`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use workload::web_returns::Lines;

/// Writes a file of so many rows. It is synced, so that nothing of it is written while it is read.
pub(super) fn write(path: &Path, rows: u64, seed: u64) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut lines = Lines::new(seed);
    let mut line = Vec::with_capacity(256);
    for _ in 0..rows {
        line.clear();
        lines.append_to(&mut line);
        out.write_all(&line)?;
    }
    out.into_inner()?.sync_all()
}
