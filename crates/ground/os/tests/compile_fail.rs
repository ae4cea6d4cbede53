//! Programs that must not compile: the type system enforces rules that a reviewer would otherwise
//! have to.

/// A blocking call without a wait event, a second writer of an account, and a way round this crate
/// to the port: none of them compiles.
#[test]
fn what_the_rules_forbid_does_not_build() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
}

/// Neither a session nor a ring can be shared between threads (rule O2). This is an assertion
/// rather than a case above, where the compiler's message would list every private cell inside. For
/// a type that is `Sync` both implementations apply, and this file doesn't compile.
const _: () = {
    trait Unshared<Which> {
        const OK: bool = true;
    }
    impl<T: ?Sized> Unshared<()> for T {}
    struct Shared;
    impl<T: ?Sized + Sync> Unshared<Shared> for T {}
    assert!(<os::Session as Unshared<_>>::OK);
    assert!(<os::Ring as Unshared<_>>::OK);
};
