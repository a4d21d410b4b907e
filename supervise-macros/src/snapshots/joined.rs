#[automatically_derived]
#[allow(deprecated)]
#[::supervise::__private::async_trait]
impl<K: Key> ports::Storage<K> for DatabaseRef<K>
where
    K: Send,
{
    async fn put(
        &self,
        key: K,
        value: Vec<u8>,
    ) -> <dyn ports::Storage<K> as ::supervise::__private::AsksAt<0usize>>::Returned {
        ::supervise::__private::ask_as::<
            dyn ports::Storage<K>,
            0usize,
            _,
            _,
        >(<DatabaseRef<K>>::put(self, key, value))
            .await
    }
    #[cfg(unix)]
    fn forget(
        &self,
        key: K,
    ) -> <dyn ports::Storage<K> as ::supervise::__private::TellsAt<1usize>>::Returned {
        ::supervise::__private::tell_as::<
            dyn ports::Storage<K>,
            1usize,
            _,
            _,
        >(<DatabaseRef<K>>::forget(self, key))
    }
    fn actor(&self) -> ::core::option::Option<::supervise::AnyActorRef> {
        ::core::option::Option::Some(::supervise::TypedRef::actor_ref(self).to_any())
    }
}
