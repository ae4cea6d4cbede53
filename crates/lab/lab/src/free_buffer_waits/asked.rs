//! Which cells are compared.
//!
//! Callers: `report`.

use os::FilesystemIo;

use super::setting::Setting;
use crate::cells::{Asked, Side};

/// A factor that matters.
pub(super) const MATTERS: f64 = 1.1;

const MORE_WRITERS: &str = "Do more writers pay?";
const SLAVES: &str = "Do I/O slaves pay?";
const DIRECT: &str = "Direct against buffered";

/// The statements that these cells allow.
pub(super) fn asked(settings: &[Setting]) -> Vec<Asked> {
    let most = settings.iter().map(|setting| setting.writers).max().unwrap_or(1);
    let cell = |io, writers, slaves| Setting { io, writers, slaves };
    let mut pairs = Vec::new();
    for io in FilesystemIo::ALL {
        pairs.push((MORE_WRITERS, cell(io, 1, 0), cell(io, most, 0)));
    }
    for io in [FilesystemIo::None, FilesystemIo::DirectIo] {
        pairs.push((SLAVES, cell(io, 1, 0), cell(io, 1, 32)));
    }
    for (buffered, direct) in
        [(FilesystemIo::None, FilesystemIo::DirectIo), (FilesystemIo::Asynch, FilesystemIo::SetAll)]
    {
        pairs.push((DIRECT, cell(buffered, 1, 0), cell(direct, 1, 0)));
    }
    let side = |cell: Setting| {
        let level = settings.iter().position(|setting| *setting == cell)?;
        Some(Side { levels: vec![level], name: cell.to_string(), short: cell.short() })
    };
    pairs
        .into_iter()
        .filter(|(_, a, b)| a != b)
        .filter_map(|(question, a, b)| Some(Asked { question, a: side(a)?, b: side(b)? }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_cells_of_the_table_allow_eight_statements() {
        assert_eq!(asked(&Setting::all()).len(), 8);
        assert!(asked(&Setting::all()[..1]).is_empty());
    }
}
