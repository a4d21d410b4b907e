#[allow(
    clippy::needless_pass_by_ref_mut,
    clippy::needless_pass_by_value,
    clippy::trivially_copy_pass_by_ref,
    clippy::unused_self
)]
impl Feed {
    async fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        todo
    }
    fn before(&mut self, message: Option<FeedMessage>, cause: &Failure) {}
    fn one(&mut self, gone: Terminated<Other>) {}
    async fn any(&mut self, ctx: &mut Context<Self>, gone: Terminated) {}
    fn closed(&self, message: &FeedMessage) -> bool {
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
    impl<__P> ::supervise::DecidedBy<__P> for FailuresOfFeed
    where
        Feed: ::supervise::DeclarationDecidedBy<__P>,
        __P: ::supervise::DecidesUnasked<SpawnError>,
    {}
};
#[allow(deprecated)]
///The messages of [`Feed`].
#[allow(dead_code, missing_docs, private_bounds, private_interfaces, unreachable_pub)]
#[allow(clippy::enum_variant_names, clippy::large_enum_variant, clippy::type_complexity)]
pub enum FeedMessage {}
#[allow(deprecated)]
#[automatically_derived]
impl ::core::fmt::Debug for FeedMessage {
    fn fmt(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        match *self {}
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl ::supervise::Actor for Feed {
    type Message = ::supervise::Envelope<FeedMessage>;
    async fn pre_start(
        &mut self,
        ctx: &mut ::supervise::Context<Self>,
    ) -> ::core::result::Result<(), ::supervise::Failure> {
        #[allow(unused_imports)]
        use ::supervise::__private::probes::*;
        match ::supervise::__private::handler_future(Self::open(self, ctx)).await {
            ::core::result::Result::Ok(()) => ::core::result::Result::Ok(()),
            ::core::result::Result::Err(error) => {
                ::core::result::Result::Err({
                    let error = ::supervise::__private::error_value::<SpawnError>(error);
                    (&&&&::supervise::__private::Tier::of(&error)).__failure(error)
                })
            }
        }
    }
    async fn pre_restart(
        &mut self,
        _ctx: &mut ::supervise::Context<Self>,
        cause: &::supervise::Failure,
        message: ::core::option::Option<::supervise::Envelope<FeedMessage>>,
    ) -> ::core::result::Result<(), ::supervise::Failure> {
        let message = message.map(::supervise::Envelope::into_message);
        let () = Self::before(self, message, cause);
        ::core::result::Result::Ok(())
    }
    #[allow(clippy::needless_return, unreachable_code)]
    async fn terminated(
        &mut self,
        gone: ::supervise::Terminated,
        ctx: &mut ::supervise::Context<Self>,
    ) -> ::core::result::Result<(), ::supervise::Failure> {
        let _ = &ctx;
        let gone = match gone.downcast::<Other>() {
            ::core::result::Result::Ok(gone) => {
                return {
                    let () = Self::one(self, gone);
                    ::core::result::Result::Ok(())
                };
            }
            ::core::result::Result::Err(gone) => gone,
        };
        {
            return {
                let () = ::supervise::__private::handler_future(
                        Self::any(self, ctx, gone),
                    )
                    .await;
                ::core::result::Result::Ok(())
            };
        }
    }
    const STASHES: ::core::primitive::bool = true;
    fn stash_while(
        &self,
        message: &::supervise::Envelope<FeedMessage>,
    ) -> ::core::primitive::bool {
        Self::closed(self, message.message())
    }
    fn message_name(
        message: &::supervise::Envelope<FeedMessage>,
    ) -> &'static ::core::primitive::str {
        match *message.message() {}
    }
}
#[allow(deprecated)]
#[allow(dead_code, unreachable_pub)]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
impl FeedRef {}
#[allow(deprecated)]
impl<__A> ::supervise::Watches<__A> for Feed {}
