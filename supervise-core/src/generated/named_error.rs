//! Types of the user's that may be traits of the same name. rustc then prints the name of the macro that wrote the type.

/// The type that is called `Error` where this is called. If it is a trait, rustc prints the name of this macro.
#[doc(hidden)]
#[macro_export]
macro_rules! __type_called_error {
    () => {
        Error
    };
}

/// The type that is called `Context` where this is called, with its arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! __type_called_context {
    ($($arguments:tt)*) => {
        Context $($arguments)*
    };
}

pub use __type_called_context as Context_is_anyhow_Context_here__write_use_anyhow_Context_as_underscore;
pub use __type_called_error as a_rule_names_an_error_type_and_not_a_trait__write_on_underscore_for_all_others;
