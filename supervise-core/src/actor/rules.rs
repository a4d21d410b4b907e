//! For which errors a table has rules.

/// Makes the traits for tables with rules of different kinds.
///
/// `#[supervise]` writes an impl of one of them for each error that the rules name. Two spellings of one type, such as `io::Error`
/// and `std::io::Error`, are two impls, which rustc refuses: a rule in the second spelling would never match. rustc then shows only the
/// name of the trait, so the name says what to do.
macro_rules! rules {
    ($($(#[$attribute:meta])* $name:ident)*) => {$(
        $(#[$attribute])*
        ///
        /// `#[supervise]` writes it. Its name says what to do when rustc refuses two impls of it, because rules spell one type in two ways.
        #[diagnostic::on_unimplemented(
            message = "`{Self}` has no supervision rule for the failure `{E}`",
            label = "this child can fail with `{E}`, and `{Self}` does not say what happens then",
            note = "add a rule: `#[supervise(.., on({E}) = Restart)]` on `{Self}` (or `Resume`, `Stop`, `Escalate`)",
            note = "if a handler only answers with this error, return it as `Reply<Result<_, {E}>>`: then it is not a failure and needs no rule"
        )]
        pub trait $name<E: ?Sized> {}
    )*};
}

rules! {
    /// The table of `Self` has a rule for the error `E`. In this table, each rule is for a whole type.
    HasOneRuleAndNoSecondFor
    /// The table of `Self` has rules for the error `E`. This table has rules for variants, or with guards.
    HasOneSpellingForTheTypeInAllRules
    /// The table of `Self` has rules for the error `E`. In this table, a rule for a whole type stands before one for a variant, or with a
    /// guard.
    HasOneSpellingForTheTypeInAllRulesAndItsVariantsFirst
}
