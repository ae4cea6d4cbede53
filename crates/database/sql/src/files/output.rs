//! Bytes that COPY writes: to a new file, as it is or packed by gzip, or to the client.
//!
//! Invariant: the file is there, and durable, once the COPY has succeeded. One that is refused
//! removes it (rule SQ82).
//!
//! Callers: `copy_out`.

use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::{Compression as Level, write::GzEncoder};
use os::{Cause, Error, File, FileOperation};
use stop::{SqlState, Stop};
use syntax::{Compression, CopyEnd};

use super::input::PLAIN;
use super::stream::no_client;
use crate::refuse::refuse;
use crate::schema::VirtualContext;

/// Where bytes go.
pub(super) enum Output {
    /// A new file.
    File { file: File, end: u64, packer: Option<Box<GzEncoder<Vec<u8>>>> },
    /// The client.
    Client,
}

impl Output {
    /// Makes the file, or finds the client.
    pub(super) fn open(
        end: &CopyEnd,
        compression: Option<Compression>,
        of: &VirtualContext<'_>,
    ) -> Result<Output, Stop> {
        let packs = compression == Some(Compression::Gzip);
        let path = match end {
            CopyEnd::File(path) => full_path(path)?,
            CopyEnd::Client if packs => {
                let message = "COPY TO STDOUT isn't packed here: the client packs what it gets";
                return Err(refuse(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            CopyEnd::Client if of.client.is_none() => {
                return Err(no_client("TO STDOUT", "copy_out"));
            }
            CopyEnd::Client => return Ok(Output::Client),
        };
        let file =
            of.disk().create(&path, 0, PLAIN, of.session).map_err(|error| match error.cause() {
                Cause::AlreadyExists => error.advise("COPY replaces no file: choose another name"),
                _ => error,
            })?;
        let packer = packs.then(|| Box::new(GzEncoder::new(Vec::new(), Level::default())));
        Ok(Output::File { file, end: 0, packer })
    }

    /// Writes whole lines.
    pub(super) fn write(&mut self, bytes: &[u8], of: &VirtualContext<'_>) -> Result<(), Stop> {
        match self {
            Output::Client => {
                let client = of.client.expect("it was there at the beginning");
                client.write(bytes, of.session)
            }
            Output::File { file, end, packer: None } => append(file, end, bytes, of),
            Output::File { file, end, packer: Some(packer) } => {
                packer.write_all(bytes).expect("memory takes whatever is written");
                let packed = std::mem::take(packer.get_mut());
                append(file, end, &packed, of)
            }
        }
    }

    /// Ends the COPY: all is durable.
    pub(super) fn finish(&mut self, of: &VirtualContext<'_>) -> Result<(), Stop> {
        let Output::File { file, end, packer } = self else { return Ok(()) };
        if let Some(packer) = packer {
            packer.try_finish().expect("memory takes whatever is written");
            let packed = std::mem::take(packer.get_mut());
            append(file, end, &packed, of)?;
        }
        Ok(file.sync(FileOperation::Sync.waiting(of.session))?)
    }

    /// Takes a COPY back that was refused with this.
    pub(super) fn take_back(self, stop: Stop, of: &VirtualContext<'_>) -> Stop {
        let Output::File { file, .. } = self else { return stop };
        match of.disk().remove(file.path(), of.session) {
            Ok(()) => stop,
            Err(left) => {
                let say = format!("remove the file by hand, for I {left}");
                stop.map_refusal(|refusal| refusal.saying(&say))
            }
        }
    }
}

fn append(file: &File, end: &mut u64, bytes: &[u8], of: &VirtualContext<'_>) -> Result<(), Stop> {
    if bytes.is_empty() {
        return Ok(());
    }
    let written: Result<(), Error> =
        file.write_at(*end, bytes, FileOperation::Fill.waiting(of.session));
    written?;
    *end += bytes.len() as u64;
    Ok(())
}

/// A path that doesn't depend on where the server was started.
pub(super) fn full_path(path: &str) -> Result<PathBuf, Stop> {
    let found = Path::new(path);
    if found.is_absolute() {
        return Ok(found.to_path_buf());
    }
    let message = format!("the path {path} has to begin with a slash: a server has no directory");
    Err(refuse(SqlState::INVALID_PARAMETER_VALUE, message))
}
