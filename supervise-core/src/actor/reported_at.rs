//! Where rustc reports a bound.

/// The type `T`, whatever `F` is. rustc reports a bound on it at the argument of the type `F`; a bound on a plain `T`, which is the type of
/// no argument, it reports at the word before the dot.
pub type ReportedAt<F, T> = <F as ReportAt<T>>::Type;

/// What [`ReportedAt`] is made of. Every type implements it.
pub trait ReportAt<T> {
    /// `T`
    type Type;
}

impl<F, T> ReportAt<T> for F {
    type Type = T;
}
