//! Functions of texts: what they are worth, mostly as PostgreSQL's documentation says.

#![forbid(unsafe_code)]

mod common;

use common::{bytes, dbl, int, lit, null, null_of, num, text, truth};
use expression::Kind;

#[test]
fn letters_and_whole_texts() {
    calls! {
        lower(lit("TOM Ä")) => "tom ä";
        upper(lit("tom ß")) => "TOM ß";
        initcap(lit("hi THOMAS o'neil")) => "Hi Thomas O'Neil";
        reverse(lit("añb")) => "bña";
        repeat(lit("Pg"), int(4)) => "PgPgPgPg";
        repeat(lit("Pg"), int(-1)) => "";
        repeat(lit("Pg"), int(i64::MAX)) => "54000";
        replace(lit("abcdefabcdef"), lit("cd"), lit("XX")) => "abXXefabXXef";
        replace(lit("abab"), lit("b")) => "aa";
        replace(lit("abc"), lit(""), lit("x")) => "abc";
        translate(lit("12345"), lit("143"), lit("ax")) => "a2x5";
        lpad(lit("hi"), int(5), lit("xy")) => "xyxhi";
        lpad(lit("hi"), int(5)) => "   hi";
        lpad(lit("hello"), int(2)) => "he";
        lpad(lit("hi"), int(-3)) => "";
        lpad(lit("hi"), int(5), lit("")) => "hi";
        rpad(lit("hi"), int(5), lit("xy")) => "hixyx";
        rpad(lit("hello"), int(2)) => "he";
        overlay(lit("Txxxxas"), lit("hom"), int(2), int(4)) => "Thomas";
        overlay(lit("abcdef"), lit("XY"), int(3)) => "abXYef";
        overlay(lit("abc"), lit("X"), int(0)) => "22023";
        overlay(lit("abcdef"), lit("X"), int(3), int(-1)) => "abXbcdef";
        overlay(lit("abc"), lit("X"), int(2), int(i64::MIN)) => "aXabc";
        overlay(lit("abc"), lit("X"), int(i64::MAX), int(i64::MAX)) => "abcX";
        quote_literal(lit("O'Reilly")) => "'O''Reilly'";
        quote_literal(lit("a\\b")) => "E'a\\\\b'";
        quote_ident(lit("Foo bar")) => "\"Foo bar\"";
        quote_ident(lit("foo")) => "foo";
        quote_ident(lit("a\"b")) => "\"a\"\"b\"";
        quote_literal(num("42.5")) => "'42.5'";
        quote_literal(null()) => "NULL";
        quote_nullable(null()) => "NULL";
        quote_nullable(int(7)) => "'7'";
        to_bin(int(5)) => "101";
        to_oct(int(64)) => "100";
        md5(lit("abc")) => "900150983cd24fb0d6963f7d28e17f72";
        to_hex(int(255)) => "ff";
        to_hex(int(-1)) => "ffffffffffffffff";
    }
}

#[test]
fn pieces_of_texts() {
    calls! {
        substr(lit("alphabet"), int(3)) => "phabet";
        substr(lit("alphabet"), int(3), int(2)) => "ph";
        substr(lit("abc"), int(-1), int(3)) => "a";
        substr(lit("abc"), int(0)) => "abc";
        substr(lit("abc"), int(2), int(100)) => "bc";
        substr(lit("abc"), int(5)) => "";
        substr(lit("abc"), int(1), int(-1)) => "22011";
        substr(lit("abc"), int(i64::MIN), int(i64::MAX)) => "";
        substr(lit("abc"), int(i64::MAX), int(i64::MAX)) => "";
        substr(lit("ñandú"), int(2), int(3)) => "and";
        substring(lit("Thomas"), int(2), int(3)) => "hom";
        substr(bytes(b"abcd"), int(2), int(2)) => "\\x6263";
        left(lit("abcde"), int(2)) => "ab";
        left(lit("abcde"), int(-2)) => "abc";
        left(lit("abcde"), int(-9)) => "";
        right(lit("abcde"), int(2)) => "de";
        right(lit("abcde"), int(-2)) => "cde";
        btrim(lit("xyxtrimyyx"), lit("xyz")) => "trim";
        trim(lit("  a b ")) => "a b";
        ltrim(lit("zzzytest"), lit("xyz")) => "test";
        rtrim(lit("testxxzx"), lit("xyz")) => "test";
        split_part(lit("abc~@~def~@~ghi"), lit("~@~"), int(2)) => "def";
        split_part(lit("abc,def,ghi,jkl"), lit(","), int(-2)) => "ghi";
        split_part(lit("abc"), lit(","), int(2)) => "";
        split_part(lit("abc"), lit(""), int(1)) => "abc";
        split_part(lit("abc"), lit(","), int(0)) => "22023";
    }
}

#[test]
fn places_and_lengths() {
    calls! {
        strpos(lit("high"), lit("ig")) => "2";
        strpos(lit("ñandú"), lit("d")) => "4";
        strpos(lit("high"), lit("x")) => "0";
        strpos(lit("high"), lit("")) => "1";
        position(lit("om"), lit("Thomas")) => "3";
        instr(lit("CORPORATE FLOOR"), lit("OR"), int(3), int(2)) => "14";
        instr(lit("CORPORATE FLOOR"), lit("OR"), int(-3), int(2)) => "2";
        instr(lit("abc"), lit("c")) => "3";
        instr(lit("abc"), lit("x")) => "0";
        instr(lit("abc"), lit("a"), int(0)) => "0";
        instr(lit("abc"), lit("a"), int(1), int(0)) => "22023";
        starts_with(lit("alphabet"), lit("alph")) => "true";
        length(lit("josé")) => "4";
        length(bytes(b"abc")) => "3";
        char_length(lit("")) => "0";
        octet_length(lit("josé")) => "5";
        bit_length(lit("jose")) => "32";
        ascii(lit("x")) => "120";
        ascii(lit("")) => "0";
        ascii(lit("é")) => "233";
        chr(int(65)) => "A";
        chr(int(8364)) => "€";
        chr(int(0)) => "22023";
        chr(int(-1)) => "22023";
    }
}

#[test]
fn values_of_any_kind_are_joined_as_texts() {
    calls! {
        concat(lit("abcde"), int(2), null(), int(22)) => "abcde222";
        concat(truth(true), num("1.50"), dbl(2.0)) => "t1.52";
        concat() => "";
        concat(int(1), int(2), int(3), int(4), int(5), int(6)) => "123456";
        concat_ws(lit(","), lit("abcde"), int(2), null(), int(22)) => "abcde,2,22";
        concat_ws(null(), lit("a")) => "NULL";
    }
}

#[test]
fn values_are_put_into_formats() {
    calls! {
        format(lit("Hello %s, %1$s"), lit("World")) => "Hello World, World";
        format(lit("INSERT INTO %I VALUES (%L)"), lit("Foo bar"), lit("O'Reilly")) => {
            "INSERT INTO \"Foo bar\" VALUES ('O''Reilly')"
        };
        format(lit("|%10s|"), lit("foo")) => "|       foo|";
        format(lit("|%-10s|"), lit("foo")) => "|foo       |";
        format(lit("|%*s|%s"), int(5), lit("foo"), int(1)) => "|  foo|1";
        format(lit("|%*s|"), int(-5), lit("foo")) => "|foo  |";
        format(lit("|%2$*1$s|"), int(5), lit("foo")) => "|  foo|";
        format(lit("%3$s, %2$s, %s"), lit("one"), lit("two"), lit("three")) => "three, two, three";
        format(lit("%s%L%% %s"), null(), null(), truth(true)) => "NULL% t";
        format(lit("no places"), int(1)) => "no places";
        format(null(), int(1)) => "NULL";
        format(lit("%I"), null()) => "22004";
        format(lit("%s %s"), int(1)) => "22023";
        format(lit("%0$s"), int(1)) => "22023";
        format(lit("%x"), int(1)) => "22023";
        format(lit("%1$")) => "22023";
        format(lit("%99999999999s"), int(1)) => "22003";
        format(lit("%2000000000s"), int(1)) => "54000";
    }
}

#[test]
fn bytes_are_written_in_forms() {
    calls! {
        encode(bytes(b"123\0\\\xff"), lit("escape")) => "123\\000\\\\\\377";
        encode(bytes(b"\x12\xab"), lit("HEX")) => "12ab";
        encode(bytes(b"a"), lit("base64")) => "YQ==";
        encode(bytes(b"ab"), lit("base64")) => "YWI=";
        encode(bytes(&[0; 58]), lit("base64")) => {
            format!("{}\nAA==", "A".repeat(76))
        };
        decode(lit("12 AB"), lit("hex")) => "\\x12ab";
        decode(lit("YW\nI="), lit("base64")) => "\\x6162";
        decode(lit("YWJj"), lit("base64")) => "\\x616263";
        decode(lit(""), lit("base64")) => "\\x";
        decode(lit("a\\\\\\101"), lit("escape")) => "\\x615c41";
        decode(lit("1"), lit("hex")) => "22023";
        decode(lit("1g"), lit("hex")) => "22023";
        decode(lit("YQ="), lit("base64")) => "22023";
        decode(lit("Y==="), lit("base64")) => "22023";
        decode(lit("a\\"), lit("escape")) => "22023";
        decode(lit("a"), lit("other")) => "22023";
    }
}

/// Mostly what PostgreSQL's documentation says of them.
#[test]
fn regular_expressions_are_replaced_and_counted() {
    let (digits, by) = ("(\\d{3})(\\d{3})(\\d{4})", "(\\1) \\2-\\3");
    let (street, vowels) = ("number of your street, town zip, FR", "a|e|i|o|u");
    calls! {
        regexp_replace(lit("1112223333"), lit(digits), lit(by)) => "(111) 222-3333";
        regexp_replace(lit("foobarbaz"), lit("b.."), lit("X")) => "fooXbaz";
        regexp_replace(lit("foobarbaz"), lit("b(..)"), lit("X\\1Y"), lit("g")) => "fooXarYXazY";
        regexp_replace(lit("A  B   C "), lit("\\s+"), lit(" "), lit("g")) => "A B C ";
        regexp_replace(lit("AAA"), lit("^|$"), lit("Z"), lit("g")) => "ZAAAZ";
        regexp_replace(lit("AAA aaa"), lit("A+"), lit("Z"), lit("gi")) => "Z Z";
        regexp_replace(lit("aäb"), lit("x*"), lit("-"), lit("g")) => "-a-ä-b-";
        regexp_replace(lit("abc"), lit("b"), lit("<\\&\\\\\\2\\n>")) => "a<b\\\\n>c";
        regexp_replace(lit("ab"), lit("(a(b))"), lit("\\2\\1")) => "bab";
        regexp_replace(lit("a-a-a"), lit("a"), lit("b"), int(2)) => "a-b-a";
        regexp_replace(lit("a-a-a"), lit("a"), lit("b"), int(1), int(3)) => "a-a-b";
        regexp_replace(lit("A Post"), lit(vowels), lit("X"), int(1), int(0), lit("i")) => "X PXst";
        regexp_replace(lit("abc"), lit("x"), lit("y"), int(9)) => "abc";
        regexp_replace(lit("a"), lit("a"), lit("b"), int(0)) => "22023";
        regexp_replace(lit("a"), lit("a"), lit("b"), lit("z")) => "22023";
        regexp_replace(lit("a"), lit("("), lit("b")) => "2201B";
        regexp_replace(lit("aa"), lit("(a)*"), lit("b")) => "b";
        regexp_replace(lit("aa"), lit("(a)*"), lit("\\1")) => "0A000";
        regexp_replace(lit("aa"), lit("a*?"), lit("b")) => "0A000";
        regexp_replace(lit("a"), null(), lit("b")) => "NULL";
        similar_to(lit("abc"), lit("%(b|d)%")) => "true";
        similar_to(lit("abc"), lit("(b|c)%")) => "false";
        similar_to(lit("abc"), lit("_b_")) => "true";
        similar_to(lit("a.c"), lit("a.c")) => "true";
        similar_to(lit("abc"), lit("a.c")) => "false";
        similar_to(lit("_bcd%"), lit("\\_%d\\%")) => "true";
        similar_to(lit("abcd_"), lit("#_%d#%"), lit("#")) => "false";
        similar_to(lit("abc"), lit("[a-c]{3}"), null()) => "NULL";
        similar_to(lit("abc"), lit("[a")) => "2201B";
        similar_to(lit("abc"), lit("a%"), lit("##")) => "22025";
        regexp_count(lit("ABCABCAXYaxy"), lit("A.")) => "3";
        regexp_count(lit("ABCABCAXYaxy"), lit("A."), int(1), lit("i")) => "4";
        regexp_count(lit("abc"), lit("")) => "4";
        regexp_count(lit("abc"), lit("c"), int(1), lit("g")) => "22023";
        regexp_substr(lit(street), lit("[^,]+"), int(1), int(2)) => " town zip";
        regexp_substr(lit("ABCDEFGHI"), lit("(c..)(...)"), int(1), int(1), lit("i"), int(2)) => {
            "FGH"
        };
        regexp_substr(lit("abc"), lit("x")) => "NULL";
        regexp_substr(lit("abc"), lit("b"), int(1), int(1), lit(""), int(1)) => "NULL";
        regexp_instr(lit(street), lit("[^,]+"), int(1), int(2)) => "23";
        regexp_instr(lit("ABCDE"), lit("(c.)(.)"), int(1), int(1), int(0), lit("i"), int(2)) => "5";
        regexp_instr(lit("abcb"), lit("b"), int(3), int(1), int(1)) => "5";
        regexp_instr(lit("abc"), lit("x")) => "0";
        regexp_instr(lit("abc"), lit("b"), int(1), int(0)) => "22023";
    }
}

/// NULL for NULLs; and kinds that don't go by themselves are refused.
#[test]
fn nulls_and_other_kinds() {
    calls! {
        lower(null()) => "NULL";
        substr(lit("abc"), null_of(Kind::Whole)) => "NULL";
        lower(int(5)) => "42883";
        substr(lit("abc"), lit("2")) => "bc";
        substr(lit("abc"), text("2")) => "42883";
        no_such_function(int(5)) => "42883";
    }
}
