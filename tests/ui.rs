//! Programs that must compile, and programs that must not, with what the compiler says about them.

#[test]
fn programs() {
    let cases = trybuild::TestCases::new();
    cases.pass("ui/pass/*.rs");
    cases.compile_fail("ui/actor/*.rs");
    cases.compile_fail("ui/child/*.rs");
    cases.compile_fail("ui/supervise/*.rs");
    cases.compile_fail("ui/parent/*.rs");
}
