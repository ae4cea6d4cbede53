//! `forebay logs` as a person meets it: groups with members on two disks, changed while a load runs
//! and while none does, and a member that is lost.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the test starts the program and looks at real files"
)]

use std::path::PathBuf;
use std::process::{Command, Output};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(path.join("disk2")).expect("a folder for the test");
        Folder(path)
    }

    fn forebay(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
        command.args(arguments).current_dir(&self.0).output().expect("the program starts")
    }

    fn said(&self, arguments: &[&str]) -> String {
        let output = self.forebay(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.forebay(arguments);
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // A member may become good again as the database opens, and that is said too.
        let error: Vec<&str> = said.lines().filter(|line| !line.starts_with("notice: ")).collect();
        assert_eq!(error.len(), 1, "one line: {said}");
        error[0].to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn groups_with_members_on_two_disks_are_made_listed_and_changed() {
    let folder = Folder::new("logs");
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
    assert_eq!(listed.lines().count(), 3, "{listed}");
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
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("three of redo log group 3 is invalid"), "{told}");
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(listed.contains(&format!("{} (INVALID)", on_second("three"))), "{listed}");
    let drop = format!("drop_log_member={}", on_second("three"));
    let add = format!("add_log_member=3:{}", on_second("three"));
    let listed = folder.said(&["logs", "db", "--change", &drop, "--change", &add]);
    assert!(listed.contains(&format!("{} (INVALID)", on_second("three"))), "{listed}");

    let said = folder.refused(&["logs", "db", "--change", "drop_log_group=7"]);
    assert!(said.contains("there is no redo log group 7"), "{said}");
    let said = folder.refused(&["logs", "db", "--change", "drop=7"]);
    assert!(said.contains("--change takes add_log_group=SIZE:PATH"), "{said}");
    let told = folder.said(&["load", "run", "db", "--seconds", "1", "--acknowledge"]);
    std::fs::write(folder.0.join("told"), &told).expect("it is written");
    let audit = folder.said(&["load", "audit", "db", "--acknowledged", "told"]);
    assert!(audit.starts_with("none of "), "{audit}");
}
