//! The implementations that are alike for the refs of all actors. rustc fills in a macro of this crate much faster than `#[actor]`,
//! which is built without optimization, writes the same code.

/// Implements a ref `$own` of an actor `$actor`, which is a newtype over [`ActorRef`](crate::ActorRef).
///
/// `$under` are the attributes of each implementation, `$where` is the `where` clause of the ref, `$alive` that of actors that can be
/// spawned. `$check` are statements that rustc checks once, `$hints` the members of
/// [`MigrationHints`](crate::migration_hints::MigrationHints).
#[doc(hidden)]
#[macro_export]
macro_rules! __impls_of_ref {
    (
        [$($under:tt)*] [$($vis:tt)*] [$($own:tt)*] [$($actor:tt)*] [$($generics:tt)*] [$($where:tt)*] [$($alive:tt)*]
        [$($check:tt)*] [$($hints:tt)*]
    ) => {
        $($under)*
        #[automatically_derived]
        impl $($generics)* ::core::clone::Clone for $($own)* $($where)* {
            fn clone(&self) -> Self {
                Self(::core::clone::Clone::clone(&self.0))
            }
        }
        $($under)*
        #[automatically_derived]
        impl $($generics)* ::core::fmt::Debug for $($own)* $($where)* {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                $($check)*
                ::core::fmt::Debug::fmt(&self.0, f)
            }
        }
        $($under)*
        #[automatically_derived]
        impl $($generics)* ::core::fmt::Display for $($own)* $($where)* {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Display::fmt(&self.0, f)
            }
        }
        $($under)*
        #[automatically_derived]
        impl $($generics)* ::core::cmp::PartialEq for $($own)* $($where)* {
            fn eq(&self, other: &Self) -> ::core::primitive::bool {
                ::core::cmp::PartialEq::eq(&self.0, &other.0)
            }
        }
        $($under)*
        impl $($generics)* ::core::cmp::Eq for $($own)* $($where)* {}
        $($under)*
        #[automatically_derived]
        impl $($generics)* ::core::hash::Hash for $($own)* $($where)* {
            fn hash<__H: ::core::hash::Hasher>(&self, state: &mut __H) {
                ::core::hash::Hash::hash(&self.0, state);
            }
        }
        $($under)*
        #[automatically_derived]
        impl $($generics)* ::core::convert::From<$crate::ActorRef<$($actor)*>> for $($own)* $($where)* {
            fn from(actor: $crate::ActorRef<$($actor)*>) -> Self {
                Self(actor)
            }
        }
        $($under)*
        #[automatically_derived]
        impl $($generics)* $crate::TypedRef for $($own)* $($alive)* {
            type Actor = $($actor)*;

            fn actor_ref(&self) -> &$crate::ActorRef<$($actor)*> {
                &self.0
            }
        }
        $($under)*
        #[automatically_derived]
        impl $($generics)* $crate::migration_hints::MigrationHints for $($own)* $($alive)* {
            $($hints)*
        }
        $($under)*
        impl $($generics)* $($own)* $($where)* {
            /// The ref with the methods that do not depend on the actor's messages.
            #[allow(dead_code)]
            $($vis)* fn actor_ref(&self) -> &$crate::ActorRef<$($actor)*> {
                &self.0
            }
        }
    };
}

pub use __impls_of_ref as impls_of_ref;
