//! `forebay logs` as a person meets it: groups with members on two disks, changed while a load runs
//! and while none does, and a member that is lost.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::folder::{Folder, interrupt, refused, text};

/// A folder with a place on a second disk in it.
fn with_two_disks(name: &str) -> Folder {
    let folder = Folder::new(name);
    std::fs::create_dir_all(folder.0.join("disk2")).expect("a folder for the test");
    folder
}

#[test]
fn groups_with_members_on_two_disks_are_made_listed_and_changed() {
    let folder = with_two_disks("logs");
    let second = folder.0.join("disk2");
    let on_second = |name: &str| second.join(name).display().to_string();
    let group = |name: &str, size: &str| format!("{size}:{name}.log,{}", on_second(name));
    let (one, two) = (group("one", "1m"), group("two", "2m"));
    let create = ["load", "create", "db", "--megabytes", "1", "--log-group", &one];
    let said = folder.refused(&create);
    assert!(said.contains("2 to 255 redo log groups"), "{said}");
    assert!(!folder.0.join("db/control01.ctl").exists());
    folder.said(&[&create[..], &["--log-group", &two]].concat());

    let listed = folder.said(&["logs", "db"]);
    assert_eq!(listed.lines().count(), 5, "a line for each member: {listed}");
    assert!(listed.contains(" 2048 ") && listed.contains(&on_second("two")), "{listed}");

    let alter = |change: &str| format!("0.2:{change}");
    let alters = [
        alter(&format!("add_log_group={}", group("three", "3m"))),
        alter(&format!("add_log_member=1:{}", on_second("one-more"))),
        alter(&format!("drop_log_member={}", on_second("one"))),
        alter("switch_log=next"),
    ];
    let mut run = vec!["load", "run", "db", "--seconds", "2"];
    alters.iter().for_each(|alter| run.extend(["--alter", alter]));
    let said = folder.said(&run);
    assert!(said.contains("add_log_group = 3m:three.log"), "{said}");
    assert!(second.join("three").exists() && !second.join("one").exists());

    // A disk is lost: everything goes on with the other.
    std::fs::remove_file(second.join("three")).expect("there");
    let output = folder.forebay(&["logs", "db"]);
    let (listed, said) = (text(&output.stdout), refused(&output));
    assert!(listed.contains(&format!("{} (INVALID: cannot open", on_second("three"))), "{listed}");
    assert!(said.contains("'forebay verify db' says what to do"), "{said}");
    assert!(!listed.contains("UNKNOWN"), "the group has another member: {listed}");
    let output = folder.forebay(&["recover", "db"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("three of redo log group 3 is invalid"), "{told}");
    let drop = format!("drop_log_member={}", on_second("three"));
    let add = format!("add_log_member=3:{}", on_second("three"));
    let listed = folder.said(&["logs", "db", "--change", &drop, "--change", &add]);
    assert!(listed.contains(&format!("{} (INVALID)", on_second("three"))), "{listed}");

    let said = folder.refused(&["logs", "db", "--change", "drop_log_group=7"]);
    assert!(said.contains("there is no redo log group 7"), "{said}");
    let said = folder.misused(&["logs", "db", "--change", "drop=7"]);
    assert!(said.contains("--change takes add_log_group=SIZE:PATH"), "{said}");
    let told = folder.said(&["load", "run", "db", "--seconds", "1", "--acknowledge"]);
    std::fs::write(folder.0.join("told"), &told).expect("it is written");
    let audit = folder.said(&["load", "audit", "db", "--acknowledged", "told"]);
    assert!(audit.starts_with("none of "), "{audit}");
}

/// What is listed can be given back: a path from the database's directory on, however the directory
/// is spelt.
#[test]
fn a_member_is_dropped_and_added_by_the_path_that_is_listed() {
    let folder = with_two_disks("logs-listed");
    let create = ["load", "create", "db", "--megabytes", "1", "--set", "log_file_bytes=1m"];
    folder.said(&[&create[..], &["--set", "log_members=2"]].concat());
    let directory = folder.0.join("db").display().to_string();
    for (place, file) in
        [("db", "redo01b.log"), ("./db", "redo02b.log"), (&directory, "redo03b.log")]
    {
        let listed = folder.said(&["logs", place]);
        assert!(listed.contains(&format!(" {file}\n")), "{listed}");
        let listed = folder.said(&["logs", place, "--change", &format!("drop_log_member={file}")]);
        assert!(!listed.contains(file) && !folder.0.join("db").join(file).exists(), "{listed}");
        let number = &file[5..6];
        let add = format!("add_log_member={number}:{file}");
        let listed = folder.said(&["logs", place, "--change", &add]);
        assert!(listed.contains(&format!(" {file} (INVALID)\n")), "{listed}");
        assert!(folder.0.join("db").join(file).exists(), "{add}");
    }
    // An absolute path of a file in there is one from the directory on, too.
    let add = format!("add_log_group=1 MiB:{directory}/redo04.log");
    let listed = folder.said(&["logs", "./db", "--change", &add]);
    assert!(listed.contains(" redo04.log\n"), "{listed}");
    let said = folder.refused(&["logs", "db", "--change", "add_log_member=1:db/redo05.log"]);
    assert!(said.contains("db/db: no such file or directory"), "{said}");
    let said = folder.refused(&["logs", "db", "--change", "drop_log_member=redo09.log"]);
    assert!(said.contains("is no member of a redo log group"), "{said}");
}

/// Listing reads files and writes nothing, also where a crash has left work for recovery.
#[test]
fn listing_logs_changes_nothing() {
    let folder = Folder::with_database("logs-read-only");
    let mut run = folder.command(&["load", "run", "db", "--seconds", "600", "--acknowledge"]);
    let mut running = run.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    let out = running.stdout.as_mut().expect("a pipe");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("a commit");
    let said = folder.refused(&["logs", "db"]);
    assert!(said.contains("another program has it open"), "{said}");
    running.kill().expect("it runs");
    running.wait().expect("it ends");
    let before = folder.contents("db");
    let listed = folder.said(&["logs", "db"]);
    assert!(listed.contains("CURRENT") && listed.lines().count() == 4, "{listed}");
    let json: serde_json::Value =
        serde_json::from_str(&folder.said(&["logs", "db", "--json"])).expect("it is JSON");
    assert_eq!(json.as_array().map(Vec::len), Some(3), "{json}");
    assert_eq!(json[0]["members"][0]["path"], "redo01.log", "{json}");
    assert!(folder.contents("db") == before, "something was written");
    let said = folder.said(&["recover", "db"]);
    assert!(said.contains("recovery read "), "{said}");
    assert!(folder.contents("db") != before, "nothing was recovered");
    folder.said(&["verify", "db"]);
}

/// The listing of a database whose current log has a damaged header calls no other log current.
#[test]
fn a_log_with_a_damaged_header_is_invalid_and_no_other_is_current() {
    let folder = Folder::with_database("logs-damaged");
    let listed = |status| -> serde_json::Value {
        let output = folder.forebay(&["logs", "db", "--json"]);
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        serde_json::from_slice(&output.stdout).expect("it is JSON")
    };
    let before = listed(0);
    let groups = before.as_array().expect("a list");
    let at = groups.iter().position(|group| group["status"] == "CURRENT").expect("one is");
    let path = before[at]["members"][0]["path"].as_str().expect("a path").to_string();
    let path = folder.0.join("db").join(path);
    let mut content = std::fs::read(&path).expect("it can be read");
    content[100] ^= 0xff;
    std::fs::write(&path, content).expect("it can be written");
    let after = listed(1);
    let member = &after[at]["members"][0];
    assert_eq!((&member["valid"], &after[at]["status"]), (&false.into(), &"UNKNOWN".into()));
    assert!(member["fault"].as_str().is_some_and(|fault| fault.contains("is damaged")), "{after}");
    let current = after.as_array().expect("a list").iter();
    assert_eq!(current.filter(|group| group["status"] == "CURRENT").count(), 0, "{after}");
}

/// The files of a group are lost that no recovery needs: what opening says mends it.
#[test]
fn a_lost_group_is_made_anew_by_the_command_that_is_named() {
    let folder = Folder::with_database("logs-lost");
    let listed = folder.said(&["logs", "db"]);
    let line = listed.lines().find(|line| line.contains("INACTIVE")).expect("one is");
    let words: Vec<&str> = line.split_whitespace().collect();
    let (group, name) = (words[0], words[4]);
    std::fs::remove_file(folder.0.join("db").join(name)).expect("there");
    let output = folder.forebay(&["logs", "db"]);
    let listed = text(&output.stdout);
    assert!(listed.contains("UNKNOWN") && output.status.code() == Some(1), "{listed}");
    let change = format!("clear_log_group={group}");
    let said = folder.refused(&["recover", "db"]);
    assert!(said.contains(&format!("'forebay logs db --change {change}'")), "{said}");
    assert!(said.contains(name) && !said.contains("restore"), "{said}");
    let found = text(&folder.forebay(&["verify", "db"]).stdout);
    assert!(found.starts_with("lost log: ") && !found.contains("restore"), "{found}");
    let more = ["logs", "db", "--change", &change, "--change", "switch_log=next"];
    let listed = folder.said(&more);
    assert!(listed.contains(name) && !listed.contains("INVALID"), "{listed}");
    let said = folder.refused(&["logs", "db", "--change", &change]);
    assert!(said.contains("move that away first"), "{said}");
    folder.said(&["verify", "db"]);
}

/// Removes the files of groups that no recovery needs; the changes that clear these groups.
fn lose_groups(folder: &Folder, count: usize) -> Vec<String> {
    let listed = folder.said(&["logs", "db"]);
    let lines = listed.lines().filter(|line| line.contains("INACTIVE") || line.contains("UNUSED"));
    let changes = lines.take(count).map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        std::fs::remove_file(folder.0.join("db").join(words[4])).expect("there");
        format!("clear_log_group={}", words[0])
    });
    let changes: Vec<String> = changes.collect();
    assert_eq!(changes.len(), count, "{listed}");
    changes
}

/// What was cleared is told, also where the command fails behind it.
#[test]
fn a_clearing_is_told_of_where_the_command_fails_behind_it() {
    let folder = Folder::filled("logs-cleared", &["--megabytes", "1", "--set", "log_groups=5"]);
    for _ in 0..4 {
        folder.said(&["recover", "db"]);
    }
    let [first, second, third] = &lose_groups(&folder, 3)[..] else { panic!("three") };
    let output = folder.forebay(&["logs", "db", "--change", first]);
    assert!(text(&output.stdout).contains("UNKNOWN"), "{output:?}");
    let said = refused(&output);
    assert!(said.starts_with("forebay: the changes are made; "), "{said}");
    let said = folder.refused(&["logs", "db", "--change", second, "--change", "switch_log=next"]);
    let told = format!("; changes made: {second}; not made: switch_log=next");
    assert!(said.contains("is lost") && said.ends_with(&told), "{said}");
    let small = ["--set", "db_cache_size=32k", "--change", "switch_log=next"];
    let said = folder.refused(&[&["logs", "db", "--change", third], &small[..]].concat());
    let told = format!("; changes made: {third}; not made: switch_log=next");
    assert!(said.contains("db_cache_size is 32k") && said.ends_with(&told), "{said}");
    let said = folder.refused(&[&["logs", "db"], &small[..]].concat());
    assert!(!said.contains("changes made"), "{said}");
    folder.said(&["verify", "db"]);
}

/// A lost member that was a link to a file elsewhere: the link is named, and what mends the group.
#[test]
fn a_link_that_leads_to_no_file_is_a_lost_log() {
    let folder = Folder::with_database("logs-link");
    let change = lose_groups(&folder, 1).remove(0);
    let name = format!("db/redo0{}.log", &change[change.len() - 1..]);
    std::os::unix::fs::symlink("/nowhere/redo.log", folder.0.join(&name)).expect("made");
    let said = folder.refused(&["recover", "db"]);
    let link = format!("{name} (a symbolic link that leads to no file)");
    assert!(said.contains(&link) && said.contains(&format!("remove {name}")), "{said}");
    assert!(said.contains(&change) && !said.contains("restore"), "{said}");
    let found = text(&folder.forebay(&["verify", "db"]).stdout);
    assert!(found.starts_with("lost log: ") && found.contains("symbolic link"), "{found}");
    let said = folder.refused(&["logs", "db", "--change", &change]);
    assert!(said.contains(&format!("{name} is a symbolic link that leads to no file")), "{said}");
    std::fs::remove_file(folder.0.join(&name)).expect("there");
    folder.said(&["logs", "db", "--change", &change]);
    folder.said(&["verify", "db"]);
}

/// Ctrl-C ends a clearing that is making a large file; nothing is left of it.
#[test]
fn a_clearing_is_given_up_when_a_signal_comes() {
    let folder = Folder::with_database("logs-clear-interrupted");
    folder.said(&["logs", "db", "--change", "add_log_group=512m:x.log"]);
    std::fs::remove_file(folder.0.join("db/x.log")).expect("there");
    let new = folder.0.join("db/x.log.forebay-temp");
    let mut command = Command::new("env");
    command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_forebay")]);
    command.args(["logs", "db", "--change", "clear_log_group=4"]).current_dir(&folder.0);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut clearing = command.spawn().expect("it starts");
    while !new.exists() {
        assert!(clearing.try_wait().expect("known").is_none(), "it ended before it made a file");
        std::thread::sleep(Duration::from_millis(1));
    }
    interrupt(clearing.id());
    let output = clearing.wait_with_output().expect("it ends");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("it was stopped"), "{said}");
    assert!(!new.exists() && !folder.0.join("db/x.log").exists());
}

/// A log that is too small is refused with the size that was given.
#[test]
fn a_log_that_is_too_small_is_refused_with_its_size() {
    let folder = Folder::new("logs-small");
    let create = ["load", "create", "db", "--log-group", "100:a.log", "--log-group", "100:b.log"];
    let said = folder.refused(&create);
    assert!(said.contains("a redo log of 100 bytes is too small"), "{said}");
}

/// A copy of a database's folder lists the original's files on another disk: it isn't opened, and
/// they stay as they are. One that was moved is, once somebody says so.
#[test]
fn a_copy_of_a_database_with_a_member_elsewhere_is_refused_and_a_moved_one_is_not() {
    let folder = with_two_disks("logs-copy");
    folder.create(&["--megabytes", "1"]);
    let member = folder.0.join("disk2/one.log");
    let add = format!("add_log_member=1:{}", member.display());
    folder.said(&["logs", "db", "--change", &add]);
    // Each opening begins a new log; the member is good when its group has had one.
    for _ in 0..3 {
        folder.said(&["recover", "db"]);
    }
    let listed = folder.said(&["logs", "db"]);
    assert!(!listed.contains("INVALID"), "{listed}");
    let before = std::fs::read(&member).expect("there");
    let mut copy = Command::new("cp");
    let copied = copy.args(["-r", "db", "copy"]).current_dir(&folder.0).status();
    assert!(copied.expect("it starts").success());
    let said = folder.refused(&["logs", "copy", "--change", "switch_log=next"]);
    assert!(said.contains("disk2/one.log, a file of it, lies outside"), "{said}");
    assert!(std::fs::read(&member).expect("there") == before, "the original's log was written to");

    std::fs::rename(folder.0.join("db"), folder.0.join("moved")).expect("moved");
    let said = folder.refused(&["recover", "moved"]);
    assert!(said.contains("say so by 'forebay moved moved'"), "{said}");
    folder.said(&["moved", "moved"]);
    let listed = folder.said(&["logs", "moved"]);
    assert!(listed.contains("disk2/one.log") && !listed.contains("INVALID"), "{listed}");
}

/// What the control file and the names on the disk tell is refused before anything is written, also
/// of the second of two changes.
#[test]
fn a_change_that_cant_be_made_is_refused_before_the_database_is_opened() {
    let folder = Folder::with_database("logs-unopened");
    let before = folder.contents("db");
    for (change, says) in [
        ("drop_log_group=9", "there is no redo log group 9"),
        ("add_log_member=9:x.log", "there is no redo log group 9"),
        ("drop_log_member=x.log", "x.log is no member of a redo log group"),
        ("drop_log_member=redo01.log", "has no other good member"),
        ("add_log_group=1k:x.log", "is too small"),
        ("add_log_group=1m:redo01.log", "is a file of the database already"),
        ("add_log_group=1m:control01.ctl", "there is a file of this name; choose another"),
        ("add_log_member=1:data01.dbf", "is a file of the database already"),
        ("add_log_group=1m:x.forebay-temp", "choose another"),
        ("add_log_group=15t:x.log", "MB are free"),
        ("add_log_group=1m:nowhere/x.log", "no such file or directory"),
    ] {
        for earlier in [&[][..], &["--change", "add_log_group=1m:y.log"]] {
            let arguments = [&["logs", "db"], earlier, &["--change", change]].concat();
            let said = folder.refused(&arguments);
            assert!(said.contains(says), "{change}: {said}");
            assert!(folder.contents("db") == before, "{change}: something was written");
        }
    }
    let drops = ["drop_log_group=1", "drop_log_group=2"];
    for (changes, says) in [
        (["switch_log=next", "clear_log_group=1"], "give this change first"),
        (drops, "cannot drop redo log group 2: there must be two; add another one first"),
    ] {
        let [first, second] = changes.map(|change| ["--change", change]);
        let said = folder.refused(&[&["logs", "db"][..], &first, &second].concat());
        assert!(said.contains(says), "{changes:?}: {said}");
        assert!(folder.contents("db") == before, "{changes:?}: something was written");
    }
}

/// Of several changes the first are made; the refusal of the next names them and the others.
#[test]
fn what_was_changed_before_a_refused_change_is_told() {
    let folder = Folder::with_database("logs-changed-before");
    let mut arguments = vec!["logs", "db"];
    let changes = [
        "add_log_group=1m:x.log",
        "add_log_group=1m:y.log",
        // One of these groups is the current one when the database is open.
        "drop_log_group=1",
        "drop_log_group=2",
        "drop_log_group=3",
    ];
    changes.iter().for_each(|change| arguments.extend(["--change", change]));
    let output = folder.forebay(&arguments);
    let said = refused(&output);
    assert!(said.contains("cannot drop redo log group"), "{said}");
    let (_, told) = said.split_once("; changes made: ").expect("it says which");
    let (made, others) = told.split_once("; not made: ").expect("it says which not");
    assert!(made.starts_with("add_log_group=1m:x.log, add_log_group=1m:y.log"), "{said}");
    let told: Vec<&str> = made.split(", ").chain(others.split(", ")).collect();
    assert_eq!(told, changes, "{said}");
    let listed = text(&output.stdout);
    assert!(listed.contains("x.log") && listed.contains("y.log"), "{listed}");
}

/// A change of a database that a crash has left recovers it first, and says so.
#[test]
fn a_change_says_that_the_database_was_recovered() {
    let folder = Folder::with_database("logs-recovers");
    let mut run = folder.command(&["load", "run", "db", "--seconds", "600", "--acknowledge"]);
    let mut running = run.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    let out = running.stdout.as_mut().expect("a pipe");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("a commit");
    running.kill().expect("it runs");
    running.wait().expect("it ends");
    for (change, recovers) in [("add_log_group=1m:x.log", true), ("add_log_group=1m:y.log", false)]
    {
        let output = folder.forebay(&["logs", "db", "--change", change]);
        let told = text(&output.stderr);
        assert!(output.status.success(), "{told}");
        assert_eq!(told.contains("notice: the database was recovered: "), recovers, "{told}");
    }
}

/// A log that the disk has no room for is refused before it has filled the disk for everybody else.
#[test]
fn a_log_larger_than_the_free_space_is_refused_before_it_is_made() {
    let folder = Folder::with_database("logs-no-room");
    for change in ["add_log_group=15t:x.log", "add_log_group=8t:x.log,y.log"] {
        let output = folder.briefly(&["logs", "db", "--change", change]).output();
        let said = refused(&output.expect("it starts"));
        assert!(
            said.contains("cannot make redo logs in") && said.contains("MB are free"),
            "{said}"
        );
    }
}

/// Ctrl-C ends a change, and a load, that is making a large file; nothing is left of it.
#[test]
fn a_log_that_is_being_made_is_given_up_when_a_signal_comes() {
    let folder = Folder::with_database("logs-interrupted");
    let new = folder.0.join("db/x.log.forebay-new");
    for change in [
        &["logs", "db", "--change", "add_log_group=2g:x.log"][..],
        &["load", "run", "db", "--seconds", "60", "--alter", "0.1:add_log_group=2g:x.log"],
    ] {
        let mut command = Command::new("env");
        command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_forebay")]).args(change);
        command.current_dir(&folder.0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut changing = command.spawn().expect("it starts");
        while !new.exists() {
            assert!(
                changing.try_wait().expect("known").is_none(),
                "it ended before it made a file"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        interrupt(changing.id());
        let output = changing.wait_with_output().expect("it ends");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{change:?}: {said}");
        assert!(said.contains("it was stopped"), "{said}");
        assert!(!new.exists() && !folder.0.join("db/x.log").exists(), "{change:?}");
    }
    assert!(!folder.said(&["logs", "db"]).contains("x.log"));
}

/// A directory that isn't the database's any more gets none of its files.
#[test]
fn a_database_whose_directory_was_renamed_makes_no_file_under_the_old_name() {
    let folder = Folder::with_database("logs-renamed");
    let run = ["load", "run", "db", "--seconds", "4", "--alter", "3:add_log_group=1m:x.log"];
    let mut running = folder.command(&run[..]);
    running.stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = running.spawn().expect("it starts");
    std::thread::sleep(Duration::from_millis(1_500));
    std::fs::rename(folder.0.join("db"), folder.0.join("moved")).expect("moved");
    std::fs::create_dir(folder.0.join("db")).expect("made");
    let said = refused(&running.wait_with_output().expect("it ends"));
    assert!(said.contains("isn't the directory any more that was opened"), "{said}");
    assert_eq!(std::fs::read_dir(folder.0.join("db")).expect("there").count(), 0);
    assert!(!folder.said(&["logs", "moved"]).contains("x.log"));
}

/// Opening has begun a log, and nothing is in it: the user is told that the next isn't begun.
#[test]
fn a_switch_of_an_empty_log_is_told_of_and_opening_anew_begins_the_next() {
    let folder = Folder::with_database("logs-empty");
    let current = |listed: &str| {
        let line = listed.lines().find(|line| line.contains("CURRENT")).expect("one is");
        line.split_whitespace().next().expect("its number").to_string()
    };
    let output = folder.forebay(&["logs", "db", "--change", "switch_log=next"]);
    assert!(output.status.success(), "{output:?}");
    let (said, group) = (text(&output.stderr), current(&text(&output.stdout)));
    assert!(said.contains("is empty") && said.contains("open the database anew"), "{said}");
    let listed = folder.said(&["logs", "db", "--change", &format!("drop_log_group={group}")]);
    assert_eq!(listed.lines().count(), 3, "{listed}");
}
