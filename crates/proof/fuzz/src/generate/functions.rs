//! The functions that expressions call: what they give, their names, what they take.
//!
//! Callers: `terms`.

use super::kinds::Kind;

/// A line for each: the letter of what it gives, the name, the letters of what it takes.
const LINES: &str = "
    W abs W|N abs N|D abs D|N ceil N|D ceiling D|N floor W|N floor N|N round N|N round NW|D round D
    N trunc N|N trunc NW|D trunc D|W sign W|N sign N|W mod WW|N mod NN|N div NN|N power NN
    D power DD|N sqrt N|D sqrt D|D cbrt D|D exp D|N exp N|D ln D|N ln N|N log NN|D log10 D
    D sin D|D cos D|D tan D|D cot D|D asin D|D acos D|D atan D|D atan2 DD|D degrees D|D radians D
    D pi|D random|W bitand WW|W greatest WW|N least NN|T greatest TTT|S least SS
    T lower T|T upper T|T initcap T|T reverse T|T repeat TW|T replace TTT|T replace TT
    T translate TTT|T lpad TW|T lpad TWT|T rpad TWT|T overlay TTW|T overlay TTWW|T substr TW
    T substr TWW|T substring TWW|T left TW|T right TW|T trim T|T btrim TT|T ltrim TT|T rtrim T
    T split_part TTW|W strpos TT|W position TT|W instr TT|W instr TTW|W instr TTWW
    B starts_with TT|W length T|W length Y|W char_length T|W octet_length T|W octet_length Y
    W bit_length T|W ascii T|T chr W|T to_hex W|T md5 T|T md5 Y|T concat TWNB|T concat_ws TTD
    T quote_literal T|T quote_ident T|Y substr YWW|B regexp_like TT|B regexp_like TTT
    T to_char NT|T to_char WT|T to_char ST|T to_char DT|T to_char IT|T to_char W|T to_char S
    A to_date TT|A to_date T|S to_timestamp TT|S to_timestamp D|N to_number TT|N to_number T
    A add_months AW|S add_months SW|A last_day A|S last_day S|N months_between SS|I age SS|I age S
    D date_part TS|D date_part TI|S date_trunc TS|I date_trunc TI|A make_date WWW
    I justify_days I|I justify_hours I|I justify_interval I|S now|S localtimestamp|A current_date
    W array_length TW|W array_position TT|T array_to_string TT|W array_upper TW|W cardinality T
    T pg_typeof T|T pg_typeof S|T version|T current_user|T current_schema|W pg_backend_pid
    W nvl WW|T coalesce TTT|N nullif NN|T nvl2 WTT|T decode WWTWT|W decode TTWW|B coalesce BB
";

/// Functions that make texts as long as a number says.
pub(super) const LONG: [&str; 3] = ["repeat", "lpad", "rpad"];

/// A function.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) gives: Kind,
    pub(super) name: &'static str,
    pub(super) takes: Vec<Kind>,
}

/// All functions.
pub(super) fn functions() -> Vec<Function> {
    let written = LINES.lines().flat_map(|line| line.split('|'));
    let function = |line: &'static str| {
        let mut words = line.split_whitespace();
        let gives = words.next()?.chars().next().and_then(Kind::of_letter)?;
        let name = words.next()?;
        let takes = words.next().unwrap_or_default().chars().filter_map(Kind::of_letter).collect();
        Some(Function { gives, name, takes })
    };
    written.filter_map(function).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_function_and_every_kind_is_given_by_one() {
        let lines = LINES.lines().flat_map(|line| line.split('|'));
        let count = lines.filter(|line| !line.trim().is_empty()).count();
        let functions = functions();
        assert_eq!(functions.len(), count);
        for kind in Kind::ALL {
            assert!(functions.iter().any(|function| function.gives == kind), "{kind:?}");
        }
    }
}
