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
///The messages of [`Feed`].
#[allow(dead_code, missing_docs, private_bounds, private_interfaces, unreachable_pub)]
#[allow(clippy::enum_variant_names, clippy::large_enum_variant, clippy::type_complexity)]
pub enum FeedMessage {
    /// Fetches.
    Fetch { id: MatchId, #[doc(hidden)] __reply: ::supervise::ReplyTo<Match> },
    #[cfg(unix)]
    ///The message for `read`.
    Read {
        #[doc(hidden)]
        __reply: ::supervise::ReplyTo<
            <io::Result<u8> as ::supervise::__private::ResultLike>::Ok,
        >,
    },
    ///The message for `check`.
    Check { strict: bool, #[doc(hidden)] __reply: ::supervise::ReplyTo<Result<u8, No>> },
    ///The message for `close`.
    Close { #[doc(hidden)] __reply: ::supervise::ReplyTo<()> },
    ///The message for `count`.
    Count { #[doc(hidden)] __reply: ::supervise::ReplyTo<u64> },
}
#[allow(deprecated)]
const _: () = {
    fn message_name(message: &FeedMessage) -> &'static ::core::primitive::str {
        match *message {
            FeedMessage::Fetch { .. } => "Fetch",
            #[cfg(unix)]
            FeedMessage::Read { .. } => "Read",
            FeedMessage::Check { .. } => "Check",
            FeedMessage::Close { .. } => "Close",
            FeedMessage::Count { .. } => "Count",
        }
    }
    #[automatically_derived]
    impl ::core::fmt::Debug for FeedMessage {
        fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
            f.write_str(message_name(self))
        }
    }
    #[automatically_derived]
    impl ::supervise::Actor for Feed {
        type Message = FeedMessage;
        async fn handle(
            &mut self,
            message: FeedMessage,
            __ctx: &mut ::supervise::Context<Self>,
        ) -> ::core::result::Result<(), ::supervise::Failure> {
            #[allow(unused_imports)]
            use ::supervise::__private::{
                AnError as _, ErrorLike as _, IntoError as _, ReportedError as _,
            };
            #[allow(unused_imports)]
            use ::supervise::__private::{FutureKind as _, PlainKind as _};
            match message {
                FeedMessage::Fetch { id, __reply } => {
                    let id = ::supervise::__private::sendable::<MatchId>(id);
                    let __held = ::supervise::__private::hold::<
                        _,
                        Match,
                    >(__ctx, __reply);
                    match ::supervise::__private::handler_future(
                            Self::fetch(self, id, __ctx),
                        )
                        .await
                    {
                        ::core::result::Result::Ok(reply) => {
                            __held.answer(__ctx, reply);
                            ::core::result::Result::Ok(())
                        }
                        ::core::result::Result::Err(error) => {
                            ::core::result::Result::Err({
                                let error = ::supervise::__private::error_value::<
                                    FeedError,
                                >(error);
                                (&&&&::supervise::__private::Tier::of(&error))
                                    .failure(error)
                            })
                        }
                    }
                }
                _ => ::core::unreachable!("`handle_now` has handled it"),
            }
        }
        fn handle_now(
            &mut self,
            message: FeedMessage,
            __ctx: &mut ::supervise::Context<Self>,
        ) -> ::core::ops::ControlFlow<
            ::core::result::Result<(), ::supervise::Failure>,
            FeedMessage,
        > {
            #[allow(unused_imports)]
            use ::supervise::__private::{
                AnError as _, ErrorLike as _, IntoError as _, ReportedError as _,
            };
            #[allow(unused_imports)]
            use ::supervise::__private::{FutureKind as _, PlainKind as _};
            let _ = &__ctx;
            #[allow(unreachable_patterns)]
            ::core::ops::ControlFlow::Break(
                match message {
                    #[cfg(unix)]
                    FeedMessage::Read { __reply } => {
                        let __held = ::supervise::__private::hold::<
                            _,
                            <io::Result<u8> as ::supervise::__private::ResultLike>::Ok,
                        >(__ctx, __reply);
                        match <io::Result<
                            u8,
                        > as ::supervise::__private::ResultLike>::into_result(
                            Self::read(self),
                        ) {
                            ::core::result::Result::Ok(reply) => {
                                __held.answer(__ctx, reply);
                                ::core::result::Result::Ok(())
                            }
                            ::core::result::Result::Err(error) => {
                                ::core::result::Result::Err({
                                    let error = ::supervise::__private::error_value::<
                                        <io::Result<u8> as ::supervise::__private::ResultLike>::Err,
                                    >(error);
                                    (&&&&::supervise::__private::Tier::of(&error))
                                        .failure(error)
                                })
                            }
                        }
                    }
                    FeedMessage::Check { strict, __reply } => {
                        let __held = ::supervise::__private::hold::<
                            _,
                            Result<u8, No>,
                        >(__ctx, __reply);
                        let ::supervise::Reply(reply) = Self::check(self, strict);
                        __held.answer(__ctx, reply);
                        ::core::result::Result::Ok(())
                    }
                    FeedMessage::Close { __reply } => {
                        let __held = ::supervise::__private::hold::<
                            _,
                            (),
                        >(__ctx, __reply);
                        let () = Self::close(self);
                        __held.answer(__ctx, ());
                        ::core::result::Result::Ok(())
                    }
                    FeedMessage::Count { __reply } => {
                        let __held = ::supervise::__private::hold::<
                            _,
                            u64,
                        >(__ctx, __reply);
                        let reply = Self::count(self);
                        __held.answer(__ctx, reply);
                        ::core::result::Result::Ok(())
                    }
                    message => return ::core::ops::ControlFlow::Continue(message),
                },
            )
        }
        fn message_name(message: &FeedMessage) -> &'static ::core::primitive::str {
            message_name(message)
        }
        #[allow(unreachable_patterns)]
        fn redelivery(message: &FeedMessage) -> ::core::primitive::u32 {
            match message {
                FeedMessage::Fetch { .. } => 3u32,
                _ => 0,
            }
        }
        #[allow(unreachable_patterns)]
        fn duplicate(message: &FeedMessage) -> ::core::option::Option<FeedMessage> {
            match message {
                FeedMessage::Fetch { id, .. } => {
                    ::core::option::Option::Some(FeedMessage::Fetch {
                        id: ::supervise::__private::redeliverable::<MatchId>(id),
                        __reply: ::supervise::ReplyTo::nowhere(),
                    })
                }
                _ => ::core::option::Option::None,
            }
        }
    }
};
#[allow(deprecated)]
#[allow(dead_code, irrefutable_let_patterns, unreachable_pub)]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
impl FeedRef {
    /// Fetches.
    pub fn fetch(&self, id: MatchId) -> ::supervise::Request<'_, Feed, Match> {
        ::supervise::Request::new(
            self.actor_ref(),
            FeedMessage::Fetch {
                id,
                __reply: ::supervise::ReplyTo::nowhere(),
            },
            |message, reply| {
                if let FeedMessage::Fetch { __reply, .. } = message {
                    *__reply = reply;
                }
            },
        )
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
        ::supervise::Request::new(
            self.actor_ref(),
            FeedMessage::Read {
                __reply: ::supervise::ReplyTo::nowhere(),
            },
            |message, reply| {
                if let FeedMessage::Read { __reply, .. } = message {
                    *__reply = reply;
                }
            },
        )
    }
    ///A request for `check`.
    pub fn check(&self, strict: bool) -> ::supervise::Request<'_, Feed, Result<u8, No>> {
        ::supervise::Request::new(
            self.actor_ref(),
            FeedMessage::Check {
                strict,
                __reply: ::supervise::ReplyTo::nowhere(),
            },
            |message, reply| {
                if let FeedMessage::Check { __reply, .. } = message {
                    *__reply = reply;
                }
            },
        )
    }
    ///A request for `close`.
    pub fn close(&self) -> ::supervise::Request<'_, Feed, ()> {
        ::supervise::Request::new(
            self.actor_ref(),
            FeedMessage::Close {
                __reply: ::supervise::ReplyTo::nowhere(),
            },
            |message, reply| {
                if let FeedMessage::Close { __reply, .. } = message {
                    *__reply = reply;
                }
            },
        )
    }
    ///A request for `count`.
    pub fn count(&self) -> ::supervise::Request<'_, Feed, u64> {
        ::supervise::Request::new(
                self.actor_ref(),
                FeedMessage::Count {
                    __reply: ::supervise::ReplyTo::nowhere(),
                },
                |message, reply| {
                    if let FeedMessage::Count { __reply, .. } = message {
                        *__reply = reply;
                    }
                },
            )
            .inline()
    }
}
#[allow(deprecated)]
const _: () = {
    trait Failure0<P> {}
    #[cfg(unix)]
    impl<__P> Failure0<__P> for Feed
    where
        __P: ::supervise::Decides<
            <io::Result<u8> as ::supervise::__private::ResultLike>::Err,
        >,
    {}
    #[cfg(not(all(unix)))]
    impl<__P> Failure0<__P> for Feed {}
    #[automatically_derived]
    impl<__P> ::supervise::FailuresDecidedBy<__P> for Feed
    where
        Feed: Failure0<__P>,
        __P: ::supervise::Decides<FeedError>,
    {}
};
