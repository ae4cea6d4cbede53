//! The pages that show the shell to a new user: what they show is what the shell says, but for
//! numbers; what they add up adds up; and it fits into a terminal.
//!
//! The screens are recorded from a terminal by `record_page.py`, beside this file. Here there is
//! no terminal, so screens in which Ctrl-C is pressed aren't run, and lines are compared by their
//! words: a terminal breaks them elsewhere.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::folder::{Folder, text};

const SHELL: &str = include_str!("../../../../../docs/SHELL.md");
const README: &str = include_str!("../../../../../README.md");

/// The columns of the terminal.
const COLUMNS: usize = 80;
/// What starts the shell.
const STARTS: &str = "$ forebay sql ";
const PROMPTS: [&str; 3] = ["$ ", "forebay=> ", "forebay*> "];
/// A line between the answers of two statements.
const MARK: &str = "=====";

/// What a person types behind a prompt, and what is shown then.
struct Step {
    /// Whether it is a command of the system's shell.
    is_command: bool,
    typed: String,
    shown: Vec<String>,
}

/// The screens of the shell on a page, line by line; without those in which Ctrl-C is pressed.
fn screens(page: &str) -> Vec<Vec<&str>> {
    let mut all = Vec::new();
    let mut screen: Option<Vec<&str>> = None;
    let (mut before, mut is_cancelled) = ("", false);
    for line in page.lines() {
        if line.starts_with("```") {
            match screen.take() {
                Some(lines) if is_of_shell(&lines) && !is_cancelled => all.push(lines),
                Some(_) => {}
                None => {
                    screen = (line == "```text").then(Vec::new);
                    is_cancelled = before.starts_with("<!-- Ctrl-C");
                }
            }
        } else if let Some(lines) = &mut screen {
            lines.push(line);
        }
        before = line;
    }
    all
}

/// Whether a screen starts the shell, or goes on in it.
fn is_of_shell(screen: &[&str]) -> bool {
    let begins = |first: &&str| {
        first.starts_with(STARTS) || PROMPTS[1..].iter().any(|prompt| first.starts_with(prompt))
    };
    screen.first().is_some_and(begins)
}

/// The steps of these screens, one after the other.
fn steps(screens: &[Vec<&str>]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_open = false;
    for line in screens.iter().flatten() {
        if let Some(prompt) = PROMPTS.iter().find(|prompt| line.starts_with(**prompt)) {
            let (is_command, typed) = (*prompt == PROMPTS[0], line[prompt.len()..].to_owned());
            is_open = !is_command && !typed.starts_with('\\') && !typed.ends_with(';');
            steps.push(Step { is_command, typed, shown: Vec::new() });
            continue;
        }
        let last = steps.last_mut().expect("a screen begins with a prompt");
        if is_open {
            last.typed += &format!("\n{line}");
            is_open = !line.ends_with(';');
        } else {
            last.shown.push((*line).to_owned());
        }
    }
    assert!(!is_open, "a statement without an end");
    steps
}

/// The lines of an answer as they were before a terminal of so many columns broke them.
fn unbroken(lines: &[String]) -> Vec<String> {
    let mut whole: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in lines {
        let is_broken = line.chars().count() == COLUMNS && line.ends_with('.');
        let piece = if is_broken { line[..line.len() - 1].trim_end() } else { line.as_str() };
        match whole.last_mut() {
            Some(last) if goes_on => *last += &format!(" {}", piece.trim_start()),
            _ => whole.push(piece.to_owned()),
        }
        goes_on = is_broken;
    }
    whole
}

/// The words of an answer that don't depend on numbers, on time, or on what a machine waits for.
fn words(lines: &[String]) -> Vec<String> {
    let mut words = Vec::new();
    let mut is_profile = false;
    for line in unbroken(lines) {
        let trimmed = line.trim();
        is_profile &= !trimmed.starts_with("elapsed");
        // How many blocks are read depends on their number and on the cache.
        if !is_profile && !trimmed.starts_with("Work: ") && trimmed != "..." {
            words.extend(trimmed.split_whitespace().map(masked));
        }
        is_profile |= trimmed.ends_with("mean wait") || trimmed == "Time profile:";
    }
    // A script is told the line of a failure.
    words.retain(|word| !word.starts_with("stdin:"));
    words
}

/// A word with all numbers alike, and all rules and units.
fn masked(word: &str) -> String {
    if word.chars().all(|c| matches!(c, '-' | '+')) {
        return "-".to_owned();
    }
    if matches!(word, "ns" | "us" | "ms" | "s") {
        return "ms".to_owned();
    }
    let mut masked = String::new();
    for c in word.chars() {
        match c.is_ascii_digit() {
            true if masked.ends_with('#') => {}
            true => masked.push('#'),
            false => masked.push(c),
        }
    }
    // 1,378.779 is as good as 9, and so is -0.001.
    for between in ["#,#", "#.#", "-#"] {
        while masked.contains(between) {
            masked = masked.replace(between, "#");
        }
    }
    masked
}

/// What a script says on both of its outputs.
fn run(folder: &Folder, command: &str, input: &str) -> String {
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_forebay")).parent().expect("a folder");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").expect("there is one"));
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{command} 2>&1")]).env("PATH", path).current_dir(&folder.0);
    let mut running =
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    // A program that runs the statements of `-c` reads nothing.
    let _ = running.stdin.take().expect("a pipe").write_all(input.as_bytes());
    text(&running.wait_with_output().expect("it ends").stdout)
}

/// Runs the screens of a page, and compares what is said.
fn hold(page: &str, name: &str, with: impl Fn(&str) -> String) {
    let folder = Folder::new(name);
    let steps = steps(&screens(page));
    let mut rest = steps.as_slice();
    while let Some((first, behind)) = rest.split_first() {
        assert!(first.is_command, "{:?} is typed into no shell", first.typed);
        let typed = behind.iter().take_while(|step| !step.is_command).count();
        let (inside, next) = behind.split_at(typed);
        let script: String =
            inside.iter().map(|step| format!("{}\n\\echo {MARK}\n", with(&step.typed))).collect();
        let command = match inside.is_empty() {
            true => first.typed.clone(),
            false => format!("{} --keep-going", first.typed),
        };
        let said = run(&folder, &command, &script);
        let mark = format!("{MARK}\n");
        let mut answers = said.split(mark.as_str());
        let compared = match inside.is_empty() {
            true => std::slice::from_ref(first),
            // A script isn't greeted.
            false => inside,
        };
        for step in compared {
            let answer = answers.next().unwrap_or_else(|| panic!("{:?}: {said}", step.typed));
            let lines: Vec<String> = answer.lines().map(str::to_owned).collect();
            assert_eq!(words(&step.shown), words(&lines), "{}\n{answer}", step.typed);
        }
        rest = next;
    }
}

#[test]
fn the_page_about_the_shell_is_true() {
    // Two of these rows are of the owner that is looked for.
    hold(SHELL, "page-shell", |typed| typed.replace("200000", "104711"));
}

#[test]
fn the_readme_is_true_of_the_shell() {
    hold(README, "page-readme", str::to_owned);
}

#[test]
fn screens_fit_into_a_terminal() {
    let count = |page| screens(page).len();
    assert!(count(SHELL) >= 8 && count(README) == 1, "the screens are found");
    for page in [SHELL, README] {
        for line in screens(page).iter().flatten() {
            assert!(line.chars().count() <= COLUMNS, "{line}");
        }
    }
}

/// The figures of a line of a profile, in the unit of their last digit; none of another line.
fn figures(line: &str) -> Option<[i64; 2]> {
    let mut parts = line.trim().split("  ").map(str::trim).filter(|part| !part.is_empty()).skip(1);
    let mut next = || {
        let digits = parts.next()?.trim_end_matches(" ms").replace(['.', ','], "");
        digits.parse::<i64>().ok()
    };
    // EXPLAIN ANALYZE gives no shares.
    next().map(|time| [time, next().unwrap_or(0)])
}

#[test]
fn profiles_on_the_page_add_up() {
    let (mut profiles, mut sums) = (0, None);
    for line in screens(SHELL).iter().flatten() {
        if line.ends_with("mean wait") || line.trim() == "Time profile:" {
            sums = Some([0, 0]);
            continue;
        }
        let (Some([time, share]), Some([times, shares])) = (figures(line), sums) else { continue };
        if line.trim().starts_with("elapsed") {
            assert_eq!([times, shares], [time, share], "{line}");
            profiles += 1;
            sums = None;
        } else {
            sums = Some([times + time, shares + share]);
        }
    }
    assert!(profiles >= 5, "{profiles}");
}
