//! The power is cut, again and again, and the device can't read what it was writing then (rules
//! redo/RD26, redo/RD28, cache/CB14). The database opens all the same, and has what was
//! acknowledged.

use std::collections::BTreeMap;
use std::path::Path;

use database::{
    ColumnSpec, Connection, Database, Error, FilesystemIo, IndexSpec, Options, TableSpec, Tx, Type,
    Value,
};
use os::Session;
use sim::fs::crash::CrashStates;
use sim::{BadPlaces, Outside, Simulation};
use stop::RefusalKind;
use testbed::Dice;

use crate::simulated;

/// Lives that are tried; 1,000 found nothing else.
const SEEDS: u64 = 40;

type Rows = BTreeMap<i64, String>;
type Model = BTreeMap<String, Rows>;

/// What is acknowledged, and what may be.
#[derive(Clone, Default)]
struct Known {
    sure: Model,
    maybe: Option<Model>,
}

fn spec(name: &str) -> TableSpec {
    TableSpec::new(name)
        .column(ColumnSpec::new("id", Type::BigInt).not_null())
        .column(ColumnSpec::new("body", Type::Text))
        .primary_key(["id"])
}

fn read(connection: &mut Connection<'_>, name: &str) -> Result<Rows, Error> {
    let table = connection.table(name)?;
    let mut rows = Rows::new();
    connection.scan(&table, |row| {
        let id = row.get_i64(0).expect("an id");
        let body = row.get_text(1).expect("whole").expect("not null").to_string();
        assert!(rows.insert(id, body).is_none(), "twice {id}");
    })?;
    let mut by_key = 0;
    for id in rows.keys() {
        by_key += u64::from(connection.get(&table, &[Value::Int(*id)], |_| ())?.is_some());
    }
    assert_eq!(by_key, rows.len() as u64);
    Ok(rows)
}

fn options(seed: u64) -> Options {
    let mut options = simulated::options();
    options.creation.data_bytes = 400 * 2048;
    options.creation.data_growth_bytes = 64 * 2048;
    options.creation.data_bytes_max = 8_000 * 2048;
    options.creation.log_members = 1 + (seed % 2) as u16;
    options.parameters.filesystemio_options =
        if seed.is_multiple_of(3) { FilesystemIo::DirectIo } else { FilesystemIo::SetAll };
    options.parameters.db_cache_size = 64 * 2048;
    options.parameters.redo_write = None;
    options
}

/// Statements with what they make of the model, until the power goes.
fn work(database: &Database, session: &Session, seed: u64, known: &Outside<Known>) {
    let mut dice = Dice(seed);
    let mut connection = database.connect_with(session);
    let mut model = known.with(|known| known.sure.clone());
    let mut next = 1_000 * (seed % 1_000_000) as i64;
    for _ in 0..120 {
        next += 1;
        let mut after = model.clone();
        let count = model.len() as u64;
        let one = model.keys().nth(dice.below(count.max(1)) as usize).cloned();
        let maybe = |after: &Model| known.with(|known| known.maybe = Some(after.clone()));
        match (dice.below(12), one) {
            (0, _) => {
                let name = format!("t{next}");
                after.insert(name.clone(), Rows::new());
                maybe(&after);
                connection.create_table(&spec(&name)).expect("made");
            }
            (1, Some(name)) if count > 2 => {
                after.remove(&name);
                maybe(&after);
                connection.drop_table(&name, false).expect("dropped");
            }
            (2, _) => drop(database.instance().redo().switch(session)),
            (3, _) => database.instance().checkpoint(session).expect("written"),
            (4, Some(name)) => {
                let index = format!("i{next}");
                let spec = IndexSpec::new(&index, &name, ["body", "id"]);
                // One with these columns may be there from before a cut.
                if connection.create_index(&spec).is_ok() {
                    connection.drop_index(&index).expect("dropped");
                }
            }
            (_, Some(name)) => {
                let rows = after.get_mut(&name).expect("there");
                let tx = changed((&mut connection, &name), rows, &mut dice);
                if dice.below(6) == 0 {
                    tx.rollback().expect("ended");
                    after.clone_from(&model);
                } else {
                    maybe(&after);
                    tx.commit().expect("committed");
                }
            }
            (_, None) => {}
        }
        model = after;
        known.with(|known| (known.sure, known.maybe) = (model.clone(), None));
    }
}

/// A transaction that has changed some rows of a table, and of the model.
fn changed<'c, 'd>(
    (connection, name): (&'c mut Connection<'d>, &str),
    rows: &mut Rows,
    dice: &mut Dice,
) -> Tx<'c, 'd> {
    let table = connection.table(name).expect("there");
    let mut tx = connection.begin();
    for _ in 0..1 + dice.below(12) {
        let id = dice.below(200) as i64;
        let body = "y".repeat(dice.below(240) as usize + 1);
        let (key, text) = ([Value::Int(id)], Value::Text(&body));
        if !rows.contains_key(&id) {
            tx.insert(&table, &[Value::Int(id), text]).expect("inserted");
        } else if dice.below(2) == 0 {
            assert!(tx.delete(&table, &key).expect("deleted"));
            rows.remove(&id);
            continue;
        } else {
            tx.update(&table, &key, |_, set| set.set(1, text)).expect("updated");
        }
        rows.insert(id, body);
    }
    tx
}

/// What came of some lives.
#[derive(Default, Debug)]
struct Tally {
    cuts: u32,
    /// Places that couldn't be read then.
    places: u32,
    /// Lives that ended for a data file's header (known limit, rule space/SP19).
    headers: u32,
}

/// Whether a database has what was acknowledged, and perhaps what was under way; goes on from that.
fn holds(database: &Database, session: &Session, known: &Outside<Known>) {
    let mut connection = database.connect_with(session);
    let mut has = |model: &Model| {
        model.iter().all(|(name, rows)| match read(&mut connection, name) {
            Ok(found) => found == *rows,
            Err(stop) => {
                assert_eq!(stop.refusal(), Some(RefusalKind::NotFound), "{stop}");
                false
            }
        })
    };
    let Known { sure, maybe } = known.with(|known| known.clone());
    let now = match maybe {
        Some(maybe) if has(&maybe) => maybe,
        _ => {
            assert!(has(&sure), "something of {} tables is lost, or half there", sure.len());
            sure
        }
    };
    known.with(|known| (known.sure, known.maybe) = (now, None));
}

/// One life, in which the power goes five times.
fn live(seed: u64, tally: &mut Tally) {
    let mut dice = Dice(seed ^ 0xabcdef);
    let (bad, known) = (BadPlaces::default(), Outside::new(Known::default()));
    let mut disk = simulated::made_with(options(seed).creation, |_, _| ());
    let mut cut_at = 20 + dice.below(1_500);
    for round in 0..5 {
        let mut machine = Simulation::new(seed * 100 + round);
        disk.lose_power_at(cut_at);
        machine.disks[0].content = disk;
        let (places, inside, options) = (bad.clone(), known.clone(), options(seed));
        let report = machine.run(move |world, session| {
            let disk = places.over(&world.disk());
            let opened = Database::open_in(&disk, Path::new("/db"), &options, session);
            let database = opened.map_err(|stop| stop.to_string())?;
            holds(&database, session, &inside);
            work(&database, session, seed * 10 + round, &inside);
            database.abort_by(session);
            Ok::<(), String>(())
        });
        let life = format!("seed {seed}, round {round}");
        if !report.was_cut(&life)
            && let Ok(Err(said)) = &report.result
        {
            assert!(said.contains("it is the header of a data file"), "{life}: {said}");
            tally.headers += 1;
            return;
        }
        tally.cuts += 1;
        let states = CrashStates::of(&report.disks["disk"]);
        let sample = dice.below(u64::MAX);
        let writes = simulated::pending(&states, sample);
        disk = states.sample(sample);
        disk.close_all();
        for _ in 0..dice.below(4).min(writes.len() as u64) {
            // One of the last.
            let back = dice.below((writes.len() as u64).min(8)) as usize;
            let (name, offset, length) = &writes[writes.len() - 1 - back];
            let sectors = length.div_ceil(512);
            let first = dice.below(sectors);
            let count = 1 + dice.below((sectors - first).min(9));
            bad.add(Path::new(name), offset + first * 512..offset + (first + count) * 512);
            tally.places += 1;
        }
        let most = if dice.below(2) == 0 { 60 } else { 2_000 };
        cut_at = 1 + dice.below(most);
    }
}

#[test]
fn what_was_cut_off_need_not_be_readable() {
    let mut tally = Tally::default();
    (0..SEEDS).for_each(|seed| live(seed, &mut tally));
    println!("{tally:?}");
    assert!(tally.cuts > 3 * SEEDS as u32 && tally.places > 3 * SEEDS as u32, "{tally:?}");
    assert!(tally.headers * 20 < tally.cuts, "{tally:?}");
}
