//! The kinds of mailboxes.

/// The kind of an actor's mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailboxKind {
    /// Holds as many messages as memory allows.
    Unbounded,
    /// Holds at most `capacity` messages.
    Bounded {
        /// How many messages may wait. At least 1: [`Props::mailbox`](crate::Props::mailbox) panics otherwise, and a type's own mailbox
        /// does not compile.
        capacity: usize,
        /// What happens to a `tell` or an ask when it is full.
        overflow: Overflow,
    },
}

impl MailboxKind {
    /// The kind itself.
    ///
    /// # Panics
    ///
    /// If it is bounded and has no room.
    #[track_caller]
    pub(crate) const fn with_room(self) -> Self {
        if let Self::Bounded { capacity: 0, .. } = self {
            panic!("a mailbox needs room for at least 1 message");
        }
        self
    }
}

/// What happens when a bounded mailbox is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// The sender gets the message back.
    Fail,
    /// The new message becomes a dead letter.
    DropNewest,
    /// The oldest waiting message becomes a dead letter.
    DropOldest,
}
