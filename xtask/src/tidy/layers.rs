//! Crates lie in their floor's folder, and arrows between them point down only: to a lower floor,
//! or to a lower level of the same floor, by [`house::HOUSE`].
//!
//! A dependency for tests only may point up or sideways, as long as it doesn't close a circle:
//! then a crate's tests would compile against a second copy of the crate itself. A room that
//! `serves_tests` (the simulator) is the one exception; tests that use it go into `tests/`, where
//! there is one copy.

use std::collections::BTreeSet;

use super::Finding;
use crate::house;
use crate::tree::Member;

const TABLE: &str = "the table in xtask/src/house.rs";

pub(crate) fn check(members: &[Member]) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        members.iter().flat_map(|member| check_member(member, members)).collect();
    for (_, room) in house::rooms().filter(|(_, r)| members.iter().all(|m| m.name != r.name)) {
        let say = format!("room `{}` has no crate: take it out of the table", room.name);
        findings.push(Finding::new("xtask/src/house.rs", 0, say));
    }
    findings
}

fn check_member(member: &Member, members: &[Member]) -> Vec<Finding> {
    let path = format!("{}/Cargo.toml", member.folder);
    let find = |say: String| Finding::new(&path, 0, say);
    let Some((stands, room)) = house::room(&member.name) else {
        return vec![find(format!("crate `{}` has no room: put it into {TABLE}", member.name))];
    };
    let mut findings = Vec::new();
    let folder = house::folder(stands, room);
    if folder != member.folder {
        findings.push(find(format!("crate `{}` belongs in the folder {folder}", member.name)));
    }
    for arrow in &member.arrows {
        let Some((to_stands, to)) = house::room(&arrow.to) else {
            findings.push(find(format!("`{}` has no room: put it into {TABLE}", arrow.to)));
            continue;
        };
        let refusal = if arrow.is_dev {
            let circle = !to.serves_tests && reaches(members, to.name, room.name);
            circle.then_some("closes a circle; move the tests that need it up there")
        } else {
            (to_stands >= stands)
                .then_some("doesn't point down; move the code, or declare a trait below")
        };
        if let Some(what) = refusal {
            findings.push(find(format!(
                "the arrow `{}` ({stands}) -> `{}` ({to_stands}) {what}",
                room.name, to.name
            )));
        }
    }
    findings
}

/// Whether `from` depends on `to`, over any number of arrows that aren't for tests only.
fn reaches(members: &[Member], from: &str, to: &str) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(name) = open.pop() {
        if name == to {
            return true;
        }
        if seen.insert(name) {
            let arrows = members.iter().filter(|m| m.name == name).flat_map(|m| &m.arrows);
            open.extend(arrows.filter(|a| !a.is_dev).map(|a| a.to.as_str()));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Arrow;

    /// The whole house with the given arrows; `~` marks one for tests only.
    fn house(arrows: &[(&str, &str)]) -> Vec<Member> {
        let member = |name: &str| Member {
            name: name.to_string(),
            folder: house::room(name).map(|(at, room)| house::folder(at, room)).expect("a room"),
            manifest: String::new(),
            arrows: arrows
                .iter()
                .filter(|(from, _)| *from == name)
                .map(|(_, to)| Arrow {
                    to: to.trim_start_matches('~').to_string(),
                    is_dev: to.starts_with('~'),
                })
                .collect(),
        };
        house::rooms().map(|(_, room)| member(room.name)).collect()
    }

    fn says(members: &[Member], what: &str) -> bool {
        let found = check(members);
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].message.contains(what)
    }

    #[test]
    fn arrows_that_point_down_are_fine() {
        let arrows = [("os", "waits"), ("sim", "os"), ("format", "ids"), ("bench", "xtask")];
        assert_eq!(check(&house(&arrows)), []);
    }

    #[test]
    fn an_upward_arrow_is_refused() {
        assert!(says(
            &house(&[("waits", "os")]),
            "`waits` (floor ground, level 1) -> `os` (floor ground, level 2)"
        ));
    }

    #[test]
    fn an_arrow_to_a_higher_floor_is_refused() {
        assert!(says(&house(&[("cache", "txn")]), "doesn't point down"));
    }

    #[test]
    fn a_crate_in_another_floors_folder_is_refused() {
        let mut members = house(&[]);
        members[0].folder = "crates/storage/ids".to_string();
        assert!(says(&members, "crate `ids` belongs in the folder crates/ground/ids"));
    }

    #[test]
    fn a_sideways_arrow_is_refused() {
        assert!(says(&house(&[("latch", "sim")]), "doesn't point down"));
    }

    #[test]
    fn an_undeclared_crate_is_refused_with_the_place_to_declare_it() {
        let mut members = house(&[]);
        members[0].name = "cellar".to_string();
        let found = check(&members);
        assert!(found[0].message.contains("xtask/src/house.rs"));
        assert!(found[1].message.contains("room `ids` has no crate"));
    }

    #[test]
    fn tests_may_look_up_but_not_in_a_circle() {
        assert_eq!(check(&house(&[("ids", "~stats"), ("waits", "~latch")])), []);
        let circle = [("os", "~latch"), ("latch", "os")];
        assert!(says(&house(&circle), "closes a circle"));
    }

    #[test]
    fn the_simulator_serves_the_tests_of_the_crates_below_it() {
        assert_eq!(check(&house(&[("os", "~sim"), ("sim", "os")])), []);
    }
}
