///
/**# Messages

| request | what it does | reply | fails with |
|---|---|---|---|
| `peek()` |  |  |  |
| `read()` |  |  | `UnixError` |*/
#[allow(
    clippy::needless_pass_by_ref_mut,
    clippy::needless_pass_by_value,
    clippy::trivially_copy_pass_by_ref,
    clippy::unused_self
)]
impl Feed {
    fn peek(&self) {}
    #[cfg(unix)]
    fn read(&mut self) -> Result<(), UnixError> {
        todo
    }
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
        __P: ::supervise::Decides<UnixError>,
    {}
    #[cfg(not(all(unix)))]
    impl<__P> __Failure0<__P> for Feed {}
    trait __Failure1<P> {}
    #[cfg(windows)]
    impl<__P> __Failure1<__P> for Feed
    where
        __P: ::supervise::DecidesUnasked<
            <io::Result<()> as ::supervise::__private::ResultLike>::Err,
        >,
    {}
    #[cfg(not(all(windows)))]
    impl<__P> __Failure1<__P> for Feed {}
    impl<__P> ::supervise::DecidedBy<__P> for FailuresOfFeed
    where
        Feed: __Failure0<__P>,
        Feed: __Failure1<__P>,
        Feed: ::supervise::DeclarationDecidedBy<__P>,
    {}
};
#[allow(deprecated)]
///The messages of [`Feed`].
#[allow(dead_code, missing_docs, private_bounds, private_interfaces, unreachable_pub)]
#[allow(clippy::enum_variant_names, clippy::large_enum_variant, clippy::type_complexity)]
pub enum FeedMessage {
    ///The message for `peek`.
    Peek,
    #[cfg(unix)]
    ///The message for `read`.
    Read,
}
#[allow(deprecated)]
#[automatically_derived]
impl ::core::fmt::Debug for FeedMessage {
    fn fmt(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        match *self {
            FeedMessage::Peek { .. } => __f.write_str("Peek"),
            #[cfg(unix)]
            FeedMessage::Read { .. } => __f.write_str("Read"),
        }
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl ::supervise::Actor for Feed {
    type Message = ::supervise::Envelope<FeedMessage>;
    const HANDLERS: &'static [&'static ::core::primitive::str] = &["peek", "read"];
    const HAS_LAST_HOOK: ::core::primitive::bool = false;
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
        ::core::ops::ControlFlow::Break(
            match ::supervise::__private::open(__ctx, message) {
                FeedMessage::Peek {} => {
                    ::supervise::__private::enter(__ctx, 1u16);
                    let () = Self::peek(self);
                    ::supervise::__private::reply::<_, ()>(__ctx, ())
                }
                #[cfg(unix)]
                FeedMessage::Read {} => {
                    ::supervise::__private::enter(__ctx, 2u16);
                    match Self::read(self) {
                        ::core::result::Result::Ok(reply) => {
                            ::supervise::__private::reply::<_, ()>(__ctx, reply)
                        }
                        ::core::result::Result::Err(error) => {
                            ::core::result::Result::Err({
                                let error = ::supervise::__private::error_value::<
                                    UnixError,
                                >(error);
                                (&&&&::supervise::__private::Tier::of(&error))
                                    .__failure(error)
                            })
                        }
                    }
                }
            },
        )
    }
    #[cfg(windows)]
    async fn pre_start(
        &mut self,
        _ctx: &mut ::supervise::Context<Self>,
    ) -> ::core::result::Result<(), ::supervise::Failure> {
        #[allow(unused_imports)]
        use ::supervise::__private::probes::*;
        match <io::Result<
            (),
        > as ::supervise::__private::ResultLike>::into_result(Self::open(self)) {
            ::core::result::Result::Ok(()) => ::core::result::Result::Ok(()),
            ::core::result::Result::Err(error) => {
                ::core::result::Result::Err({
                    let error = ::supervise::__private::error_value::<
                        <io::Result<()> as ::supervise::__private::ResultLike>::Err,
                    >(error);
                    (&&&&::supervise::__private::Tier::of(&error)).__failure(error)
                })
            }
        }
    }
    fn message_name(
        message: &::supervise::Envelope<FeedMessage>,
    ) -> &'static ::core::primitive::str {
        match *message.message() {
            FeedMessage::Peek { .. } => "Peek",
            #[cfg(unix)]
            FeedMessage::Read { .. } => "Read",
        }
    }
    #[allow(unreachable_patterns)]
    fn is_activity(
        message: &::supervise::Envelope<FeedMessage>,
    ) -> ::core::primitive::bool {
        match message.message() {
            FeedMessage::Peek { .. } => false,
            _ => true,
        }
    }
}
#[allow(deprecated)]
#[allow(dead_code, unreachable_pub)]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
impl FeedRef {
    ///A request for `peek`.
    pub fn peek(&self) -> ::supervise::Request<'_, Feed, ()> {
        ::supervise::__private::request::<
            _,
            _,
            (),
        >(self.actor_ref(), FeedMessage::Peek {})
    }
    #[cfg(unix)]
    ///A request for `read`.
    pub fn read(&self) -> ::supervise::Request<'_, Feed, ()> {
        ::supervise::__private::request::<
            _,
            _,
            (),
        >(self.actor_ref(), FeedMessage::Read {})
    }
}
