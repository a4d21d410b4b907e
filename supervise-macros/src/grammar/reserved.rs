//! The names that a handler cannot have, because the ref's own methods or those of its traits have them.

macro_rules! reserved {
    ($first:literal $(, $name:literal)*) => {
        pub(crate) const RESERVED: &[&str] = &[$first $(, $name)*];

        macro_rules! reserved_list {
            () => {
                concat!("`", $first, "`" $(, ", `", $name, "`")*)
            };
        }
    };
}

reserved!("clone", "eq", "hash", "deref", "into", "actor_ref");

#[cfg(test)]
mod tests {
    /// The page about the checks names the same methods.
    #[test]
    fn the_page_of_what_is_checked_lists_the_reserved_names() {
        let page = include_str!("../../../supervise/docs/checks.md");
        assert!(page.contains(reserved_list!()), "write in checks.md: {}", reserved_list!());
    }
}
