//! How rustc prints the rules that a table lacks. This is a module of its own at the root of the crate, because
//! rustc prints the whole path of an item that only hidden modules contain, and `use supervise::*` must not bring
//! such a short name into scope.

/// An error as the rules for its type match it. If they leave a variant out, rustc says that `on(&DbError::Gone)` is not covered, and quotes
/// the line below with its comment. rustc prints the name of a struct in a pattern without its path.
#[derive(Debug)]
#[allow(non_camel_case_types, reason = "rustc prints it as the rule that the user should add")]
pub struct on<'e, E>(pub &'e E); // add `on(MyError::Variant) = Stop` for each, or one `on(MyError) = Stop` after these rules
