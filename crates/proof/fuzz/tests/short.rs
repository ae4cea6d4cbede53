//! The fuzz in a short form, and that each of its checks can fail (rules FZ1 to FZ6).
#![forbid(unsafe_code)]

use std::time::Duration;

use fuzz::{Act, Finding, How, Limits, Player, Tally, on_a_session_thread, script_of};

const SEEDS: u64 = if cfg!(debug_assertions) { 2 } else { 10 };
const ACTS: usize = 80;

/// Plays a script with these limits, on the thread of a session.
fn play(folder: &'static str, limits: Limits, script: Vec<Act>) -> Result<Tally, Finding> {
    on_a_session_thread(move || Player { limits, ..Player::new(folder) }.play(&script))
}

fn played(folder: &'static str, limits: Limits, texts: &[&str]) -> Result<Tally, Finding> {
    play(folder, limits, texts.iter().copied().map(Act::text).collect())
}

#[test]
fn no_statement_takes_the_instance_down() {
    let mut all = Tally::default();
    for seed in 0..SEEDS {
        let came = play("fuzz-short", Limits::default(), script_of(seed, ACTS));
        all += came.unwrap_or_else(|finding| panic!("seed {seed}: {finding}"));
    }
    println!("{all}");
    // A script whose statements are all refused tries the parser alone.
    assert!(all.acts - all.refused > all.acts / 8, "{all}");
    for tag in ["SELECT", "INSERT", "CREATE TABLE", "CREATE INDEX"] {
        assert!(all.done.contains_key(tag), "no {tag} was done: {all}");
    }
}

/// What the player saw of a script.
fn trouble(folder: &'static str, limits: Limits, texts: &[&str]) -> &'static str {
    played(folder, limits, texts).map_or_else(|finding| finding.trouble.word(), |_| "nothing")
}

#[test]
fn trouble_is_seen() {
    let texts = ["select 1", "select 2 as bad", "select 3"];
    assert_eq!(trouble("fuzz-none", Limits::default(), &texts), "nothing");
    let panics = |text: &str| assert!(!text.contains("bad"), "planted");
    let planted = Limits { planted: Some(panics), ..Limits::default() };
    let finding = played("fuzz-panic", planted, &texts).expect_err("it panics");
    assert_eq!(finding.trouble.word(), "panic");
    assert_eq!(finding.script.len(), 2, "{finding}");
    let memory = Limits { resident_bytes: 1, ..Limits::default() };
    assert_eq!(trouble("fuzz-memory", memory, &texts), "memory");
    let slow = Limits { time: Duration::ZERO, more: Duration::ZERO, ..Limits::default() };
    assert_eq!(trouble("fuzz-slow", slow, &texts), "slow");
}

/// A statement that takes too long is refused, and the next one isn't.
#[test]
fn a_statement_has_so_much_time() {
    let limits = Limits { time: Duration::from_millis(50), ..Limits::default() };
    let long = "select count(*) from generate_series(1, 100000) a, generate_series(1, 100000) b";
    let tally = played("fuzz-late", limits, &[long, "select 1"]).expect("nothing is wrong");
    assert_eq!((tally.acts, tally.refused, tally.late), (2, 1, 1), "{tally}");
}

#[test]
fn a_script_is_run_in_each_way() {
    let script = vec![
        Act::text("create table t (a int primary key, b text)"),
        Act { how: How::With(vec![1, 17]), text: "insert into t values ($1, $2)".into() },
        Act::text("insert into t select g, 'x' from generate_series(10, 20) g"),
        Act { how: How::Open, text: "select * from t".into() },
        Act::text("begin"),
        Act::text("nonsense"),
    ];
    let tally = play("fuzz-ways", Limits::default(), script).expect("nothing is wrong");
    assert_eq!((tally.acts, tally.refused), (6, 1), "{tally}");
    assert_eq!((tally.done["INSERT"], tally.done["OPEN"]), (2, 1), "{tally}");
}
