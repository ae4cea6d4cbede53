//! Where databases and their files are: few names, each spelled in many ways.
//!
//! Callers: the others of `lives`.

use std::path::{Component, Path};

/// Directories of databases.
pub(super) const PLACES: [&str; 3] = ["/a", "/b", "/c"];
/// A directory of nobody, in which files of all may lie.
pub(super) const SHARED: &str = "/s";
/// Files that a database may be given beside its first ones.
const NAMES: [&str; 3] = ["x.dbf", "y.dbf", "z.log"];

/// Every database has these in its directory.
pub(super) const OWN: [&str; 3] = ["control01.ctl", "control02.ctl", "doublewrite01.dbl"];
/// And these, unless it is made with others.
pub(super) const FIRST_DATA: [&str; 2] = ["data01.dbf", "undo01.dbf"];
/// Of a file that isn't in use yet.
pub(super) const NEW: &str = ".forebay-new";

/// A name of a file for a database in `directory`.
pub(super) fn spelled(directory: &str, any: &mut dyn FnMut(u64) -> u64) -> String {
    let name = NAMES[any(NAMES.len() as u64) as usize];
    let other = PLACES[any(PLACES.len() as u64) as usize];
    match any(12) {
        0 | 1 => name.to_string(),
        2 => format!("./{name}"),
        3 => format!("sub/../{name}"),
        4 => format!("{directory}/{name}"),
        5 => format!("{directory}/./{name}"),
        6 => format!("../{}/{name}", &directory[1..]),
        7 => format!("..{SHARED}/{name}"),
        8 | 9 => format!("{SHARED}/{name}"),
        10 => format!("{SHARED}/..{SHARED}//{name}"),
        _ => format!("{other}/{name}"),
    }
}

/// Where the file is that a database in `directory` calls so.
pub(super) fn place_of(directory: &str, path: &str) -> String {
    let mut parts = Vec::new();
    for component in Path::new(directory).join(path).components() {
        match component {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::ParentDir => _ = parts.pop(),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    format!("/{}", parts.join("/"))
}
