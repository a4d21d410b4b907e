///
/**# Messages

| request | what it does | reply | fails with |
|---|---|---|---|
| `fetch(id: MatchId)` | Fetches. | `Match` | `FeedError` |
| `read()` |  | `io::Result<u8>` |  |
| `check(strict: bool)` |  | `Result<u8, No>` |  |
| `close()` |  |  |  |
| `count()` |  | `u64` |  |*/
impl Feed {
    #[allow(
        clippy::needless_pass_by_ref_mut,
        clippy::needless_pass_by_value,
        clippy::trivially_copy_pass_by_ref,
        clippy::unused_self
    )]
    /// Fetches.
    async fn fetch(
        &mut self,
        id: MatchId,
        ctx: &mut Context<Self>,
    ) -> Result<Match, FeedError> {
        todo
    }
    #[allow(
        clippy::needless_pass_by_ref_mut,
        clippy::needless_pass_by_value,
        clippy::trivially_copy_pass_by_ref,
        clippy::unused_self
    )]
    #[cfg(unix)]
    fn read(&self) -> io::Result<u8> {
        todo
    }
    #[allow(
        clippy::needless_pass_by_ref_mut,
        clippy::needless_pass_by_value,
        clippy::trivially_copy_pass_by_ref,
        clippy::unused_self
    )]
    fn check(&self, strict: bool) -> Reply<Result<u8, No>> {
        todo
    }
    #[allow(
        clippy::needless_pass_by_ref_mut,
        clippy::needless_pass_by_value,
        clippy::trivially_copy_pass_by_ref,
        clippy::unused_self
    )]
    fn close(&mut self) {}
    #[allow(
        clippy::needless_pass_by_ref_mut,
        clippy::needless_pass_by_value,
        clippy::trivially_copy_pass_by_ref,
        clippy::unused_self
    )]
    fn count(&self) -> u64 {
        0
    }
    fn ordinary(&self) {}
}
#[allow(deprecated)]
#[doc(hidden)]
#[allow(dead_code, non_camel_case_types)]
type all_handlers_of_Feed_stand_in_one_impl_block = ();
#[allow(deprecated)]
const _: () = {
    #[doc(hidden)]
    #[allow(dead_code, missing_debug_implementations, unnameable_types, unreachable_pub)]
    pub struct FailuresOfFeed;
    #[automatically_derived]
    impl ::supervise::AllHandlersStandInOneImplBlock for Feed {
        type Failures = ::supervise::Failures<FailuresOfFeed>;
    }
    trait __Failure0<P> {}
    #[cfg(unix)]
    impl<__P> __Failure0<__P> for Feed
    where
        __P: ::supervise::Decides<
            <io::Result<u8> as ::supervise::__private::ResultLike>::Err,
        >,
    {}
    #[cfg(not(all(unix)))]
    impl<__P> __Failure0<__P> for Feed {}
    impl<__P> ::supervise::DecidedBy<__P> for FailuresOfFeed
    where
        Feed: __Failure0<__P>,
        Feed: ::supervise::DeclarationDecidedBy<__P>,
        __P: ::supervise::Decides<FeedError>,
    {}
};
#[allow(deprecated)]
///The messages of [`Feed`].
#[allow(dead_code, missing_docs, private_bounds, private_interfaces, unreachable_pub)]
#[allow(clippy::enum_variant_names, clippy::large_enum_variant, clippy::type_complexity)]
pub enum FeedMessage {
    /// Fetches.
    Fetch { id: MatchId },
    #[cfg(unix)]
    ///The message for `read`.
    Read,
    ///The message for `check`.
    Check { strict: bool },
    ///The message for `close`.
    Close,
    ///The message for `count`.
    Count,
}
#[allow(deprecated)]
#[automatically_derived]
impl ::core::fmt::Debug for FeedMessage {
    fn fmt(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        #[allow(unused_imports)]
        use ::supervise::__private::probes::*;
        match *self {
            FeedMessage::Fetch { ref id } => {
                ::supervise::__private::show(
                    __f,
                    "Fetch",
                    "id",
                    &[::supervise::__private::Shown(id).__shown()],
                )
            }
            #[cfg(unix)]
            FeedMessage::Read { .. } => __f.write_str("Read"),
            FeedMessage::Check { ref strict } => {
                ::supervise::__private::show(__f, "Check", "strict", &[strict])
            }
            FeedMessage::Close { .. } => __f.write_str("Close"),
            FeedMessage::Count { .. } => __f.write_str("Count"),
        }
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl ::supervise::Actor for Feed {
    type Message = ::supervise::Envelope<FeedMessage>;
    const HANDLERS: &'static [&'static ::core::primitive::str] = &[
        "fetch",
        "read",
        "check",
        "close",
        "count",
    ];
    const HAS_LAST_HOOK: ::core::primitive::bool = false;
    async fn handle(
        &mut self,
        message: ::supervise::Envelope<FeedMessage>,
        __ctx: &mut ::supervise::Context<Self>,
    ) -> ::core::result::Result<(), ::supervise::Failure> {
        #[allow(unused_imports)]
        use ::supervise::__private::probes::*;
        match ::supervise::__private::open(__ctx, message) {
            FeedMessage::Fetch { id } => {
                ::supervise::__private::enter(__ctx, 1u16);
                let id = ::supervise::__private::sendable::<MatchId>(id);
                match ::supervise::__private::handler_future(
                        Self::fetch(self, id, __ctx),
                    )
                    .await
                {
                    ::core::result::Result::Ok(reply) => {
                        ::supervise::__private::reply::<_, Match>(__ctx, reply)
                    }
                    ::core::result::Result::Err(error) => {
                        ::core::result::Result::Err({
                            let error = ::supervise::__private::error_value::<
                                FeedError,
                            >(error);
                            (&&&&::supervise::__private::Tier::of(&error))
                                .__failure(error)
                        })
                    }
                }
            }
            _ => ::supervise::__private::handled_elsewhere(),
        }
    }
    fn handle_now(
        &mut self,
        message: ::supervise::Envelope<FeedMessage>,
        __ctx: &mut ::supervise::Context<Self>,
    ) -> ::core::ops::ControlFlow<
        ::core::result::Result<(), ::supervise::Failure>,
        ::supervise::Envelope<FeedMessage>,
    > {
        #[allow(unused_imports)]
        use ::supervise::__private::probes::*;
        match *::supervise::Envelope::message(&message) {
            FeedMessage::Fetch { .. } => {
                return ::core::ops::ControlFlow::Continue(message);
            }
            _ => {}
        }
        ::core::ops::ControlFlow::Break(
            match ::supervise::__private::open(__ctx, message) {
                #[cfg(unix)]
                FeedMessage::Read {} => {
                    ::supervise::__private::enter(__ctx, 2u16);
                    match <io::Result<
                        u8,
                    > as ::supervise::__private::ResultLike>::into_result(
                        Self::read(self),
                    ) {
                        ::core::result::Result::Ok(reply) => {
                            ::supervise::__private::reply::<
                                _,
                                <io::Result<u8> as ::supervise::__private::ResultLike>::Ok,
                            >(__ctx, reply)
                        }
                        ::core::result::Result::Err(error) => {
                            ::core::result::Result::Err({
                                let error = ::supervise::__private::error_value::<
                                    <io::Result<u8> as ::supervise::__private::ResultLike>::Err,
                                >(error);
                                (&&&&::supervise::__private::Tier::of(&error))
                                    .__failure(error)
                            })
                        }
                    }
                }
                FeedMessage::Check { strict } => {
                    ::supervise::__private::enter(__ctx, 3u16);
                    let ::supervise::Reply(reply) = Self::check(self, strict);
                    ::supervise::__private::reply::<_, Result<u8, No>>(__ctx, reply)
                }
                FeedMessage::Close {} => {
                    ::supervise::__private::enter(__ctx, 4u16);
                    let () = Self::close(self);
                    ::supervise::__private::reply::<_, ()>(__ctx, ())
                }
                FeedMessage::Count {} => {
                    ::supervise::__private::enter(__ctx, 5u16);
                    let reply = Self::count(self);
                    ::supervise::__private::reply::<_, u64>(__ctx, reply)
                }
                #[allow(unreachable_patterns)]
                _ => ::supervise::__private::handled_elsewhere(),
            },
        )
    }
    fn message_name(
        message: &::supervise::Envelope<FeedMessage>,
    ) -> &'static ::core::primitive::str {
        match *message.message() {
            FeedMessage::Fetch { .. } => "Fetch",
            #[cfg(unix)]
            FeedMessage::Read { .. } => "Read",
            FeedMessage::Check { .. } => "Check",
            FeedMessage::Close { .. } => "Close",
            FeedMessage::Count { .. } => "Count",
        }
    }
    const REDELIVERS: ::core::primitive::bool = true;
    #[allow(unreachable_patterns)]
    fn redelivery(
        message: &::supervise::Envelope<FeedMessage>,
    ) -> ::core::primitive::u32 {
        match message.message() {
            FeedMessage::Fetch { .. } => 3u32,
            _ => 0,
        }
    }
    #[allow(unreachable_patterns)]
    fn duplicate(
        message: &::supervise::Envelope<FeedMessage>,
    ) -> ::core::option::Option<::supervise::Envelope<FeedMessage>> {
        match message.message() {
            FeedMessage::Fetch { id } => {
                ::core::option::Option::Some(
                    ::core::convert::From::from(FeedMessage::Fetch {
                        id: ::supervise::__private::redeliverable::<MatchId>(id),
                    }),
                )
            }
            _ => ::core::option::Option::None,
        }
    }
    fn reattach(
        message: &mut ::supervise::Envelope<FeedMessage>,
        reply: ::supervise::ReplySlot,
    ) {
        ::supervise::__private::reattach(message, reply);
    }
}
#[allow(deprecated)]
#[allow(dead_code, unreachable_pub)]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
impl FeedRef {
    /// Fetches.
    pub fn fetch(&self, id: MatchId) -> ::supervise::Request<'_, Feed, Match> {
        ::supervise::__private::request::<
            _,
            _,
            Match,
        >(self.actor_ref(), FeedMessage::Fetch { id })
    }
    #[cfg(unix)]
    ///A request for `read`.
    pub fn read(
        &self,
    ) -> ::supervise::Request<
        '_,
        Feed,
        <io::Result<u8> as ::supervise::__private::ResultLike>::Ok,
    > {
        ::supervise::__private::request::<
            _,
            _,
            <io::Result<u8> as ::supervise::__private::ResultLike>::Ok,
        >(self.actor_ref(), FeedMessage::Read {})
    }
    ///A request for `check`.
    pub fn check(&self, strict: bool) -> ::supervise::Request<'_, Feed, Result<u8, No>> {
        ::supervise::__private::request::<
            _,
            _,
            Result<u8, No>,
        >(self.actor_ref(), FeedMessage::Check { strict })
    }
    ///A request for `close`.
    pub fn close(&self) -> ::supervise::Request<'_, Feed, ()> {
        ::supervise::__private::request::<
            _,
            _,
            (),
        >(self.actor_ref(), FeedMessage::Close {})
    }
    ///A request for `count`.
    pub fn count(&self) -> ::supervise::Request<'_, Feed, u64> {
        ::supervise::__private::request::<
            _,
            _,
            u64,
        >(self.actor_ref(), FeedMessage::Count {})
            .inline()
    }
}
#[allow(deprecated)]
#[doc(hidden)]
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
impl<'__call> FeedRef
where
    FeedRef: ::supervise::__private::HasHandlerAttribute<'__call>,
{
    pub fn ordinary(&self) {}
}
