//! Which children a restart or a stop reaches when a child has failed: one function for each strategy.
//!
//! Declared children start before all others, so "started after" a field are the fields behind it and all other children.
//!
//! Rule 7.1.

use std::ops::Deref;
use std::slice;

use super::children::Children;
use super::fields::Fields;
use super::settings::Scope;
use super::vocabulary::ChildId;

/// Which children a directive about `culprit` reaches.
pub(super) fn reach<R: Clone, C: Clone>(scope: Scope, culprit: ChildId, family: Family<'_, R, C>) -> Reach {
    match scope {
        Scope::OneForOne => one_for_one(culprit),
        Scope::AllForOne => all_for_one(family),
        Scope::RestForOne => rest_for_one(culprit, family),
    }
}

/// The failed child alone.
fn one_for_one(culprit: ChildId) -> Reach {
    Reach { children: Affected::One(culprit), group_from: None }
}

/// All children.
fn all_for_one<R: Clone, C: Clone>(family: Family<'_, R, C>) -> Reach {
    family.group(Some(0), FIRST)
}

/// The failed child and those started after it.
fn rest_for_one<R: Clone, C: Clone>(culprit: ChildId, family: Family<'_, R, C>) -> Reach {
    match family.field_of(culprit) {
        Some(field) => family.group(Some(field), FIRST),
        None => family.group(None, culprit),
    }
}

/// No child has a smaller id.
const FIRST: ChildId = ChildId(0);

/// The children of one supervisor.
pub(super) struct Family<'a, R, C> {
    pub(super) fields: Option<&'a Fields<C>>,
    pub(super) others: Option<&'a Children<R, C>>,
    /// Whether children that an earlier restart is about to replace count too.
    pub(super) to_be_replaced_too: bool,
}

impl<R: Clone, C: Clone> Family<'_, R, C> {
    fn field_of(&self, child: ChildId) -> Option<usize> {
        self.fields?.field_of(child)
    }

    /// The fields from `first_field` on, in their order, then the other children from `first_other` on, in start order.
    fn group(self, first_field: Option<usize>, first_other: ChildId) -> Reach {
        let fields = self.fields.zip(first_field).into_iter();
        let fields = fields.flat_map(|(fields, first)| fields.children_from(first));
        let others = self.others.into_iter().flat_map(|all| all.from(first_other, self.to_be_replaced_too));
        let others = others.filter(|id| self.field_of(*id).is_none());
        Reach { children: Affected::Many(fields.chain(others).collect()), group_from: Some(first_other) }
    }
}

/// Which children a directive reaches.
pub(super) struct Reach {
    pub(super) children: Affected,
    /// If the strategy includes siblings: the first child other than a field that it reaches.
    pub(super) group_from: Option<ChildId>,
}

impl Reach {
    /// The failed child alone, whatever the strategy.
    pub(super) fn only(culprit: ChildId) -> Self {
        one_for_one(culprit)
    }

    /// Whether declared children restart one after another.
    pub(super) fn is_group(&self) -> bool {
        self.group_from.is_some()
    }
}

/// The children that a directive reaches. A single child needs no allocation.
#[derive(Debug, Clone, Hash)]
pub(crate) enum Affected {
    One(ChildId),
    Many(Vec<ChildId>),
}

impl Deref for Affected {
    type Target = [ChildId];

    fn deref(&self) -> &[ChildId] {
        match self {
            Self::One(id) => slice::from_ref(id),
            Self::Many(ids) => ids,
        }
    }
}
