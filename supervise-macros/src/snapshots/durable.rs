/**
[`OrdersRef`] refers to this actor and has a method for each message.
*/
struct Orders;
///Refers to a [`Orders`]. Its methods make requests: `.await` asks, `.tell()` sends. `Display` shows the actor's path and `Uid`.
#[allow(dead_code)]
struct OrdersRef(::supervise::ActorRef<Orders>);
::supervise::__private::impls_of_ref! {
    [] [] [OrdersRef] [Orders] [] [] [] [let _ = ::supervise::__private::has_messages:: <
    Orders >;] []
}
#[automatically_derived]
impl ::supervise::Supervisor for Orders {
    type Ref = OrdersRef;
    const DURABLE: ::core::option::Option<::supervise::durable::DurableMailbox> = ::core::option::Option::Some(
        ::supervise::durable::DurableMailbox::DEFAULT.window(8usize).crashes(2u32),
    );
}
impl ::supervise::Durable for Orders {}
impl ::supervise::DecidesAll for Orders {}
impl<__E: ?::core::marker::Sized> ::supervise::Decides<__E> for Orders {}
impl<__P> ::supervise::EscalationsDecidedBy<__P> for Orders {}
impl<__P> ::supervise::DeclarationDecidedBy<__P> for Orders {}
///
/**# Messages

| request | what it does | reply | fails with |
|---|---|---|---|
| `place(order: Order, r#type: u8)` |  |  |  |
| `socket(socket: Socket)` |  |  |  |
| `empty()` |  |  |  |*/
#[allow(
    clippy::needless_pass_by_ref_mut,
    clippy::needless_pass_by_value,
    clippy::trivially_copy_pass_by_ref,
    clippy::unused_self
)]
impl Orders {
    fn place(&mut self, order: Order, r#type: u8) {}
    fn socket(&mut self, socket: Socket) {}
    #[cfg(unix)]
    fn empty(&self) {}
}
#[allow(deprecated)]
#[doc(hidden)]
#[allow(dead_code, non_camel_case_types)]
type all_handlers_of_Orders_stand_in_one_impl_block = ();
#[allow(deprecated)]
#[automatically_derived]
impl ::supervise::AllHandlersStandInOneImplBlock for Orders {
    type Failures = ::supervise::Failures<::supervise::NoHandlerFails<Orders>>;
}
#[allow(deprecated)]
///The messages of [`Orders`].
#[allow(dead_code, missing_docs, private_bounds, private_interfaces, unreachable_pub)]
#[allow(clippy::enum_variant_names, clippy::large_enum_variant, clippy::type_complexity)]
pub enum OrdersMessage {
    ///The message for `place`.
    Place { order: Order, r#type: u8 },
    ///The message for `socket`.
    Socket { socket: Socket },
    #[cfg(unix)]
    ///The message for `empty`.
    Empty,
}
#[allow(deprecated)]
#[automatically_derived]
impl ::core::fmt::Debug for OrdersMessage {
    fn fmt(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        #[allow(unused_imports)]
        use ::supervise::__private::probes::*;
        match *self {
            OrdersMessage::Place { ref order, ref r#type } => {
                ::supervise::__private::show(
                    __f,
                    "Place",
                    "order type",
                    &[::supervise::__private::Shown(order).__shown(), r#type],
                )
            }
            OrdersMessage::Socket { ref socket } => {
                ::supervise::__private::show(
                    __f,
                    "Socket",
                    "socket",
                    &[::supervise::__private::Shown(socket).__shown()],
                )
            }
            #[cfg(unix)]
            OrdersMessage::Empty { .. } => __f.write_str("Empty"),
        }
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl ::supervise::Actor for Orders {
    type Message = ::supervise::Envelope<OrdersMessage>;
    const HANDLERS: &'static [&'static ::core::primitive::str] = &[
        "place",
        "socket",
        "empty",
    ];
    const HAS_LAST_HOOK: ::core::primitive::bool = false;
    fn handle_now(
        &mut self,
        message: ::supervise::Envelope<OrdersMessage>,
        __ctx: &mut ::supervise::Context<Self>,
    ) -> ::core::ops::ControlFlow<
        ::core::result::Result<(), ::supervise::Failure>,
        ::supervise::Envelope<OrdersMessage>,
    > {
        ::core::ops::ControlFlow::Break(
            match ::supervise::__private::open(__ctx, message) {
                OrdersMessage::Place { order, r#type } => {
                    ::supervise::__private::enter(__ctx, 1u16);
                    let order = ::supervise::__private::sendable::<Order>(order);
                    let () = Self::place(self, order, r#type);
                    ::supervise::__private::reply::<_, ()>(__ctx, ())
                }
                OrdersMessage::Socket { socket } => {
                    ::supervise::__private::enter(__ctx, 2u16);
                    let socket = ::supervise::__private::sendable::<Socket>(socket);
                    let () = Self::socket(self, socket);
                    ::supervise::__private::reply::<_, ()>(__ctx, ())
                }
                #[cfg(unix)]
                OrdersMessage::Empty {} => {
                    ::supervise::__private::enter(__ctx, 3u16);
                    let () = Self::empty(self);
                    ::supervise::__private::reply::<_, ()>(__ctx, ())
                }
            },
        )
    }
    fn message_name(
        message: &::supervise::Envelope<OrdersMessage>,
    ) -> &'static ::core::primitive::str {
        match *message.message() {
            OrdersMessage::Place { .. } => "Place",
            OrdersMessage::Socket { .. } => "Socket",
            #[cfg(unix)]
            OrdersMessage::Empty { .. } => "Empty",
        }
    }
    const REDELIVERS: ::core::primitive::bool = true;
    #[allow(unreachable_patterns)]
    fn redelivery(
        message: &::supervise::Envelope<OrdersMessage>,
    ) -> ::core::primitive::u32 {
        match message.message() {
            OrdersMessage::Place { .. } => 2u32,
            _ => 0,
        }
    }
    #[allow(unreachable_patterns)]
    fn duplicate(
        message: &::supervise::Envelope<OrdersMessage>,
    ) -> ::core::option::Option<::supervise::Envelope<OrdersMessage>> {
        #[allow(unused_imports)]
        use ::supervise::__private::{MemoryKind as _, StoredKind as _};
        #[allow(unused_variables)]
        let __kind = (&&::supervise::__private::Kind::<Orders>::NEW).__kind();
        match message.message() {
            OrdersMessage::Place { order, r#type } => {
                ::core::option::Option::Some(
                    ::core::convert::From::from(OrdersMessage::Place {
                        order: __kind.copy::<Order>(order)?,
                        r#type: __kind.copy::<u8>(r#type)?,
                    }),
                )
            }
            _ => ::core::option::Option::None,
        }
    }
    fn reattach(
        message: &mut ::supervise::Envelope<OrdersMessage>,
        reply: ::supervise::ReplySlot,
    ) {
        ::supervise::__private::reattach(message, reply);
    }
    fn slot(
        message: &mut ::supervise::Envelope<OrdersMessage>,
    ) -> ::core::option::Option<&mut ::supervise::ReplySlot> {
        ::core::option::Option::Some(::supervise::__private::slot(message))
    }
    fn is_stored(
        message: &::supervise::Envelope<OrdersMessage>,
    ) -> ::core::primitive::bool {
        ::supervise::__private::is_stored(message)
    }
    fn encode(
        message: &::supervise::Envelope<OrdersMessage>,
    ) -> ::core::result::Result<
        ::core::option::Option<::supervise::__private::Encoded>,
        ::supervise::__private::CodecError,
    > {
        #[allow(unused_imports)]
        use ::supervise::__private::{MemoryKind as _, StoredKind as _};
        #[allow(unused_variables)]
        let __kind = (&&::supervise::__private::Kind::<Orders>::NEW).__kind();
        if !__kind.is_stored() {
            return ::core::result::Result::Ok(::core::option::Option::None);
        }
        #[cfg(unix)]
        {
            ::supervise::__private::may_be_inline(__kind);
        }
        match *message.message() {
            OrdersMessage::Place { ref order, ref r#type } => {
                #[allow(unused_mut)]
                let mut __out = ::supervise::__private::Encoder::new(2usize);
                __kind.argument::<Order>().encode(&mut __out, "order", order)?;
                __kind.argument::<u8>().encode(&mut __out, "type", r#type)?;
                ::core::result::Result::Ok(
                    ::core::option::Option::Some(
                        ::supervise::__private::Encoded::new("order", __out),
                    ),
                )
            }
            OrdersMessage::Socket { .. } => {
                ::core::result::Result::Ok(::core::option::Option::None)
            }
            #[cfg(unix)]
            OrdersMessage::Empty {} => {
                #[allow(unused_mut)]
                let mut __out = ::supervise::__private::Encoder::new(0usize);
                ::core::result::Result::Ok(
                    ::core::option::Option::Some(
                        ::supervise::__private::Encoded::new("empty", __out),
                    ),
                )
            }
        }
    }
    #[allow(unreachable_patterns, unused_variables)]
    fn decode(
        kind: &::core::primitive::str,
        __from: &::supervise::__private::Decoder<'_>,
    ) -> ::core::result::Result<
        ::core::option::Option<::supervise::Envelope<OrdersMessage>>,
        ::supervise::__private::CodecError,
    > {
        #[allow(unused_imports)]
        use ::supervise::__private::{MemoryKind as _, StoredKind as _};
        #[allow(unused_variables)]
        let __kind = (&&::supervise::__private::Kind::<Orders>::NEW).__kind();
        ::core::result::Result::Ok(
            match kind {
                "order" | "put" => {
                    ::core::option::Option::Some(
                        ::core::convert::From::from(OrdersMessage::Place {
                            order: __kind.argument::<Order>().decode(__from, "order")?,
                            r#type: __kind.argument::<u8>().decode(__from, "type")?,
                        }),
                    )
                }
                #[cfg(unix)]
                "empty" => {
                    ::core::option::Option::Some(
                        ::core::convert::From::from(OrdersMessage::Empty {}),
                    )
                }
                _ => ::core::option::Option::None,
            },
        )
    }
    #[allow(unreachable_patterns)]
    fn stored_message(
        kind: &::core::primitive::str,
    ) -> ::core::option::Option<&'static ::core::primitive::str> {
        match kind {
            "order" | "put" => ::core::option::Option::Some("Place"),
            #[cfg(unix)]
            "empty" => ::core::option::Option::Some("Empty"),
            _ => ::core::option::Option::None,
        }
    }
}
#[allow(deprecated)]
#[allow(dead_code, unreachable_pub)]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
impl OrdersRef {
    ///A request for `place`.
    pub fn place(
        &self,
        order: Order,
        r#type: u8,
    ) -> ::supervise::Request<'_, Orders, ()> {
        ::supervise::__private::request::<
            _,
            _,
            (),
        >(
            self.actor_ref(),
            OrdersMessage::Place {
                order,
                r#type,
            },
        )
    }
    ///A request for `socket`.
    pub fn socket(
        &self,
        socket: Socket,
    ) -> ::supervise::Request<'_, Orders, (), ::supervise::Transient> {
        ::supervise::__private::request::<
            _,
            _,
            (),
        >(self.actor_ref(), OrdersMessage::Socket { socket })
            .transient()
    }
    #[cfg(unix)]
    ///A request for `empty`.
    pub fn empty(&self) -> ::supervise::Request<'_, Orders, ()> {
        ::supervise::__private::request::<
            _,
            _,
            (),
        >(self.actor_ref(), OrdersMessage::Empty {})
            .inline()
    }
}
