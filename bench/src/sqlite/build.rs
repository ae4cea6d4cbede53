//! How SQLite was compiled, and whether that is its best.
//!
//! Cargo passes `LIBSQLITE3_FLAGS` of `.cargo/config.toml` to the build of SQLite and to that of
//! this crate. What SQLite says of itself is compared with what a fast build has; fdatasync isn't
//! among the options that it names, so that one is looked for in the flags.
//!
//! Callers: `Sqlite::create`.

use rusqlite::Connection;

use crate::{Error, Result};

/// The flags that this build passed to SQLite's.
const FLAGS: &str = match option_env!("LIBSQLITE3_FLAGS") {
    Some(flags) => flags,
    None => "",
};
/// Options that make SQLite slower for many threads or check its caller.
const SLOW: [&str; 4] =
    ["ENABLE_MEMORY_MANAGEMENT", "ENABLE_API_ARMOR", "DEBUG", "ENABLE_EXPENSIVE_ASSERT"];
/// Options of a fast build.
const FAST: [&str; 3] = ["DEFAULT_MEMSTATUS=0", "THREADSAFE=2", "OMIT_SHARED_CACHE"];
/// Flags whose effect SQLite doesn't tell.
const FAST_FLAGS: [&str; 3] = ["-DHAVE_FDATASYNC=1", "-DHAVE_PREAD=1", "-DHAVE_PWRITE=1"];

/// The options in words; refused if they aren't those of a fast build.
pub(super) fn check(connection: &Connection) -> Result<String> {
    let mut statement = connection.prepare("PRAGMA compile_options")?;
    let options = statement.query_map([], |row| row.get(0))?;
    let options: Vec<String> = options.collect::<rusqlite::Result<_>>()?;
    is_fast(&options, FLAGS)?;
    let flags: Vec<&str> = FAST_FLAGS.iter().map(|flag| flag.trim_start_matches("-D")).collect();
    Ok([options.join(", "), flags.join(", ")].join(", "))
}

fn is_fast(options: &[String], flags: &str) -> Result<()> {
    let has = |wanted: &&str| options.iter().any(|option| option == wanted);
    let passed = |wanted: &&str| flags.split_whitespace().any(|flag| flag == *wanted);
    let slow = SLOW.into_iter().find(has).map(|option| format!("with {option}"));
    let lacks = FAST.into_iter().find(|option| !has(option));
    let lacks = lacks.or_else(|| FAST_FLAGS.into_iter().find(|flag| !passed(flag)));
    match slow.or(lacks.map(|option| format!("without {option}"))) {
        None => Ok(()),
        Some(what) => Err(Error::Refused(format!(
            "SQLite is compiled {what}, so a race against it would be unfair: build in this \
             workspace, whose .cargo/config.toml sets LIBSQLITE3_FLAGS"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_build_is_a_fast_one() {
        let connection = Connection::open_in_memory().expect("memory is there");
        let words = check(&connection).unwrap_or_else(|refused| panic!("{refused}"));
        assert!(words.contains("THREADSAFE=2") && words.contains("HAVE_FDATASYNC=1"), "{words}");
    }

    #[test]
    fn a_slow_build_is_refused_with_the_reason() {
        let fast: Vec<String> = FAST.map(str::to_owned).into();
        let flags = FAST_FLAGS.join(" ");
        assert_eq!(is_fast(&fast, &flags), Ok(()));
        let refused = |options: &[String], flags: &str| {
            is_fast(options, flags).expect_err("it is slow").to_string()
        };
        for slow in SLOW {
            let text = refused(&[&fast[..], &[slow.to_owned()]].concat(), &flags);
            assert!(text.contains(&format!("with {slow}")), "{text}");
        }
        assert!(refused(&fast[1..], &flags).contains("without DEFAULT_MEMSTATUS=0"));
        assert!(refused(&fast, "").contains("without -DHAVE_FDATASYNC=1"));
    }
}
