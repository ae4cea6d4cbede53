//! The verdict as a page (rule V30): well-formed, without anything from outside, with the words of
//! the text, whatever rows it is made of.

use std::collections::BTreeMap;

use experiment::{
    Block, Latency, Level, Measure, Measured, Origin, Plan, Question, RoundKind, Rule, Run, Step,
    Surroundings, Verdict, World,
};
use report::{EventTime, ProcessUsage, SessionGroup, TimeProfile, UnaccountedShare};
use roxmltree::{Document, Node, ParsingOptions};
use waits::{Nanos, Statistic};

/// How rows are made.
#[derive(Clone)]
struct Story {
    levels: u8,
    rounds: u32,
    /// B over A.
    ratio: f64,
    has_latency: bool,
    are_blocks: bool,
    /// Wherever others give a name.
    name: &'static str,
}

const STORY: Story = Story {
    levels: 2,
    rounds: 24,
    ratio: 1.06,
    has_latency: true,
    are_blocks: true,
    name: "commit_delay",
};

const SESSIONS: u32 = 4;
const NS: u64 = 900_000_000;

impl Story {
    fn rows(&self) -> Vec<Run> {
        let plan = Plan {
            levels: self.levels,
            rounds: self.rounds,
            equals: 8,
            stretches: 8,
            together: 1,
            seed: 7,
        };
        plan.steps().iter().enumerate().map(|(index, step)| self.run(index, step)).collect()
    }

    fn run(&self, index: usize, step: &Step) -> Run {
        // Neither regular nor skewed, and the same on every machine.
        let noise = ((index + 3) * 7_919 % 101) as f64 / 5_000.0;
        let ratio = self.ratio.powi(step.level.index() as i32);
        let transactions = (9_000.0 * ratio * (1.0 + noise)).round() as u64;
        let origin = Origin {
            experiment: self.name.to_owned(),
            plan_seed: 7,
            commit: self.name.to_owned(),
            machine: self.name.to_owned(),
            world: World::Linux,
            work: "work".to_owned(),
        };
        let delay = if step.level == Level::A { "0" } else { self.name };
        let parameters = [(self.name, delay), ("db_cache_size", "64m"), ("empty", "")];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let setting = format!("{} = {delay}", self.name);
        let identity = origin.identity(step, &setting, BTreeMap::from(parameters));
        let latency = self.has_latency.then(|| {
            let of = |part: f64| part * 1e10 / transactions as f64;
            let [p50_us, p95_us, p99_us, p999_us, max_us] = [0.4, 1.0, 2.0, 4.0, 8.0].map(of);
            Latency { p50_us, p95_us, p99_us, p999_us, max_us, resolution: 1.0 / 512.0 }
        });
        let elapsed = Nanos(NS);
        let measured = Measured { elapsed, transactions, latency, commits: None };
        let mut run = Run::new(identity, measured, &[]);
        run.foreground = group(SESSIONS, self.name, 30_000 * transactions);
        run.background = group(1, "db file parallel write", 5_000 * transactions);
        run.processes = vec![ProcessUsage {
            name: self.name.to_owned(),
            elapsed_ns: NS,
            cpu_ns: 5_000 * transactions as i64,
            run_queue_ns: 0,
            unaccounted_ns: 0,
            reads: 0,
            read_bytes: 0,
            writes: transactions,
            write_bytes: 8_192 * transactions,
        }];
        run.statistics.insert(Statistic::RedoSize.name().to_owned(), 1_000 * transactions);
        run.statistics.insert(Statistic::UserCommits.name().to_owned(), transactions);
        let stolen_ns = (noise * 1e10) as u64;
        let beside = Surroundings { elapsed_ns: NS, cpus: 2, own_ns: NS, stolen_ns, ..EMPTY };
        run.surroundings = Some(beside);
        run.block = self.are_blocks.then(|| Block {
            at_ns: index as u64 * 1_000_000_000,
            instance_ns: 0,
            washout_ns: 100_000_000,
            window_ns: NS,
            transactions,
            step_ns: 100_000_000,
            curve: vec![transactions as u32 / 9; 10],
        });
        run
    }
}

const EMPTY: Surroundings = Surroundings {
    elapsed_ns: 0,
    cpus: 0,
    own_ns: 0,
    others_ns: 0,
    stolen_ns: 0,
    probes: 0,
    probes_ns: 0,
    switches: 0,
};

/// Sessions that had so much CPU, and waited for the rest of the time.
fn group(count: u32, event: &str, cpu_ns: u64) -> SessionGroup {
    let elapsed_ns = u64::from(count) * NS;
    let cpu_ns = cpu_ns.min(elapsed_ns);
    let event = EventTime {
        event: event.to_owned(),
        class: "Commit".to_owned(),
        count: 1_000,
        total_ns: elapsed_ns - cpu_ns,
        of_which_cpu_ns: 0,
        of_which_run_queue_ns: 0,
    };
    let profile = TimeProfile {
        elapsed_ns,
        cpu_ns: cpu_ns as i64,
        events: vec![event],
        ..TimeProfile::default()
    };
    let worst = Some(UnaccountedShare { session: "session1".to_owned(), share: 0.002 });
    SessionGroup { count, profile, worst }
}

fn verdict(rows: &[Run]) -> Verdict {
    let rounds = rows.iter().filter(|run| run.identity.kind == RoundKind::Compared);
    let rounds = rounds.map(|run| run.identity.round).max().unwrap_or(0);
    let rule = Rule {
        threshold: 0.02,
        error: 0.025,
        rounds,
        is_device_neutral: true,
        measure: Measure::Throughput,
        is_open_ended: false,
    };
    let question = Question {
        rule,
        most_rounds: None,
        command: "forebay lab compare --set 'a=<1>' --vs 'a=2'".to_owned(),
        model: String::new(),
        sensitivity: Vec::new(),
        untried: experiment::Untried::Nothing,
        audits: Vec::new(),
        notes: vec!["A note for the reader.".to_owned()],
    };
    Verdict::of(rows, &question).expect("there is a round")
}

/// The page, after what holds of every page was checked.
fn page(rows: &[Run]) -> String {
    let html = verdict(rows).html(rows);
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(&html, options).expect("a page is well-formed");
    for node in document.descendants().filter(Node::is_element) {
        let tag = node.tag_name().name();
        assert!(!["script", "link", "img", "iframe", "object"].contains(&tag), "{tag}");
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(!["src", "style"].contains(&name), "{name}={value}");
            assert!(name != "href" || value.starts_with('#'), "{name}={value}");
        }
    }
    assert!(!html.contains("url(") && !html.contains("@import"), "the style asks for a file");
    assert!(!html.contains("NaN") && !html.contains(">inf"), "a figure that is none");
    html
}

/// The text of a page, without line ends and without the blanks that keep per cent signs.
fn words(html: &str) -> String {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(html, options).expect("a page is well-formed");
    let texts = document.descendants().filter(Node::is_text).filter_map(|node| node.text());
    let text: Vec<&str> = texts.collect();
    text.join(" ").replace('\u{a0}', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The paragraphs of the text: label and sentence on one line.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_page_says_what_the_text_says() {
    let rows = STORY.rows();
    let (text, words) = (unwrapped(&verdict(&rows).text()), words(&page(&rows)));
    assert!(text.contains("Yes. B is"), "{text}");
    let sentence = |from: &str, to: &str| -> String {
        let begin = text.find(from).unwrap_or_else(|| panic!("`{from}` in {text}"));
        let end = text[begin..].find(to).unwrap_or_else(|| panic!("`{to}` behind `{from}`"));
        text[begin..begin + end].trim().to_owned()
    };
    let sentences = [
        sentence("Yes. B is", "Does it matter?"),
        sentence("B / A", "equals"),
        sentence("equals", "noise taken out"),
        sentence("A note for the reader.", "WARNING"),
        sentence("WARNING", "Yardsticks"),
        sentence("not checked in any run", "unaccounted"),
        sentence("B - A of a block's late half", "No effect was seen"),
    ];
    for sentence in sentences {
        assert!(words.contains(&sentence), "`{sentence}` in {words}");
    }
    for figure in ["Does it matter?", "Throughput over time", "The mean block", "db_cache_size"] {
        assert!(words.contains(figure), "`{figure}` in {words}");
    }
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    assert_eq!(page(&STORY.rows()), page(&STORY.rows()));
}

#[test]
fn one_round_makes_a_page_that_says_so() {
    let story = Story { rounds: 2, ..STORY };
    let rows: Vec<Run> = story.rows().into_iter().filter(|run| run.identity.round == 1).collect();
    let words = words(&page(&rows));
    assert!(words.contains("Can't tell. There are fewer than 6 whole rounds."), "{words}");
}

#[test]
fn rows_without_latency_blocks_or_processes_make_a_page() {
    let story = Story { has_latency: false, are_blocks: false, ..STORY };
    let mut rows = story.rows();
    for run in &mut rows {
        run.processes.clear();
        run.surroundings = None;
        run.statistics.clear();
    }
    let words = words(&page(&rows));
    assert!(words.contains("A mark is a run from restored files"), "{words}");
    assert!(!words.contains("latency, median") && !words.contains("The mean block"), "{words}");
}

/// A device may stall for longer than a block: no transaction and no turn of a session ends in it.
#[test]
fn a_block_without_transactions_is_on_the_page() {
    let mut rows = STORY.rows();
    for run in rows.iter_mut().filter(|run| run.identity.round == 3) {
        (run.transactions, run.elapsed_ns) = (0, 0);
        run.foreground.profile = TimeProfile::default();
        let block = run.block.as_mut().expect("all are blocks");
        block.transactions = 0;
        block.curve.fill(0);
    }
    let kept: Vec<String> = rows.iter().map(Run::to_json_line).collect();
    let read = experiment::parse_rows(&kept.join("\n")).expect("such a block is a row").runs;
    assert_eq!(page(&read), page(&rows));
}

#[test]
fn names_that_look_like_markup_are_text() {
    let story = Story { name: "<b>&\"'</b>", ..STORY };
    let html = page(&story.rows());
    assert!(!html.contains("<b>"), "a name became markup");
    assert!(words(&html).contains("<b>&\"'</b> = 0"), "the name isn't shown");
}

#[test]
fn warnings_stand_before_the_charts() {
    let mut rows = STORY.rows();
    rows[0].identity.commit = "another".to_owned();
    let html = page(&rows);
    let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("`{text}` on the page"));
    assert!(at("WARNING: The rows are of different commits.") < at("<svg"));
}

/// The settings stand beside each other before A and one of them are compared in detail.
#[test]
fn several_settings_make_a_page() {
    let rows = Story { levels: 3, ..STORY }.rows();
    let (text, words) = (unwrapped(&verdict(&rows).text()), words(&page(&rows)));
    for sentence in [
        "C is best for certain: faster than each of the others.",
        "Yes. C is",
        "A against C, whose difference is the largest certain one",
    ] {
        assert!(text.contains(sentence) && words.contains(sentence), "`{sentence}` in {words}");
    }
    let at = |what: &str| words.rfind(what).unwrap_or_else(|| panic!("`{what}` in {words}"));
    assert!(at("Throughput of each setting") < at("By how much do they differ?"));
    assert!(words.contains("From A's transaction to C's"), "{words}");
    assert!(!words.contains("Samples"), "{words}");
}

#[test]
fn samples_are_on_the_page_of_two_settings() {
    let words = words(&page(&STORY.rows()));
    for figure in ["Shapiro-Wilk", "Welch's t-test", "Hedges' g", "neighbouring runs aren't."] {
        assert!(words.contains(figure), "`{figure}` in {words}");
    }
}
