/**
[`FeedRef`] refers to this actor and has a method for each message.
*/
pub struct Feed {
    address: u8,
}
#[allow(deprecated)]
///Refers to a [`Feed`]. Its methods make requests: `.await` asks, `.tell()` sends. `Display` shows the actor's path and `Uid`.
#[allow(dead_code)]
pub struct FeedRef(::supervise::ActorRef<Feed>);
#[allow(deprecated)]
#[automatically_derived]
impl ::core::clone::Clone for FeedRef {
    fn clone(&self) -> Self {
        Self(::core::clone::Clone::clone(&self.0))
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl ::core::fmt::Debug for FeedRef {
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        let _ = ::supervise::__private::has_messages::<Feed>;
        ::core::fmt::Debug::fmt(&self.0, f)
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl ::core::fmt::Display for FeedRef {
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        ::core::fmt::Display::fmt(&self.0, f)
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl ::core::cmp::PartialEq for FeedRef {
    fn eq(&self, other: &Self) -> ::core::primitive::bool {
        ::core::cmp::PartialEq::eq(&self.0, &other.0)
    }
}
#[allow(deprecated)]
impl ::core::cmp::Eq for FeedRef {}
#[allow(deprecated)]
#[automatically_derived]
impl ::core::hash::Hash for FeedRef {
    fn hash<__H: ::core::hash::Hasher>(&self, state: &mut __H) {
        ::core::hash::Hash::hash(&self.0, state);
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl ::core::convert::From<::supervise::ActorRef<Feed>> for FeedRef {
    fn from(actor: ::supervise::ActorRef<Feed>) -> Self {
        Self(actor)
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl ::supervise::TypedRef for FeedRef {
    type Actor = Feed;
    fn actor_ref(&self) -> &::supervise::ActorRef<Feed> {
        &self.0
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl ::supervise::__private::MigrationHints for FeedRef {
    const __PUBLIC: ::core::primitive::bool = true;
}
#[allow(deprecated)]
impl FeedRef {
    /// The ref with the methods that do not depend on the actor's messages.
    #[allow(dead_code)]
    pub fn actor_ref(&self) -> &::supervise::ActorRef<Feed> {
        &self.0
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl ::supervise::Supervisor for Feed {
    type Ref = FeedRef;
    const MAILBOX: ::supervise::MailboxKind = ::supervise::MailboxKind::Bounded {
        capacity: 100usize,
        overflow: ::supervise::Overflow::Fail,
    };
    const STOP_TIMEOUT: ::core::time::Duration = ::core::time::Duration::from_millis(
        1500u64,
    );
}
#[allow(deprecated)]
impl ::supervise::DecidesAll for Feed {}
#[allow(deprecated)]
impl<__E: ?::core::marker::Sized> ::supervise::Decides<__E> for Feed {}
#[allow(deprecated)]
impl<__P> ::supervise::EscalationsDecidedBy<__P> for Feed {}
#[allow(deprecated)]
impl<__P> ::supervise::DeclarationDecidedBy<__P> for Feed {}
