//! The type `Error` of a rule.

/// The type that is called `Error` where this is called. If it is a trait, rustc prints the name of this macro.
#[doc(hidden)]
#[macro_export]
macro_rules! __type_called_error {
    () => {
        Error
    };
}

pub use __type_called_error as a_rule_names_an_error_type_and_not_a_trait__write_on_underscore_for_all_others;
