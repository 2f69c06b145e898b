//! Small sets over an enum that [`named!`](crate::named) makes: capabilities, requirements,
//! properties.
//!
//! ```
//! use gnarl_graph::sets::Set;
//!
//! gnarl_graph::named! {
//!     /// A property of an attack.
//!     pub enum Property as "property" {
//!         /// Changes are chosen one after the other.
//!         Greedy = "greedy",
//!         /// The budget holds for each target.
//!         Targeted = "targeted",
//!     }
//! }
//! const TRAITS: Set<Property> = Property::set(&[Property::Greedy]);
//! assert!(TRAITS.contains(Property::Greedy) && !TRAITS.contains(Property::Targeted));
//! assert_eq!(TRAITS.to_string(), "greedy");
//! ```

use std::marker::PhantomData;

use serde::{Serialize, Serializer};

/// An enum whose variants can be members of a [`Set`]. [`named!`](crate::named) implements it.
pub trait Member: Copy + 'static {
    /// Every variant, in the order of the list: at most [`MAX_MEMBERS`] for a set of them.
    const ALL: &'static [Self];

    /// Returns the position in [`Member::ALL`].
    fn index(self) -> u32;

    /// Returns the name, in lower case with hyphens.
    fn name(self) -> &'static str;
}

/// The largest number of variants of an enum with a [`Set`].
pub const MAX_MEMBERS: u32 = u64::BITS;

/// A set of variants of an enum, stored as one bit for each.
///
/// `Enum::set(&[…])`, which [`named!`](crate::named) adds to every enum, makes one in a constant;
/// [`Set::of`] and `collect` make one elsewhere.
pub struct Set<T> {
    bits: u64,
    of: PhantomData<T>,
}

impl<T> Set<T> {
    /// The set without members.
    pub const EMPTY: Self = Self::from_bits(0);

    /// Makes the set of the members whose positions are set bits.
    #[doc(hidden)]
    pub const fn from_bits(bits: u64) -> Self {
        Self {
            bits,
            of: PhantomData,
        }
    }

    /// Returns true if there are no members.
    pub const fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// Returns the number of members.
    pub const fn len(self) -> usize {
        self.bits.count_ones() as usize
    }

    /// Returns all members of either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self::from_bits(self.bits | other.bits)
    }

    /// Returns the members of both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self::from_bits(self.bits & other.bits)
    }

    /// Returns the members that `other` lacks.
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        Self::from_bits(self.bits & !other.bits)
    }
}

impl<T: Member> Set<T> {
    /// Makes the set of these members.
    pub fn of(members: &[T]) -> Self {
        members.iter().copied().collect()
    }

    /// Returns true if the variant is a member.
    pub fn contains(self, member: T) -> bool {
        self.bits & bit(member.index()) != 0
    }

    /// Adds one member.
    #[must_use]
    pub fn with(self, member: T) -> Self {
        Self::from_bits(self.bits | bit(member.index()))
    }

    /// Removes one member.
    #[must_use]
    pub fn without(self, member: T) -> Self {
        Self::from_bits(self.bits & !bit(member.index()))
    }

    /// Returns the members, in the order of the enum.
    pub fn iter(self) -> impl Iterator<Item = T> {
        T::ALL
            .iter()
            .copied()
            .filter(move |member| self.contains(*member))
    }

    /// Returns the names of the members, in the order of the enum.
    pub fn names(self) -> Vec<&'static str> {
        self.iter().map(Member::name).collect()
    }
}

/// Returns the bit of a position.
#[doc(hidden)]
pub const fn bit(index: u32) -> u64 {
    assert!(index < MAX_MEMBERS, "too many variants for a set");
    1 << index
}

// Derived implementations would require the trait of the members.
impl<T> Clone for Set<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Set<T> {}

impl<T> PartialEq for Set<T> {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}

impl<T> Eq for Set<T> {}

impl<T> Default for Set<T> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<T: Member> FromIterator<T> for Set<T> {
    fn from_iter<I: IntoIterator<Item = T>>(members: I) -> Self {
        members.into_iter().fold(Self::EMPTY, Self::with)
    }
}

/// Writes the names with commas between them.
impl<T: Member> std::fmt::Display for Set<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.names().join(", "))
    }
}

impl<T: Member> std::fmt::Debug for Set<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

/// Serializes as a list of the names.
impl<T: Member> Serialize for Set<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.names())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::named! {
        /// A colour.
        enum Colour as "colour" {
            /// Red.
            Red = "red",
            /// Green.
            Green = "green",
            /// Blue.
            Blue = "blue",
        }
    }

    const WARM: Set<Colour> = Colour::set(&[Colour::Blue, Colour::Red, Colour::Red]);

    #[test]
    fn members_are_found_and_listed_in_order() {
        assert!(WARM.contains(Colour::Red) && WARM.contains(Colour::Blue));
        assert!(!WARM.contains(Colour::Green));
        assert_eq!(
            WARM.iter().collect::<Vec<_>>(),
            [Colour::Red, Colour::Blue],
            "in the order of the enum, each once"
        );
        assert_eq!((WARM.len(), WARM.is_empty()), (2, false));
        assert_eq!(WARM, Set::of(&[Colour::Red, Colour::Blue]));
        assert_eq!(Set::<Colour>::default(), Set::EMPTY);
        assert!(Set::<Colour>::EMPTY.is_empty());
    }

    #[test]
    fn sets_are_joined_and_parted() {
        let green = Set::of(&[Colour::Green]);
        let all: Set<Colour> = Colour::ALL.iter().copied().collect();
        assert_eq!(WARM.union(green), all);
        assert_eq!(all.difference(WARM), green);
        assert_eq!(all.intersection(green), green);
        assert_eq!(WARM.with(Colour::Green), all);
        assert_eq!(all.without(Colour::Green), WARM);
    }

    #[test]
    fn sets_are_printed_and_stored_by_name() {
        assert_eq!(WARM.to_string(), "red, blue");
        assert_eq!(format!("{WARM:?}"), r#"{"red", "blue"}"#);
        assert_eq!(serde_json::to_string(&WARM).unwrap(), r#"["red","blue"]"#);
        assert_eq!(Set::<Colour>::EMPTY.to_string(), "");
    }
}
