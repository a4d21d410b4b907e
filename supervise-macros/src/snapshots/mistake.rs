mod mistakes_in_Feed {
    ::core::compile_error! {
        "a message moves to another task and cannot borrow: take the value, `String`, here and in the calls, or share it, `Arc<str>`"
    }
}
///
/**# Messages

| request | what it does | reply | fails with |
|---|---|---|---|
| `fetch(id: u64, name: mistakes_in_Feed::Reported)` |  | `u8` |  |*/
#[allow(
    clippy::needless_pass_by_ref_mut,
    clippy::needless_pass_by_value,
    clippy::trivially_copy_pass_by_ref,
    clippy::unused_self
)]
impl Feed {
    fn fetch(&mut self, id: u64, name: &str) -> u8 {
        1
    }
}
#[allow(deprecated)]
#[doc(hidden)]
#[allow(dead_code, non_camel_case_types)]
type all_handlers_of_Feed_stand_in_one_impl_block = ();
#[allow(deprecated)]
#[automatically_derived]
impl ::supervise::AllHandlersStandInOneImplBlock for Feed {
    type Failures = ::supervise::Failures<::supervise::NoHandlerFails<Feed>>;
}
#[allow(deprecated)]
///The messages of [`Feed`].
#[allow(dead_code, missing_docs, private_bounds, private_interfaces, unreachable_pub)]
#[allow(clippy::enum_variant_names, clippy::large_enum_variant, clippy::type_complexity)]
pub enum FeedMessage {
    ///The message for `fetch`.
    Fetch { id: u64, name: mistakes_in_Feed::Reported },
}
#[allow(deprecated)]
#[automatically_derived]
impl ::core::fmt::Debug for FeedMessage {
    fn fmt(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        #[allow(unused_imports)]
        use ::supervise::__private::probes::*;
        match *self {
            FeedMessage::Fetch { ref id, ref name } => {
                ::supervise::__private::show(
                    __f,
                    "Fetch",
                    "id name",
                    &[id, ::supervise::__private::Shown(name).__shown()],
                )
            }
        }
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl ::supervise::Actor for Feed {
    type Message = ::supervise::Envelope<FeedMessage>;
    const HANDLERS: &'static [&'static ::core::primitive::str] = &["fetch"];
    const HAS_LAST_HOOK: ::core::primitive::bool = false;
    fn handle_now(
        &mut self,
        message: ::supervise::Envelope<FeedMessage>,
        __ctx: &mut ::supervise::Context<Self>,
    ) -> ::core::ops::ControlFlow<
        ::core::result::Result<(), ::supervise::Failure>,
        ::supervise::Envelope<FeedMessage>,
    > {
        ::core::ops::ControlFlow::Break(
            match ::supervise::__private::open(__ctx, message) {
                FeedMessage::Fetch { .. } => ::core::result::Result::Ok(()),
            },
        )
    }
    fn message_name(
        message: &::supervise::Envelope<FeedMessage>,
    ) -> &'static ::core::primitive::str {
        match *message.message() {
            FeedMessage::Fetch { .. } => "Fetch",
        }
    }
}
#[allow(deprecated)]
#[allow(dead_code, unreachable_pub)]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
impl FeedRef {
    ///A request for `fetch`.
    pub fn fetch(
        &self,
        id: u64,
        name: mistakes_in_Feed::Reported,
    ) -> ::supervise::Request<'_, Feed, u8> {
        ::supervise::__private::request::<
            _,
            _,
            u8,
        >(self.actor_ref(), FeedMessage::Fetch { id, name })
    }
}
