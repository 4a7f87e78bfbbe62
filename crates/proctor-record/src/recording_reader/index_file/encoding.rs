//! The binary form of the values in an index: numbers of variable length, strings with their length, fields in a fixed order.
//!
//! Restoring gives `None` for bytes that do not hold the value; it never panics and never allocates more than the bytes can fill.

use std::collections::BTreeMap;

use proctor_events::{
    EvaluationMode, ExampleId, Fault, Json, MessageSource, Millis, OutputStream, RunEnding, RunId,
    Status, StopReason, TerminationReason, Timestamp,
};

/// The bytes that are left to restore from.
#[derive(Debug)]
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn take_text(&mut self) -> Option<&'a str> {
        let length = usize::restore(self)?;
        std::str::from_utf8(self.take(length)?).ok()
    }
}

/// A value that can be part of an index.
pub(super) trait Stored: Sized {
    fn store(&self, out: &mut Vec<u8>);
    fn restore(input: &mut Input<'_>) -> Option<Self>;
}

/// Seven bits to a byte, lowest first; the highest bit says that another byte follows.
impl Stored for u64 {
    fn store(&self, out: &mut Vec<u8>) {
        let mut rest = *self;
        while rest >= 0x80 {
            #[expect(clippy::cast_possible_truncation, reason = "the low byte is what is meant")]
            out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        #[expect(clippy::cast_possible_truncation, reason = "less than 0x80")]
        out.push(rest as u8);
    }

    fn restore(input: &mut Input<'_>) -> Option<Self> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = input.0.split_first()?;
            input.0 = rest;
            let bits = Self::from(byte & 0x7f);
            if bits > Self::MAX >> shift {
                return None;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

/// Numbers near zero are short, whatever their sign.
impl Stored for i64 {
    fn store(&self, out: &mut Vec<u8>) {
        ((self << 1) ^ (self >> 63)).cast_unsigned().store(out);
    }

    fn restore(input: &mut Input<'_>) -> Option<Self> {
        let stored = u64::restore(input)?;
        Some((stored >> 1).cast_signed() ^ -(stored & 1).cast_signed())
    }
}

macro_rules! stored_as {
    ($Wide:ty: $($Narrow:ty),+) => { $(
        impl Stored for $Narrow {
            fn store(&self, out: &mut Vec<u8>) {
                // None of the types is wider than 64 bits.
                <$Wide>::try_from(*self).unwrap_or_default().store(out);
            }

            fn restore(input: &mut Input<'_>) -> Option<Self> {
                <$Wide>::restore(input)?.try_into().ok()
            }
        }
    )+ };
}

stored_as!(u64: u16, u32, usize);
stored_as!(i64: i32);

impl Stored for bool {
    fn store(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn restore(input: &mut Input<'_>) -> Option<Self> {
        match input.take(1)? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }
}

impl<const N: usize> Stored for [u8; N] {
    fn store(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn restore(input: &mut Input<'_>) -> Option<Self> {
        input.take(N)?.try_into().ok()
    }
}

impl Stored for f64 {
    fn store(&self, out: &mut Vec<u8>) {
        self.to_le_bytes().store(out);
    }

    fn restore(input: &mut Input<'_>) -> Option<Self> {
        // Numbers of events are finite. One that is not even equal to itself could be neither compared nor written as JSON.
        Stored::restore(input).map(Self::from_le_bytes).filter(|number| number.is_finite())
    }
}

fn store_text(text: &str, out: &mut Vec<u8>) {
    text.len().store(out);
    out.extend_from_slice(text.as_bytes());
}

/// Values that are text and are made from text.
macro_rules! stored_as_text {
    ($($Type:ty),+ $(,)?) => { $(
        impl Stored for $Type {
            fn store(&self, out: &mut Vec<u8>) {
                store_text(self.as_str(), out);
            }

            fn restore(input: &mut Input<'_>) -> Option<Self> {
                input.take_text().map(Self::from)
            }
        }
    )+ };
}

stored_as_text!(String, ExampleId, RunId, Status, Fault, EvaluationMode, MessageSource);
stored_as_text!(OutputStream, TerminationReason, RunEnding, StopReason);

impl Stored for Box<str> {
    fn store(&self, out: &mut Vec<u8>) {
        store_text(self, out);
    }

    fn restore(input: &mut Input<'_>) -> Option<Self> {
        input.take_text().map(Self::from)
    }
}

impl Stored for Json {
    fn store(&self, out: &mut Vec<u8>) {
        store_text(self.text(), out);
    }

    fn restore(input: &mut Input<'_>) -> Option<Self> {
        serde_json::from_str(input.take_text()?).ok()
    }
}

impl Stored for Millis {
    fn store(&self, out: &mut Vec<u8>) {
        self.get().store(out);
    }

    fn restore(input: &mut Input<'_>) -> Option<Self> {
        f64::restore(input).map(Self::new)
    }
}

impl Stored for Timestamp {
    fn store(&self, out: &mut Vec<u8>) {
        self.as_second().store(out);
        self.subsec_nanosecond().store(out);
    }

    fn restore(input: &mut Input<'_>) -> Option<Self> {
        Self::new(Stored::restore(input)?, Stored::restore(input)?).ok()
    }
}

impl<T: Stored> Stored for Option<T> {
    fn store(&self, out: &mut Vec<u8>) {
        self.is_some().store(out);
        if let Some(value) = self {
            value.store(out);
        }
    }

    fn restore(input: &mut Input<'_>) -> Option<Self> {
        if bool::restore(input)? { T::restore(input).map(Some) } else { Some(None) }
    }
}

impl<T: Stored> Stored for Box<T> {
    fn store(&self, out: &mut Vec<u8>) {
        T::store(self, out);
    }

    fn restore(input: &mut Input<'_>) -> Option<Self> {
        T::restore(input).map(Self::new)
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn store(&self, out: &mut Vec<u8>) {
        self.len().store(out);
        for item in self {
            item.store(out);
        }
    }

    fn restore(input: &mut Input<'_>) -> Option<Self> {
        let count = usize::restore(input)?;
        // Every item takes at least a byte, so a larger count is damage. Room for all of them is made only as they come.
        if count > input.0.len() {
            return None;
        }
        let mut items = Self::with_capacity(count.min(MAX_RESERVED_ITEMS));
        for _ in 0..count {
            items.push(T::restore(input)?);
        }
        items.shrink_to_fit();
        Some(items)
    }
}

/// For how many items of a list room is made before the first is restored.
const MAX_RESERVED_ITEMS: usize = 1024;

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn store(&self, out: &mut Vec<u8>) {
        self.0.store(out);
        self.1.store(out);
    }

    fn restore(input: &mut Input<'_>) -> Option<Self> {
        Some((A::restore(input)?, B::restore(input)?))
    }
}

impl<K: Stored + Ord, V: Stored> Stored for BTreeMap<K, V> {
    fn store(&self, out: &mut Vec<u8>) {
        self.len().store(out);
        for (key, value) in self {
            key.store(out);
            value.store(out);
        }
    }

    fn restore(input: &mut Input<'_>) -> Option<Self> {
        Vec::restore(input).map(Self::from_iter)
    }
}

/// Stores structs field by field. A field that is missing from the list does not compile. Fields after `without` are not stored; a fold
/// leaves them at `None`.
macro_rules! stored {
    ($($Type:ty { $($field:ident),+ $(,)? $(; without $($left_out:ident),+)? })+) => { $(
        impl Stored for $Type {
            fn store(&self, out: &mut Vec<u8>) {
                let Self { $($field,)+ $($($left_out: _,)+)? } = self;
                $( $field.store(out); )+
            }

            fn restore(input: &mut Input<'_>) -> Option<Self> {
                $( let $field = Stored::restore(input)?; )+
                Some(Self { $($field,)+ $($($left_out: None,)+)? })
            }
        }
    )+ };
}

pub(super) use stored;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn again<T: Stored>(value: &T) -> Option<T> {
        let mut bytes = Vec::new();
        value.store(&mut bytes);
        let mut input = Input(&bytes);
        let value = T::restore(&mut input);
        assert!(input.0.is_empty(), "everything that was stored is restored");
        value
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_refused() {
        let mut longest = Input(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
        assert_eq!(u64::restore(&mut longest), Some(u64::MAX));
        let mut longer = Input(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]);
        assert_eq!(u64::restore(&mut longer), None);
        assert_eq!(u64::restore(&mut Input(&[0x80; 11])), None);
    }

    #[test]
    fn a_list_longer_than_its_bytes_is_refused() {
        let mut bytes = Vec::new();
        u64::MAX.store(&mut bytes);
        assert_eq!(Vec::<u64>::restore(&mut Input(&bytes)), None);
    }

    proptest! {
        #[test]
        fn values_come_back(
            numbers in any::<(u64, i64, u32, i32, bool)>(),
            texts in prop::collection::vec(".{0,20}", 0..5),
            second in -1_000_000_000_i64..4_000_000_000,
            nanosecond in 0_i32..1_000_000_000,
            share in prop::option::of(any::<f64>().prop_filter("finite", |it| it.is_finite())),
        ) {
            let (a, b, c, d, e) = numbers;
            prop_assert_eq!(again(&((a, b), (c, (d, e)))), Some(((a, b), (c, (d, e)))));
            let time = Timestamp::new(second, nanosecond).unwrap();
            prop_assert_eq!(again(&time), Some(time));
            let map: BTreeMap<String, u64> = texts.iter().cloned().zip(1..).collect();
            prop_assert_eq!(again(&map), Some(map));
            prop_assert_eq!(again(&texts), Some(texts));
            prop_assert_eq!(again(&share), Some(share));
        }
    }
}
