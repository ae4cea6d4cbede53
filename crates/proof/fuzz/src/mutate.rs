//! Texts that are spoiled: tokens left out, doubled, exchanged, nested; characters changed.
//!
//! Invariants
//!   * a text and dice decide what comes
//!   * no text gets longer than [`BYTES_MAX`], which is more than a statement may have in one token
//!
//! Callers: `generate`.

use testbed::Dice;

use crate::tokens::tokens_of;

/// The most bytes of a text.
const BYTES_MAX: usize = 200_000;

/// The most tokens that are put in once more.
const AGAIN_MAX: usize = 20_000;

/// What may stand in place of a token, whatever it was.
const WORDS: &str = r#"
    select from where group by order having limit offset union all intersect except distinct on
    using join left right full outer cross natural lateral with as materialized values insert into
    update set delete merge returning conflict do nothing excluded case when then else end in exists
    any between and or not like escape is null true false asc desc nulls first last for cast
    interval date timestamp array row default filter over table create drop alter index view
    sequence if cascade begin commit rollback savepoint explain analyze
    ( ) () , ; . .. * + - / % ^ || = <> <= >= < > != ~ !~* :: : ? $1 $0 $65535 $99999999999 :a @ #
    & | [ ] { } ' " -- /* */ $$ $q$ E'\ U&'\0000' X'0' e'\u0000'
    0 1 -1 9223372036854775807 9223372036854775808 -9223372036854775808 1e400 1e-400 1e 0x 1_0
    0.00000000000000000000000000000000000000001 '2026-02-30' 'infinity' 'NaN' '' '%' '\' '{1,2}'
    t0 t1 t2 c0 c1 a0 a1 v0 s0 count(*) rowid dual nextval('s0') current_date
"#;

/// Characters that texts seldom have.
const CHARS: &str = "\u{0}\u{1}\t\n\r\u{b}'\"\\`;$?:\u{7f}\u{a0}éßİ\u{300}\u{200b}\u{202e}\u{2028}\
                     \u{feff}\u{fffd}\u{10ffff}日\u{1f600}１٣";

/// What opens, and what closes it.
const NESTS: &[[&str; 2]] = &[
    ["(", ")"],
    ["(select ", ")"],
    ["not (", ")"],
    ["-(", ")"],
    ["abs(", ")"],
    ["[", "]"],
    ["case when true then ", " end"],
    ["/* ", " */"],
    ["coalesce(", ", null)"],
    ["exists (", ")"],
    ["(select * from (", ") q)"],
    ["cast(", " as text)"],
    ["'", "'"],
    ["(with q as (", ") table q)"],
];

/// The text with some changes; `others` are texts that parts are taken from.
pub(crate) fn mutated(text: &str, others: &[String], dice: &mut Dice) -> String {
    let mut text = text.to_string();
    for _ in 0..=dice.below(4) {
        text = changed(&text, others, dice);
        shorten(&mut text);
    }
    text
}

/// Cuts a text that is too long.
fn shorten(text: &mut String) {
    if text.len() > BYTES_MAX {
        let end = (0..=BYTES_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
    }
}

fn changed(text: &str, others: &[String], dice: &mut Dice) -> String {
    if dice.below(5) == 0 {
        return with_other_chars(text, dice);
    }
    let mut tokens: Vec<&str> = tokens_of(text);
    let [from, upto] = range(tokens.len(), dice);
    match dice.below(9) {
        0 => {
            tokens.drain(from..upto);
        }
        1 => {
            let again: Vec<&str> = tokens[from..upto].to_vec();
            let times = [1, 2, 10, 100][dice.below(4) as usize];
            let times = (AGAIN_MAX / again.len().max(1)).clamp(1, times);
            tokens.splice(upto..upto, again.repeat(times));
        }
        2 => {
            tokens.splice(from..upto, [word(dice)]);
        }
        3 => {
            tokens.splice(from..from, [" ", word(dice), " "]);
        }
        4 if !tokens.is_empty() => {
            let other = dice.below(tokens.len() as u64) as usize;
            let last = tokens.len() - 1;
            tokens.swap(from.min(last), other);
        }
        5 if !others.is_empty() => {
            let other = &others[dice.below(others.len() as u64) as usize];
            let taken = tokens_of(other);
            let [begin, end] = range(taken.len(), dice);
            tokens.splice(from..upto, taken[begin..end].iter().copied());
        }
        6 => {
            let [open, close] = dice.one_of(NESTS);
            let times = [1, 3, 30, 120][dice.below(4) as usize];
            tokens.splice(upto..upto, std::iter::repeat_n(close, times));
            tokens.splice(from..from, std::iter::repeat_n(open, times));
        }
        7 => tokens.truncate(from),
        _ => {
            let numbers: Vec<usize> =
                (0..tokens.len()).filter(|at| is_number(tokens[*at])).collect();
            if let Some(place) = numbers.get(dice.below(numbers.len().max(1) as u64) as usize) {
                let odd =
                    ["0", "-1", "9223372036854775807", "1e38", "0.5", "2147483648", "1000000"];
                tokens[*place] = dice.one_of(&odd);
            }
        }
    }
    tokens.concat()
}

fn word(dice: &mut Dice) -> &'static str {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    dice.one_of(&words)
}

fn odd_char(dice: &mut Dice) -> char {
    let chars: Vec<char> = CHARS.chars().collect();
    dice.one_of(&chars)
}

fn is_number(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_digit())
}

/// A part of a list of this length: mostly a short one.
fn range(length: usize, dice: &mut Dice) -> [usize; 2] {
    let from = dice.below(length as u64 + 1) as usize;
    let most = (length - from) as u64;
    let wanted = match dice.below(6) {
        0 => dice.below(most + 1),
        1 => dice.below(16),
        _ => 1 + dice.below(3),
    };
    [from, from + wanted.min(most) as usize]
}

/// The text with a character changed, put in or left out.
fn with_other_chars(text: &str, dice: &mut Dice) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    let at = dice.below(chars.len() as u64 + 1) as usize;
    match dice.below(3) {
        0 => chars.insert(at, odd_char(dice)),
        1 if at < chars.len() => chars[at] = odd_char(dice),
        _ if at < chars.len() => {
            chars.remove(at);
        }
        _ => chars.truncate(at / 2),
    }
    chars.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dice_decide_and_texts_stay_short() {
        let others = vec!["insert into t0 values (1, 'a')".to_string(), String::new()];
        let of = |seed: u64| {
            let mut dice = Dice(seed);
            let text = "select a0.c0, count(*) from t0 a0 where c1 > 10 group by 1 order by 2";
            (0..50).fold(text.to_string(), |text, _| mutated(&text, &others, &mut dice))
        };
        for seed in 0..50 {
            let text = of(seed);
            assert_eq!(text, of(seed), "{seed}");
            assert!(text.len() <= BYTES_MAX);
        }
    }
}
