//! What fields answer, and their actor has to do.

use crate::supervision::directive::Directive;
use crate::supervision::vocabulary::ChildId;

/// What the one rule says.
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

/// How the child of a field leaves its instance.
#[derive(Debug)]
#[must_use]
pub(crate) enum Preparation<C> {
    /// It is told to do the first half of a restart.
    Restart(ChildId, C),
    /// It is a temporary child, and is told to stop.
    Stop(ChildId),
}

/// How the child of a field starts.
#[derive(Debug)]
#[must_use]
pub(crate) enum Start<C> {
    /// As a new incarnation.
    New,
    /// By a restart, the second half of the one that was prepared.
    Restart { child: ChildId, cause: C, pending_resumes: u32 },
    /// Not before a restart is granted.
    NotYet,
}

/// What a granted restart of a field's child means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Granted {
    /// The rule carries it out when the field's turn comes, or nothing is left to restart.
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
    /// A permanent child ended by itself: it stays in the table until it is decided what comes of it.
    Unexpectedly,
    /// A significant child ended by itself, which may end its parent.
    Significant,
    /// Its parent goes on without it.
    Finally,
}

/// What it takes to stop the child of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Stop {
    /// It has ended already, and is only to be forgotten.
    Forget,
    /// Its stop is to be requested.
    Request,
}

/// What a temporary child gets in place of a directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Temporary {
    /// What the directive says.
    Keep,
    /// What the directive says, which ends it.
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
            Directive::Resume | Directive::Restart | Directive::RestartAfter(_) => Self::Stop,
        }
    }
}
