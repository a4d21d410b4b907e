/**
[`DeskRef`] refers to this actor and has a method for each message.
*/
struct Desk;
///Refers to a [`Desk`]. Its methods make requests: `.await` asks, `.tell()` sends. `Display` shows the actor's path and `Uid`.
#[allow(dead_code)]
struct DeskRef(::supervise::ActorRef<Desk>);
::supervise::__private::impls_of_ref! {
    [] [] [DeskRef] [Desk] [] [] [] [let _ = ::supervise::__private::has_messages:: <
    Desk >;] []
}
#[automatically_derived]
impl ::supervise::Supervisor for Desk {
    type Ref = DeskRef;
    const ASK_TIMEOUT: ::core::option::Option<::core::time::Duration> = ::core::option::Option::Some(
        ::core::time::Duration::from_secs(5u64),
    );
}
impl ::supervise::DecidesAll for Desk {}
impl<__E: ?::core::marker::Sized> ::supervise::Decides<__E> for Desk {}
impl<__P> ::supervise::EscalationsDecidedBy<__P> for Desk {}
impl<__P> ::supervise::DeclarationDecidedBy<__P> for Desk {}
///
/**# Messages

| request | what it does | reply | fails with |
|---|---|---|---|
| `place(order: Order)` |  | `Receipt` |  |
| `cancel(order: u32)` |  |  | `DbError` |*/
#[allow(
    clippy::needless_pass_by_ref_mut,
    clippy::needless_pass_by_value,
    clippy::trivially_copy_pass_by_ref,
    clippy::unused_self
)]
impl Desk {
    async fn place(&mut self, order: Order, reply: ReplyTo<Receipt>) {
        todo
    }
    fn cancel(
        &mut self,
        reply: supervise::ReplyTo<()>,
        order: u32,
    ) -> Result<(), DbError> {
        todo
    }
}
#[allow(deprecated)]
#[doc(hidden)]
#[allow(dead_code, non_camel_case_types)]
type all_handlers_of_Desk_stand_in_one_impl_block = ();
#[allow(deprecated)]
const _: () = {
    #[doc(hidden)]
    #[allow(dead_code, missing_debug_implementations, unnameable_types, unreachable_pub)]
    pub struct FailuresOfDesk;
    #[automatically_derived]
    impl ::supervise::AllHandlersStandInOneImplBlock for Desk {
        type Failures = ::supervise::Failures<FailuresOfDesk>;
    }
    impl<__P> ::supervise::DecidedBy<__P> for FailuresOfDesk
    where
        Desk: ::supervise::DeclarationDecidedBy<__P>,
        __P: ::supervise::Decides<DbError>,
    {}
};
#[allow(deprecated)]
///The messages of [`Desk`].
#[allow(dead_code, missing_docs, private_bounds, private_interfaces, unreachable_pub)]
#[allow(clippy::enum_variant_names, clippy::large_enum_variant, clippy::type_complexity)]
pub enum DeskMessage {
    ///The message for `place`.
    Place { order: Order },
    ///The message for `cancel`.
    Cancel { order: u32 },
}
#[allow(deprecated)]
#[automatically_derived]
impl ::core::fmt::Debug for DeskMessage {
    fn fmt(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        #[allow(unused_imports)]
        use ::supervise::__private::probes::*;
        match *self {
            DeskMessage::Place { ref order } => {
                ::supervise::__private::show(
                    __f,
                    "Place",
                    "order",
                    &[::supervise::__private::Shown(order).__shown()],
                )
            }
            DeskMessage::Cancel { ref order } => {
                ::supervise::__private::show(__f, "Cancel", "order", &[order])
            }
        }
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl ::supervise::Actor for Desk {
    type Message = ::supervise::Envelope<DeskMessage>;
    const HANDLERS: &'static [&'static ::core::primitive::str] = &["place", "cancel"];
    const KEEPS_REPLIES: ::core::primitive::bool = true;
    const HAS_LAST_HOOK: ::core::primitive::bool = false;
    async fn handle(
        &mut self,
        message: ::supervise::Envelope<DeskMessage>,
        __ctx: &mut ::supervise::Context<Self>,
    ) -> ::core::result::Result<(), ::supervise::Failure> {
        match ::supervise::__private::open(__ctx, message) {
            DeskMessage::Place { order } => {
                ::supervise::__private::enter(__ctx, 1u16);
                let order = ::supervise::__private::sendable::<Order>(order);
                let __reply = ::supervise::__private::reply_to::<_, Receipt>(__ctx);
                let () = ::supervise::__private::handler_future(
                        Self::place(self, order, __reply),
                    )
                    .await;
                ::core::result::Result::Ok(())
            }
            _ => ::supervise::__private::handled_elsewhere(),
        }
    }
    fn handle_now(
        &mut self,
        message: ::supervise::Envelope<DeskMessage>,
        __ctx: &mut ::supervise::Context<Self>,
    ) -> ::core::ops::ControlFlow<
        ::core::result::Result<(), ::supervise::Failure>,
        ::supervise::Envelope<DeskMessage>,
    > {
        #[allow(unused_imports)]
        use ::supervise::__private::probes::*;
        match *::supervise::Envelope::message(&message) {
            DeskMessage::Place { .. } => {
                return ::core::ops::ControlFlow::Continue(message);
            }
            _ => {}
        }
        ::core::ops::ControlFlow::Break(
            match ::supervise::__private::open(__ctx, message) {
                DeskMessage::Cancel { order } => {
                    ::supervise::__private::enter(__ctx, 2u16);
                    let __reply = ::supervise::__private::reply_to::<_, ()>(__ctx);
                    match Self::cancel(self, __reply, order) {
                        ::core::result::Result::Ok(()) => ::core::result::Result::Ok(()),
                        ::core::result::Result::Err(error) => {
                            ::core::result::Result::Err({
                                let error = ::supervise::__private::error_value::<
                                    DbError,
                                >(error);
                                (&&&&::supervise::__private::Tier::of(&error))
                                    .__failure(error)
                            })
                        }
                    }
                }
                #[allow(unreachable_patterns)]
                _ => ::supervise::__private::handled_elsewhere(),
            },
        )
    }
    fn message_name(
        message: &::supervise::Envelope<DeskMessage>,
    ) -> &'static ::core::primitive::str {
        match *message.message() {
            DeskMessage::Place { .. } => "Place",
            DeskMessage::Cancel { .. } => "Cancel",
        }
    }
    const REDELIVERS: ::core::primitive::bool = true;
    #[allow(unreachable_patterns)]
    fn redelivery(
        message: &::supervise::Envelope<DeskMessage>,
    ) -> ::core::primitive::u32 {
        match message.message() {
            DeskMessage::Cancel { .. } => 1u32,
            _ => 0,
        }
    }
    #[allow(unreachable_patterns)]
    fn duplicate(
        message: &::supervise::Envelope<DeskMessage>,
    ) -> ::core::option::Option<::supervise::Envelope<DeskMessage>> {
        match message.message() {
            DeskMessage::Cancel { order } => {
                ::core::option::Option::Some(
                    ::core::convert::From::from(DeskMessage::Cancel {
                        order: ::supervise::__private::redeliverable::<u32>(order),
                    }),
                )
            }
            _ => ::core::option::Option::None,
        }
    }
    fn reattach(
        message: &mut ::supervise::Envelope<DeskMessage>,
        reply: ::supervise::ReplySlot,
    ) {
        ::supervise::__private::reattach(message, reply);
    }
}
#[allow(deprecated)]
#[allow(dead_code, unreachable_pub)]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
impl DeskRef {
    ///A request for `place`.
    pub fn place(&self, order: Order) -> ::supervise::Request<'_, Desk, Receipt> {
        ::supervise::__private::request::<
            _,
            _,
            Receipt,
        >(self.actor_ref(), DeskMessage::Place { order })
    }
    ///A request for `cancel`.
    pub fn cancel(&self, order: u32) -> ::supervise::Request<'_, Desk, ()> {
        ::supervise::__private::request::<
            _,
            _,
            (),
        >(self.actor_ref(), DeskMessage::Cancel { order })
    }
}
