//! The macros that make types, parsers and documentation of the tables.

/// Makes an enum of each set of words, and a macro that lists the words for the documentation.
macro_rules! words {
    ($(
        $(#[$attribute:meta])*
        $name:ident, $kind:literal, $list:ident {
            $($word:literal => $variant:ident: $meaning:literal,)*
        }
    )*) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $name {
            $(#[doc = $meaning] $variant,)*
        }

        impl $crate::grammar::Word for $name {
            const KIND: &'static str = $kind;
            const WORDS: &'static [&'static str] = &[$($word),*];

            fn named(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }

            fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $meaning,)*
                }
            }

            fn path(self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$variant => (stringify!($name), stringify!($variant)),)*
                }
            }
        }

        macro_rules! $list {
            () => {
                concat!($("  - `", $word, "`: ", $meaning, "\n"),*)
            };
        }
    )*};
}

/// Makes a struct of each set of arguments, its parser, and a macro that lists the arguments for the documentation.
macro_rules! arguments {
    ($(
        $(#[$attribute:meta])*
        $name:ident, $kind:literal, $list:ident {
            $($($word:literal)|+ => $field:ident: $ty:ty = $read:expr, $example:literal, $meaning:literal $(, $words:ident)?;)*
        }
    )*) => {$(
        $(#[$attribute])*
        #[derive(Default)]
        pub(crate) struct $name {
            $(#[doc = $meaning] pub(crate) $field: $crate::grammar::Argument<$ty>,)*
        }

        impl $crate::grammar::Arguments for $name {
            const KIND: &'static str = $kind;
            const WORDS: &'static [&'static str] = &[$($($word),+),*];

            fn set(&mut self, setting: &$crate::settings::Setting, errors: &mut $crate::errors::Errors) -> bool {
                match setting.name.to_string().as_str() {
                    $($($word)|+ => self.$field.set(setting, $read, $example, errors),)*
                    _ => return false,
                }
                true
            }
        }

        macro_rules! $list {
            () => {
                concat!($("- `", $example, "`: ", $meaning, "\n" $(, $words!())?),*)
            };
        }
    )*};
}

/// Makes a list of the calls that the arguments become where each is a method of the same name in `supervise`.
macro_rules! calls {
    ($name:ident { $($($word:literal)|+ => $field:ident: $ty:ty = $read:expr, $example:literal, $meaning:literal $(, $words:ident)?;)* }) => {
        impl $name {
            /// Shows `visit` the name and the value of each argument that has one.
            pub(crate) fn each(&self, visit: &mut dyn FnMut(&str, &dyn $crate::supervise::expand::Expression)) {
                $(if let Some(value) = &self.$field.value {
                    visit(stringify!($field), value);
                })*
            }
        }
    };
}
