//! The answers of fields: what their actor must do.

use crate::supervision::directive::Directive;
use crate::supervision::vocabulary::ChildId;

/// The answer of the one rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum NextStep {
    /// Nothing, until a field reports.
    Wait,
    /// [Prepare](super::Fields::prepare) the restart of this field's child.
    Prepare(usize),
    /// [Start](super::Fields::start) this field's child.
    Start(usize),
    /// Have the instance under construction declare its next field.
    Declare,
    /// All fields are up: finish the instance under construction.
    FinishInstance,
}

/// How the child of a field prepares for its restart.
#[derive(Debug)]
#[must_use]
pub(crate) enum Preparation<C> {
    /// The child is told to do the first half of a restart.
    Restart(ChildId, C),
    /// The child is temporary, and is told to stop.
    Stop(ChildId),
}

/// How the child of a field starts.
#[derive(Debug)]
#[must_use]
pub(crate) enum Start<C> {
    /// As a new incarnation.
    New,
    /// By the second half of the restart that was prepared.
    Restart { child: ChildId, cause: C, pending_resumes: u32 },
    /// Not before a restart is granted.
    NotYet,
}

/// What a granted restart of a field's child means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Granted {
    /// The rule carries it out when the field's turn comes, or there is nothing left to restart.
    Later,
    /// A new incarnation starts at once.
    StartNow,
    /// The child is told to restart at once.
    RestartNow,
}

/// What the end of a child means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Ended {
    /// A permanent child ended by itself. It stays in the table until its restart is decided.
    Unexpectedly,
    /// A significant child ended by itself, which may end its parent.
    Significant,
    /// Its parent continues without it.
    Finally,
}

/// What the caller must do to stop the child of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Stop {
    /// It has already ended: remove it from the table.
    Forget,
    /// Request its stop.
    Request,
}

/// What a temporary child gets in place of a directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Temporary {
    /// The directive itself.
    Keep,
    /// The directive itself, which ends the child.
    GiveUp,
    /// A stop, because it never restarts.
    Stop,
}

impl Temporary {
    /// `starting`: the child has no instance that could be resumed.
    pub(crate) fn answer(directive: &Directive, starting: bool) -> Self {
        match directive {
            Directive::Escalate => Self::Keep,
            Directive::Resume if !starting => Self::Keep,
            Directive::Stop => Self::GiveUp,
            Directive::Resume | Directive::Restart | Directive::RestartAfter(_) | Directive::RestartOn(_) => {
                Self::Stop
            }
        }
    }
}
