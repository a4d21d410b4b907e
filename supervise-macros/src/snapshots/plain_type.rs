/**
[`FeedRef`] refers to this actor and has a method for each message.
*/
pub struct Feed {
    address: u8,
}
///Refers to a [`Feed`]. Its methods make requests: `.await` asks, `.tell()` sends. `Display` shows the actor's path and `Uid`.
#[allow(dead_code)]
pub struct FeedRef(::supervise::ActorRef<Feed>);
::supervise::__private::impls_of_ref! {
    [] [pub] [FeedRef] [Feed] [] [] [] [let _ = ::supervise::__private::has_messages:: <
    Feed >;] [const __PUBLIC : ::core::primitive::bool = true;]
}
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
impl ::supervise::DecidesAll for Feed {}
impl<__E: ?::core::marker::Sized> ::supervise::Decides<__E> for Feed {}
impl<__P> ::supervise::EscalationsDecidedBy<__P> for Feed {}
impl<__P> ::supervise::DeclarationDecidedBy<__P> for Feed {}
