///
/**# Messages

| request | what it does | reply | fails with |
|---|---|---|---|
| `peek()` |  |  |  |
| `read()` |  |  | `UnixError` |*/
impl Feed {
    #[allow(
        clippy::needless_pass_by_ref_mut,
        clippy::needless_pass_by_value,
        clippy::trivially_copy_pass_by_ref,
        clippy::unused_self
    )]
    fn peek(&self) {}
    #[allow(
        clippy::needless_pass_by_ref_mut,
        clippy::needless_pass_by_value,
        clippy::trivially_copy_pass_by_ref,
        clippy::unused_self
    )]
    #[cfg(unix)]
    fn read(&mut self) -> Result<(), UnixError> {
        todo
    }
    #[allow(
        clippy::needless_pass_by_ref_mut,
        clippy::needless_pass_by_value,
        clippy::trivially_copy_pass_by_ref,
        clippy::unused_self
    )]
    #[cfg(windows)]
    fn open(&mut self) -> io::Result<()> {
        todo
    }
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
    ///The message for `peek`.
    Peek { #[doc(hidden)] __reply: ::supervise::ReplyTo<()> },
    #[cfg(unix)]
    ///The message for `read`.
    Read { #[doc(hidden)] __reply: ::supervise::ReplyTo<()> },
}
#[allow(deprecated)]
const _: () = {
    fn message_name(message: &FeedMessage) -> &'static ::core::primitive::str {
        match *message {
            FeedMessage::Peek { .. } => "Peek",
            #[cfg(unix)]
            FeedMessage::Read { .. } => "Read",
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
                    FeedMessage::Peek { __reply } => {
                        let __held = ::supervise::__private::hold::<
                            _,
                            (),
                        >(__ctx, __reply);
                        let () = Self::peek(self);
                        __held.answer(__ctx, ());
                        ::core::result::Result::Ok(())
                    }
                    #[cfg(unix)]
                    FeedMessage::Read { __reply } => {
                        let __held = ::supervise::__private::hold::<
                            _,
                            (),
                        >(__ctx, __reply);
                        match Self::read(self) {
                            ::core::result::Result::Ok(reply) => {
                                __held.answer(__ctx, reply);
                                ::core::result::Result::Ok(())
                            }
                            ::core::result::Result::Err(error) => {
                                ::core::result::Result::Err({
                                    let error = ::supervise::__private::error_value::<
                                        UnixError,
                                    >(error);
                                    (&&&&::supervise::__private::Tier::of(&error))
                                        .failure(error)
                                })
                            }
                        }
                    }
                    message => return ::core::ops::ControlFlow::Continue(message),
                },
            )
        }
        #[cfg(windows)]
        async fn pre_start(
            &mut self,
            _ctx: &mut ::supervise::Context<Self>,
        ) -> ::core::result::Result<(), ::supervise::Failure> {
            #[allow(unused_imports)]
            use ::supervise::__private::{
                AnError as _, ErrorLike as _, IntoError as _, ReportedError as _,
            };
            #[allow(unused_imports)]
            use ::supervise::__private::{FutureKind as _, PlainKind as _};
            match <io::Result<
                (),
            > as ::supervise::__private::ResultLike>::into_result(Self::open(self)) {
                ::core::result::Result::Ok(()) => ::core::result::Result::Ok(()),
                ::core::result::Result::Err(error) => {
                    ::core::result::Result::Err({
                        let error = ::supervise::__private::error_value::<
                            <io::Result<()> as ::supervise::__private::ResultLike>::Err,
                        >(error);
                        (&&&&::supervise::__private::Tier::of(&error)).failure(error)
                    })
                }
            }
        }
        fn message_name(message: &FeedMessage) -> &'static ::core::primitive::str {
            message_name(message)
        }
        #[allow(unreachable_patterns)]
        fn is_activity(message: &FeedMessage) -> ::core::primitive::bool {
            match message {
                FeedMessage::Peek { .. } => false,
                _ => true,
            }
        }
    }
};
#[allow(deprecated)]
#[allow(dead_code, irrefutable_let_patterns, unreachable_pub)]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
impl FeedRef {
    ///A request for `peek`.
    pub fn peek(&self) -> ::supervise::Request<'_, Feed, ()> {
        ::supervise::Request::new(
            self.actor_ref(),
            FeedMessage::Peek {
                __reply: ::supervise::ReplyTo::nowhere(),
            },
            |message, reply| {
                if let FeedMessage::Peek { __reply, .. } = message {
                    *__reply = reply;
                }
            },
        )
    }
    #[cfg(unix)]
    ///A request for `read`.
    pub fn read(&self) -> ::supervise::Request<'_, Feed, ()> {
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
}
#[allow(deprecated)]
const _: () = {
    trait Failure0<P> {}
    #[cfg(unix)]
    impl<__P> Failure0<__P> for Feed
    where
        __P: ::supervise::Decides<UnixError>,
    {}
    #[cfg(not(all(unix)))]
    impl<__P> Failure0<__P> for Feed {}
    trait Failure1<P> {}
    #[cfg(windows)]
    impl<__P> Failure1<__P> for Feed
    where
        __P: ::supervise::Decides<
            <io::Result<()> as ::supervise::__private::ResultLike>::Err,
        >,
    {}
    #[cfg(not(all(windows)))]
    impl<__P> Failure1<__P> for Feed {}
    #[automatically_derived]
    impl<__P> ::supervise::FailuresDecidedBy<__P> for Feed
    where
        Feed: Failure0<__P>,
        Feed: Failure1<__P>,
    {}
};
