//! Programs that must compile: all forms that users may write.
//!
//! They are modules of one program, because a hundred programs would take minutes to build. The few whose check is
//! about a whole crate are in `../whole_crates`.

#![allow(
    dead_code,
    missing_debug_implementations,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    reason = "the programs show what compiles, not how to write it; `../whole_crates/no_lint_fires.rs` checks lints"
)]

macro_rules! programs {
    ($($name:ident)*) => {
        $(mod $name;)*

        const NAMES: &[&str] = &[$(stringify!($name)),*];

        /// Runs the `main` of each program, which checks what the program asserts.
        mod runs {
            $(
                #[test]
                fn $name() -> impl std::process::Termination {
                    super::$name::main()
                }
            )*
        }
    };
}

programs! {
    actors_that_know_each_other
    anyhow
    async_everything
    attributes_by_path
    attributes_in_either_order
    attributes_on_methods
    bodies_that_look_like_mistakes
    boxed_errors
    cfg_on_actors
    cfg_on_handlers
    children
    conditional_attributes
    deciders_by_hand
    error_types
    errors_of_other_crates
    escalation_chain
    escalation_decided_two_levels_up
    escalation_to_the_guardian
    every_setting
    factories
    generic_errors
    generic_parents
    generics
    generics_with_defaults
    guards
    handlers_called_like_methods
    hooks
    hostile_names
    mailboxes_and_durations
    meant_as_written
    mends
    message_built_and_told
    messages_of_every_kind
    modules
    names_of_generated_code
    one_name_in_two_modules
    ordinary_methods_called_like_the_refs
    private_types
    raw_identifiers
    remote
    replies
    result_aliases
    result_around_the_whole
    shapes_of_actors
    spawn_once
    stash_and_redeliver
    stash_matches_a_variant_without_fields
    tables_from_configuration
    the_face
    timer_with_a_message_by_hand
    timers
    traits_that_every_type_implements
    variants_of_generic_errors
    variants_of_several_enums
    watching
    watching_with_messages
    work_that_fails
    written_by_macro_rules
}

/// A file that is not in the list would not be compiled.
#[test]
fn each_file_is_in_the_list() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("must_compile");
    for file in std::fs::read_dir(here).expect("the folder can be read") {
        let file = file.expect("the folder can be read").path();
        let name = file.file_stem().expect("a file has a name").to_string_lossy();
        assert!(name == "main" || NAMES.contains(&&*name), "{} is not in the list", file.display());
    }
}
