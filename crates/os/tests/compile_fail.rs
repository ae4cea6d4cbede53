//! What must not compile: the type system holds rules that a reader would otherwise have to.

/// A blocking call without a wait event, a session on two threads, a second hand on an account, and
/// a way round this crate to the port: none of them builds.
#[test]
fn what_the_rules_forbid_does_not_build() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
}
