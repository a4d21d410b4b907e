//! Where rustc reports a bound.

/// The type `T`, whatever `F` is. If a bound on it fails, rustc points at the argument of type `F`. A plain `T` is the type of no argument, so
/// rustc would point at the receiver of the call.
pub type ReportedAt<F, T> = <F as ReportAt<T>>::Type;

/// What [`ReportedAt`] is made of. Every type implements it.
pub trait ReportAt<T> {
    /// `T`
    type Type;
}

impl<F, T> ReportAt<T> for F {
    type Type = T;
}
