//! Texts that are deep, long or large.
//!
//! Callers: the script itself.

use super::kinds::Kind;
use super::writer::Writer;

/// The most bytes of a text.
const BYTES_MAX: usize = 400_000;

impl Writer {
    /// A text of some size of which nobody would write the half.
    pub(super) fn extreme(&mut self) -> String {
        let count = match self.below(6) {
            0 => 3 + self.below(30),
            1 | 2 => 80 + self.below(60),
            3 => 380 + self.below(40),
            4 => 1_000,
            _ => 20_000,
        };
        match self.below(3) {
            0 => self.nested(count),
            1 => self.in_a_row(count),
            _ => self.doubling(count),
        }
    }

    /// Something within itself.
    fn nested(&mut self, count: usize) -> String {
        let table = self.table().name;
        let [open, core, close] = match self.below(16) {
            0 => ["select ".into(), "1".into(), String::new()],
            1 => ["select (".into(), "1".into(), ")".into()],
            2 => ["(select ".into(), "select 1".into(), ")".into()],
            3 => ["not ".into(), "select true".into(), String::new()],
            4 => ["case when true then ".into(), "1".into(), " end".into()],
            5 => ["abs(".into(), "-1".into(), ")".into()],
            6 => ["coalesce(null, ".into(), "1".into(), ")".into()],
            7 => ["cast(".into(), "1".into(), " as text)".into()],
            8 => ["(select * from ".into(), format!("(select 1) {table}"), ") q".into()],
            9 => [format!("exists (select 1 from {table} where "), "true".into(), ")".into()],
            10 => [format!("c0 in (select c0 from {table} where "), "true".into(), ")".into()],
            11 => ["- ".into(), "1".into(), String::new()],
            12 => ["lower('a' || ".into(), "'b'".into(), ")".into()],
            13 => ["with q as (".into(), "select 1".into(), ") select * from q".into()],
            14 => ["(".into(), "1".into(), ", 2)".into()],
            _ => ["/* ".into(), "a".into(), " */".into()],
        };
        let most = BYTES_MAX / (open.len() + close.len()).max(1);
        let count = count.min(most);
        let text = format!("{}{core}{}", open.repeat(count), close.repeat(count));
        match text.starts_with("select") || text.starts_with("with") {
            true => text,
            false => match self.below(3) {
                0 => format!("select {text}"),
                1 => format!("select 1 from {table} where {text}"),
                _ => format!("update {table} set c0 = {text}"),
            },
        }
    }

    /// Something again and again.
    fn in_a_row(&mut self, count: usize) -> String {
        let table = self.table().name;
        let (before, part, between, behind) = match self.below(15) {
            0 => ("select ", "1".into(), " + ", ""),
            1 => ("select ", "'a'".into(), " || ", ""),
            2 => ("select 1 where ", "1 = 1".into(), " and ", ""),
            3 => ("select 1 where ", "1 = 2".into(), " or ", ""),
            4 => ("select 5 in (", "5, null".into(), ", ", ")"),
            5 => ("", "select 1".into(), " union all ", ""),
            6 => ("", "select 1".into(), " intersect ", ""),
            7 => ("select 1 from ", "(select 1) q".into(), ", ", ""),
            8 => ("select ", "1".into(), ", ", ""),
            9 => ("values (", "1".into(), "), (", ")"),
            10 => {
                ("select 1 from generate_series(1, 2) a ", String::new(), "natural join dual ", "")
            }
            11 => ("select ", "coalesce(null, 1)".into(), " * ", ""),
            12 => ("select greatest(", "1, 2".into(), ", ", ")"),
            13 => ("select 1 order by ", "1".into(), ", ", ""),
            _ => ("select case ", "when 1 = 2 then 3".into(), " ", " end"),
        };
        let part: String = part;
        let most = BYTES_MAX / (part.len() + between.len()).max(1);
        let text = format!("{before}{}{behind}", vec![part; count.min(most)].join(between));
        match self.below(6) {
            0 => format!("explain {text}"),
            1 => format!("create view {} as {text}", self.new_name('v')),
            2 => format!("insert into {table} {text}"),
            _ => text,
        }
    }

    /// What reads another thing twice, which does so too; or what is long by itself.
    fn doubling(&mut self, count: usize) -> String {
        let table = self.table().name;
        let steps = count.min(60);
        match self.below(9) {
            0 => {
                let how = self.pick(&["", "materialized ", "not materialized "]);
                let step = |n: usize| {
                    format!("q{n} as {how}(select a.n from q{} a, q{} b limit 3)", n - 1, n - 1)
                };
                let steps: Vec<String> = (1..steps).map(step).collect();
                let last = steps.len();
                let all = ["q0 as (select 1 as n)".to_string()].into_iter().chain(steps);
                format!("with {} select * from q{last}", all.collect::<Vec<_>>().join(", "))
            }
            1 => {
                let step = |text: String, _| format!("select c0 || c0 as c0 from ({text}) q");
                let text = (0..steps).fold("select 'a' as c0".to_string(), step);
                format!("select length(c0) from ({text}) q where c0 <> ''")
            }
            2 => (0..steps)
                .fold("1".to_string(), |text, n| format!("decode({text}, {n}, 1, 2, 3, 4)")),
            3 => {
                let text = (0..steps)
                    .fold("true".to_string(), |text, _| format!("({text}) between false and true"));
                format!("select 1 from {table} where {text}")
            }
            4 => format!("select '{}'", "x".repeat(count.min(BYTES_MAX))),
            5 => format!("select 1 as {}", "x".repeat(count)),
            6 => format!("select {}", "9".repeat(count)),
            7 => {
                let pattern =
                    self.pick(&["a", "a?", "a*", "(a|b)*", "(a*)*", "[a-z]+", ".", "((", "^"]);
                let text = self.pick(&["a", "ab", "b"]);
                format!("select repeat('{text}', {count}) ~ repeat('{pattern}', {})", count / 3)
            }
            _ => {
                let (text, pattern) = (self.leaf(Kind::Text), self.pick(&["%", "%a", "_%", "a%b"]));
                format!("select repeat({text}, {count}) like repeat('{pattern}', {})", count / 5)
            }
        }
    }
}
