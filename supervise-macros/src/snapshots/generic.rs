/**
[`ReaderRef`] refers to this actor and has a method for each message.

# Supervision

`one_for_one`: A failure affects the failed child only.

| failure | directive |
|---|---|
| `S::Error` | `Restart` |
| anything else | `Stop` |*/
pub(crate) struct Reader<S: Source, const N: usize>
where
    S: Clone,
{
    source: S,
}
#[allow(deprecated)]
///Refers to a [`Reader`]. Its methods make requests: `.await` asks, `.tell()` sends. `Display` shows the actor's path and `Uid`.
#[allow(dead_code)]
pub(crate) struct ReaderRef<S: Source, const N: usize>(
    ::supervise::ActorRef<Reader<S, N>>,
)
where
    S: Clone;
::supervise::__private::impls_of_ref! {
    [#[allow(deprecated)]] [pub (crate)] [ReaderRef < S, N >] [Reader < S, N >] [< S :
    Source, const N : usize >] [where S : Clone] [where S : Clone, S : 'static] [] []
}
#[allow(deprecated)]
#[automatically_derived]
impl<S: Source, const N: usize> ::supervise::Supervisor for Reader<S, N>
where
    S: Clone,
    S: 'static,
{
    type Ref = ReaderRef<S, N>;
    const STRATEGY: ::supervise::Strategy = ::supervise::Strategy::one_for_one();
    const TABLE: ::supervise::DeciderTable = ::supervise::DeciderTable::Rules(
        &[
            ::supervise::Rule::new("S::Error", ::supervise::Directive::Restart),
            ::supervise::Rule::new("_", ::supervise::Directive::Stop),
        ],
    );
    fn rule(
        failure: &::supervise::Failure,
        child: &::supervise::ChildInfo,
    ) -> ::core::result::Result<::supervise::Ruled, ::supervise::Failure> {
        let _ = child;
        if let ::core::option::Option::Some(_) = ::supervise::__private::error_as::<
            S::Error,
        >(failure) {
            return ::core::result::Result::Ok((
                ::supervise::Directive::Restart,
                ::core::option::Option::Some(0u16),
            ));
        }
        ::core::result::Result::Ok((
            ::supervise::Directive::Stop,
            ::core::option::Option::Some(1u16),
        ))
    }
    fn decide(
        failure: &::supervise::Failure,
        child: &::supervise::ChildInfo,
    ) -> ::core::result::Result<::supervise::Directive, ::supervise::Failure> {
        let (directive, _) = <Self as ::supervise::Supervisor>::rule(failure, child)?;
        ::core::result::Result::Ok(directive)
    }
}
#[allow(deprecated)]
impl<S: Source, const N: usize> ::supervise::DecidesAll for Reader<S, N>
where
    S: Clone,
{}
#[allow(deprecated)]
impl<S: Source, __E: ?::core::marker::Sized, const N: usize> ::supervise::Decides<__E>
for Reader<S, N>
where
    S: Clone,
{}
#[allow(deprecated)]
impl<S: Source, __P, const N: usize> ::supervise::EscalationsDecidedBy<__P>
for Reader<S, N>
where
    S: Clone,
{}
#[allow(deprecated)]
impl<S: Source, __P, const N: usize> ::supervise::DeclarationDecidedBy<__P>
for Reader<S, N>
where
    S: Clone,
{}
#[supervise(__already_read)]
const _: () = ();
///
/**# Messages

| request | what it does | reply | fails with |
|---|---|---|---|
| `next(other: Reader<S, N>)` |  | `Option<S::Item>` |  |*/
#[allow(
    clippy::needless_pass_by_ref_mut,
    clippy::needless_pass_by_value,
    clippy::trivially_copy_pass_by_ref,
    clippy::unused_self
)]
impl<S: Source, const N: usize> Reader<S, N>
where
    S: Clone,
{
    fn next(&mut self, other: Self) -> Option<S::Item> {
        None
    }
}
#[allow(deprecated)]
#[doc(hidden)]
#[allow(dead_code, non_camel_case_types)]
type all_handlers_of_Reader_stand_in_one_impl_block = ();
#[allow(deprecated)]
#[automatically_derived]
impl<S: Source, const N: usize> ::supervise::AllHandlersStandInOneImplBlock
for Reader<S, N>
where
    S: Clone,
{
    type Failures = ::supervise::Failures<::supervise::NoHandlerFails<Reader<S, N>>>;
}
#[allow(deprecated)]
///The messages of [`Reader`].
#[allow(dead_code, missing_docs, private_bounds, private_interfaces, unreachable_pub)]
#[allow(clippy::enum_variant_names, clippy::large_enum_variant, clippy::type_complexity)]
pub enum ReaderMessage<S: Source, const N: usize>
where
    S: Clone,
{
    ///The message for `next`.
    Next { other: Reader<S, N> },
}
#[allow(deprecated)]
impl<S: Source, const N: usize> ::supervise::__private::RunsOnAnyThread for Reader<S, N>
where
    S: Clone,
    ::supervise::__private::MovesBetweenThreads<Reader<S, N>>: ::core::marker::Sized,
{}
#[allow(deprecated)]
#[automatically_derived]
impl<S: Source, const N: usize> ::core::fmt::Debug for ReaderMessage<S, N>
where
    S: Clone,
{
    fn fmt(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        #[allow(unused_imports)]
        use ::supervise::__private::probes::*;
        match *self {
            ReaderMessage::Next { ref other } => {
                ::supervise::__private::show(
                    __f,
                    "Next",
                    "other",
                    &[::supervise::__private::Shown(other).__shown()],
                )
            }
        }
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl<S: Source, const N: usize> ::supervise::Actor for Reader<S, N>
where
    S: Clone,
    Reader<S, N>: ::core::marker::Send + 'static,
{
    type Message = ::supervise::Envelope<ReaderMessage<S, N>>;
    const HANDLERS: &'static [&'static ::core::primitive::str] = &["next"];
    const HAS_LAST_HOOK: ::core::primitive::bool = false;
    fn handle_now(
        &mut self,
        message: ::supervise::Envelope<ReaderMessage<S, N>>,
        __ctx: &mut ::supervise::Context<Self>,
    ) -> ::core::ops::ControlFlow<
        ::core::result::Result<(), ::supervise::Failure>,
        ::supervise::Envelope<ReaderMessage<S, N>>,
    > {
        #[allow(unused_imports)]
        use ::supervise::__private::probes::*;
        ::core::ops::ControlFlow::Break(
            match ::supervise::__private::open(__ctx, message) {
                ReaderMessage::Next { other } => {
                    ::supervise::__private::enter(__ctx, 1u16);
                    let other = ::supervise::__private::sendable::<Reader<S, N>>(other);
                    (&::supervise::__private::Probe::<Option<S::Item>>::NEW).__plain();
                    let reply = Self::next(self, other);
                    ::supervise::__private::reply::<_, Option<S::Item>>(__ctx, reply)
                }
            },
        )
    }
    fn message_name(
        message: &::supervise::Envelope<ReaderMessage<S, N>>,
    ) -> &'static ::core::primitive::str {
        match *message.message() {
            ReaderMessage::Next { .. } => "Next",
        }
    }
}
#[allow(deprecated)]
#[allow(dead_code, unreachable_pub)]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
impl<S: Source, const N: usize> ReaderRef<S, N>
where
    S: Clone,
    Reader<S, N>: ::core::marker::Send + 'static,
{
    ///A request for `next`.
    pub fn next(
        &self,
        other: Reader<S, N>,
    ) -> ::supervise::Request<'_, Reader<S, N>, Option<S::Item>> {
        ::supervise::__private::request::<
            _,
            _,
            Option<S::Item>,
        >(self.actor_ref(), ReaderMessage::Next { other })
    }
}
