//! The traits whose methods find out what a type implements. Generated code imports them all at once.

pub use super::{
    AnError as _, ErrorLike as _, FutureKind as _, IntoError as _, NotDebug as _, PlainKind as _,
    ReportedError as _,
};
