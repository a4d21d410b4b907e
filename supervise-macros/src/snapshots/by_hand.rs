#[cfg(unix)]
/**
[`GateRef`] refers to this actor and has a method for each message.

# Supervision

`all_for_one(max_retries = 3, on_limit = Escalate)`: A failure affects all children.

`Self::judge` decides about failures.
*/
pub enum Gate {
    Open,
    Closed,
}
#[cfg(unix)]
#[allow(deprecated)]
///Refers to a [`Gate`]. Its methods make requests: `.await` asks, `.tell()` sends. `Display` shows the actor's path and `Uid`.
#[allow(dead_code)]
pub struct GateRef(crate::vendor::akka::ActorRef<Gate>);
#[cfg(unix)]
crate::vendor::akka::__private::impls_of_ref! {
    [#[allow(deprecated)]] [pub] [GateRef] [Gate] [] [] [] [let _ = crate
    ::vendor::akka::__private::has_messages:: < Gate >;] [const __PUBLIC :
    ::core::primitive::bool = true;]
}
#[cfg(unix)]
#[allow(deprecated)]
#[automatically_derived]
impl crate::vendor::akka::Supervisor for Gate {
    type Ref = GateRef;
    const MAILBOX: crate::vendor::akka::MailboxKind = crate::vendor::akka::MailboxKind::Bounded {
        capacity: 10usize,
        overflow: crate::vendor::akka::Overflow::DropOldest,
    };
    const STASH_CAPACITY: ::core::primitive::usize = 5usize;
    const STRATEGY: crate::vendor::akka::Strategy = crate::vendor::akka::Strategy::all_for_one()
        .max_retries(3u32)
        .on_limit(crate::vendor::akka::OnLimit::Escalate);
    const TABLE: crate::vendor::akka::DeciderTable = crate::vendor::akka::DeciderTable::Function(
        "Self::judge",
    );
    fn decide(
        failure: &crate::vendor::akka::Failure,
        child: &crate::vendor::akka::ChildInfo,
    ) -> ::core::result::Result<
        crate::vendor::akka::Directive,
        crate::vendor::akka::Failure,
    > {
        let decider: fn(
            &crate::vendor::akka::Failure,
            &crate::vendor::akka::ChildInfo,
        ) -> ::core::result::Result<
            crate::vendor::akka::Directive,
            crate::vendor::akka::Failure,
        > = Self::judge;
        decider(failure, child)
    }
}
#[cfg(unix)]
#[allow(deprecated)]
impl crate::vendor::akka::DecidesAll for Gate {}
#[cfg(unix)]
#[allow(deprecated)]
impl<__E: ?::core::marker::Sized> crate::vendor::akka::Decides<__E> for Gate {}
#[cfg(unix)]
#[allow(deprecated)]
impl<__P> crate::vendor::akka::EscalationsDecidedBy<__P> for Gate
where
    __P: crate::vendor::akka::DecidesAllFrom<Gate>,
{}
#[cfg(unix)]
#[allow(deprecated)]
impl<__P> crate::vendor::akka::DeclarationDecidedBy<__P> for Gate
where
    __P: crate::vendor::akka::DecidesUnasked<crate::vendor::akka::StashOverflow>,
{}
#[supervise(__already_read)]
const _: () = ();
