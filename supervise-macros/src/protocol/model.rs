//! What a protocol's trait says.

use proc_macro2::Ident;
use syn::{ItemTrait, Path, Signature};

/// A protocol.
pub(crate) struct Protocol {
    /// The user's trait, with the items that every protocol has. A method with a mistake gets a body, so that nobody has to
    /// implement it.
    pub(crate) item: ItemTrait,
    /// The name of the protocol's ref.
    pub(crate) reference: Ident,
    pub(crate) krate: Path,
    pub(crate) methods: Vec<Method>,
    /// The methods with a body of their own. They are not messages.
    pub(crate) provided: Vec<Ident>,
    /// Whether the whole trait can be used as a trait object. If not, the ref would only add errors.
    pub(crate) has_object: bool,
}

/// A method that is a message.
pub(crate) struct Method {
    pub(crate) signature: Signature,
}

impl Method {
    /// Whether a call waits for the answer.
    pub(crate) fn asks(&self) -> bool {
        self.signature.asyncness.is_some()
    }
}
