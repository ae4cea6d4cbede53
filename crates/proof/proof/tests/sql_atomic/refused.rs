//! Each kind of statement, refused by each row in turn, in each way in which a row can.

use std::sync::Arc;

use database::Error;
use sim::fs::FileSystem;

use crate::bed::{How, in_world, open, shut};
use crate::kinds::{Arranged, Break, Class, Kind, Statement};
use crate::neighbour::{Expected, sum};
use crate::picture::Picture;
use crate::stage::{Came, Disturbance, Mode, Stage};

/// Every `stride`th row, and how many times a statement was refused.
pub(crate) fn refused(
    kind: &Arc<Kind>,
    how: How,
    stride: u64,
    base: &FileSystem,
) -> Result<u64, String> {
    let inside = Arc::clone(kind);
    in_world(how, base, move |world, session| {
        let database = open(how.failpoints, world, session)?;
        let sums = match inside.class {
            // What is defined isn't to be read meanwhile.
            Class::Definition => Vec::new(),
            Class::Rows | Class::Query | Class::Lock => {
                vec![sum(&mut database.connect_with(session))?]
            }
        };
        let expected = Expected { sums, may_fail: false };
        let mut stage = Stage::new(world, &database, expected, session)?;
        let count = by_rows(&mut stage, &inside, how.seed, stride)?;
        // Behind all that a sound one is done; of rows it is rolled back, for the neighbour looks.
        let nothing = Disturbance::Nothing;
        let mode = match inside.class {
            Class::Definition => Mode::Alone,
            Class::Rows | Class::Query | Class::Lock => Mode::Within,
        };
        let before = stage.picture()?;
        let came = stage.try_once(&inside, &(inside.whole)(), mode, nothing, &before)?;
        if !matches!(came, Came::Done) {
            return Err(format!("a sound statement isn't done: {came:?}"));
        }
        stage.end()?;
        shut(database, world, session)?;
        Ok(count)
    })
}

/// Refuses the statement by rows, of which each `stride`th is taken, not the same by each seed.
fn by_rows(stage: &mut Stage<'_>, kind: &Kind, seed: u64, stride: u64) -> Result<u64, String> {
    let base = stage.picture()?;
    let (mut place, mut count) = (seed, 0);
    for one in &kind.breaks {
        for row in one.rows.clone() {
            place += 1;
            if !place.is_multiple_of(stride) {
                continue;
            }
            count += 1;
            let mode = kind.class.mode(count);
            let by_row = by_row(stage, kind, one, row, mode, &base);
            by_row.map_err(|what| {
                let Statement { text, .. } = (one.statement)(row);
                format!("{what}\nrefused by row {row} for {}, {mode:?}: {text}", one.what)
            })?;
        }
    }
    Ok(count)
}

fn by_row(
    stage: &mut Stage<'_>,
    kind: &Kind,
    one: &Break,
    row: i64,
    mode: Mode,
    base: &Picture,
) -> Result<(), String> {
    let arranged = match one.arranged {
        None => None,
        Some(Arranged { before, after }) => {
            stage.arrange(&before(row))?;
            Some((after(row), stage.picture()?))
        }
    };
    let before = arranged.as_ref().map_or(base, |(_, picture)| picture);
    let statement = (one.statement)(row);
    stage.is_arranged = arranged.is_some();
    let came = stage.try_once(kind, &statement, mode, Disturbance::Nothing, before)?;
    stage.is_arranged = false;
    let Came::Refused(refused) = came else {
        return Err(format!("it isn't refused: {came:?}"));
    };
    is_for_that(one, &refused)?;
    if let Some((after, _)) = arranged {
        stage.arrange(&after)?;
        stage.picture()?.same_as(base)?;
    }
    Ok(())
}

fn is_for_that(one: &Break, refused: &Error) -> Result<(), String> {
    match one.state {
        Some(state) if refused.state() != state => {
            Err(format!("it is refused with {:?}: {refused}", refused.state()))
        }
        _ => Ok(()),
    }
}
