//! Making tablespaces and data files while the database is open (rules SP10, SP11).
//!
//! ```text
//!   x.dbf.forebay-new made, durable ─▶ control file lists x.dbf ─▶ renamed x.dbf ─▶ in use
//! ```
//!
//! A crash before the control file lists the file leaves an unlisted leftover: the next attempt or
//! the next opening removes it. A crash after that leaves a listed file under the leftover's name:
//! the next opening gives it its own.
//!
//! Invariants
//!   * one session at a time makes tablespaces and files, so numbers are given once
//!   * no file with a user's name is removed or replaced
//!
//! Callers: `instance`.

use std::path::{Path, PathBuf};

use cache::DataFile;
use os::{Disk, FileOptions, OwnedFiles, Session};
use stop::{RefusalKind, Stop};

use crate::data_file::{DataFileShape, create_data_file, open_data_file};
use crate::new_file::{NewFiles, new_path};
use crate::{
    ControlContent, DataFileContent, DataFileSpec, Space, TablespaceContent, TablespaceSpec,
};

impl Space {
    /// Makes a tablespace and its data files, and takes it into use.
    pub fn create_tablespace(&self, spec: &TablespaceSpec, session: &Session) -> Result<(), Stop> {
        self.describe(session, |content| content.add_tablespace(spec))
    }

    /// Adds a data file to the tablespace of this name, and takes it into use.
    pub fn add_data_file(
        &self,
        tablespace: &str,
        spec: &DataFileSpec,
        session: &Session,
    ) -> Result<(), Stop> {
        let tablespace = self.tablespace(tablespace, session)?.number;
        self.describe(session, |content| Ok(vec![content.add_data_file(tablespace, spec)?]))
    }

    /// Makes the files that `add` adds to the content, then lists them in the control file and
    /// takes them into use.
    fn describe(
        &self,
        session: &Session,
        add: impl FnOnce(&mut ControlContent) -> Result<Vec<DataFileShape>, Stop>,
    ) -> Result<(), Stop> {
        let _held = session.hold_off();
        let _describing = self.shared.describing.hold(0, session);
        self.changes().halt().check(session)?;
        let before = {
            let control = self.shared.control.hold(0, session);
            control.check_directory(&self.shared.disk, &self.shared.directory, session)?;
            control.content().clone()
        };
        let mut after = before.clone();
        let shapes = add(&mut after)?;
        after.list_within(&self.shared.disk, &self.shared.directory);
        let tablespaces = &after.tablespaces[before.tablespaces.len()..];
        let entries = &after.data_files[before.data_files.len()..];
        after.check_places(&self.shared.disk, &self.shared.directory)?;
        self.check_buffers(&shapes, session)?;
        let mut new = NewFiles::new(&self.shared.disk, before.database, "the data file");
        let made = self.make_files(&shapes, entries, &mut new, session);
        // Refused if other sessions have taken the control file's room meanwhile.
        let listed = made.and_then(|()| {
            self.update_control(session, |content| {
                content.tablespaces.extend_from_slice(tablespaces);
                content.data_files.extend_from_slice(entries);
            })
        });
        if let Err(stop) = listed {
            // After a halt the control file may list them.
            if stop.refusal().is_some() {
                new.remove(session);
            }
            return Err(stop);
        }
        // From here on the files are the database's: after a failure the next opening goes on.
        let named = new.give_names(session);
        let used = named.and_then(|()| self.use_files(&after, tablespaces, entries, session));
        used.map_err(|stop| {
            let cause = format!("a data file that was made can't be used: {stop}");
            self.changes().halt().raise(cause, session)
        })
    }

    fn check_buffers(&self, shapes: &[DataFileShape], session: &Session) -> Result<(), Stop> {
        let cache = self.changes().cache();
        let lacks = |shape: &&DataFileShape| cache.buffers(shape.block_size, session) == 0;
        match shapes.iter().find(lacks) {
            None => Ok(()),
            Some(shape) => {
                let (size, kib) = (shape.block_size, shape.block_size.bytes() >> 10);
                let message = format!(
                    "the cache has no buffers for blocks of {size}; give it some with \
                     db_{kib}k_cache_size, or choose another block size"
                );
                Err(Stop::refuse(RefusalKind::Invalid, message))
            }
        }
    }

    /// Makes the files. `new` gets those that were made, also if one can't be made.
    fn make_files(
        &self,
        shapes: &[DataFileShape],
        entries: &[DataFileContent],
        new: &mut NewFiles<'_>,
        session: &Session,
    ) -> Result<(), Stop> {
        let (disk, options) = (&self.shared.disk, self.shared.options);
        for (shape, entry) in shapes.iter().zip(entries) {
            let make = |path: &Path| create_data_file(disk, path, options, shape, session);
            new.make(&self.path(entry), make, session)?;
        }
        new.check_names(session)
    }

    fn use_files(
        &self,
        content: &ControlContent,
        tablespaces: &[TablespaceContent],
        entries: &[DataFileContent],
        session: &Session,
    ) -> Result<(), Stop> {
        let (disk, cache) = (&self.shared.disk, self.changes().cache());
        let mut files = Vec::with_capacity(entries.len());
        let mut owned = OwnedFiles::default();
        for entry in entries {
            let path = self.path(entry);
            let expected = content.expected(entry);
            let options = self.shared.options;
            let file = open_data_file(disk, &path, options, &expected, &mut owned, session)?;
            let data_file = DataFile::new(entry.number, file.clone(), expected.block_size);
            cache.add_file(data_file, session)?;
            files.push(file);
        }
        self.shared.tablespaces.exclusive(session).add(tablespaces, entries, files);
        Ok(())
    }

    fn path(&self, entry: &DataFileContent) -> PathBuf {
        self.shared.directory.join(&entry.path)
    }
}

/// Opens the data files that the control file lists, in its order, each locked before it is read.
/// Gives a file its name if a crash came before that.
pub fn open_data_files(
    disk: &Disk,
    directory: &Path,
    options: FileOptions,
    content: &ControlContent,
    owned: &mut OwnedFiles,
    session: &Session,
) -> Result<Vec<DataFile>, Stop> {
    let mut files = Vec::with_capacity(content.data_files.len());
    for entry in &content.data_files {
        let path = directory.join(&entry.path);
        let expected = content.expected(entry);
        let opened = open_data_file(disk, &path, options, &expected, owned, session);
        let file = match opened {
            Err(stop) if stop.refusal() == Some(RefusalKind::NotFound) => {
                let new = new_path(&path);
                if !disk.has_name(&new, session)? || disk.has_name(&path, session)? {
                    return Err(stop);
                }
                // Locked and checked before it gets its name (SP21).
                let looked_at = open_data_file(disk, &new, options, &expected, owned, session)?;
                if !disk.has_its_name(&looked_at, session)? {
                    return Err(stop);
                }
                disk.rename(&new, &path, session)?;
                owned.forget(&new);
                drop(looked_at);
                open_data_file(disk, &path, options, &expected, owned, session)?
            }
            opened => opened?,
        };
        files.push(DataFile::new(entry.number, file, expected.block_size));
    }
    Ok(files)
}
