//! The arguments of a stored message as text, for people.

use std::fmt::{self, Display, Write};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::fields::is_deep;
use super::store::Stored;

impl Stored {
    /// The arguments as JSON, such as `{"order": {"article": 1}}`. For people: bytes are an array of numbers, and a key that is no
    /// text stands there as it is.
    pub fn arguments(&self) -> Arguments<'_> {
        Arguments(&self.body)
    }
}

/// The arguments of a stored message, see [`Stored::arguments`].
#[derive(Debug, Clone, Copy)]
pub struct Arguments<'a>(&'a [u8]);

impl Display for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut json = String::new();
        let mut deserializer = rmp_serde::Deserializer::from_read_ref(self.0);
        if is_deep(self.0) || Json(&mut json).deserialize(&mut deserializer).is_err() {
            return write!(f, "{} bytes that cannot be read", self.0.len());
        }
        f.write_str(&json)
    }
}

/// Writes a value.
struct Json<'a>(&'a mut String);

impl Json<'_> {
    fn put(self, value: impl Display) {
        // Writing to a text does not fail.
        let _ = write!(self.0, "{value}");
    }

    fn float(self, value: f64) {
        if value.is_finite() { self.put(value) } else { self.put("null") }
    }
}

impl<'de> DeserializeSeed<'de> for Json<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Json<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.put(value);
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.put(value);
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.put(value);
        Ok(())
    }

    fn visit_f32<E>(self, value: f32) -> Result<(), E> {
        self.float(value.into());
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.float(value);
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        self.0.push('"');
        for character in value.chars() {
            match character {
                '"' | '\\' => self.0.extend(['\\', character]),
                '\0'..='\u{1f}' => drop(write!(self.0, "\\u{:04x}", u32::from(character))),
                _ => self.0.push(character),
            }
        }
        self.0.push('"');
        Ok(())
    }

    fn visit_bytes<E>(self, value: &[u8]) -> Result<(), E> {
        // The `Debug` of numbers is JSON.
        self.put(format_args!("{value:?}"));
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.put("null");
        Ok(())
    }

    fn visit_none<E>(self) -> Result<(), E> {
        self.put("null");
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<(), A::Error> {
        self.0.push('[');
        let begin = self.0.len();
        loop {
            let end = self.0.len();
            if end > begin {
                self.0.push_str(", ");
            }
            if values.next_element_seed(Json(self.0))?.is_none() {
                self.0.truncate(end);
                break;
            }
        }
        self.0.push(']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        self.0.push('{');
        let begin = self.0.len();
        loop {
            let end = self.0.len();
            if end > begin {
                self.0.push_str(", ");
            }
            if entries.next_key_seed(Json(self.0))?.is_none() {
                self.0.truncate(end);
                break;
            }
            self.0.push_str(": ");
            entries.next_value_seed(Json(self.0))?;
        }
        self.0.push('}');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn shown(value: &impl serde::Serialize) -> String {
        let bytes = rmp_serde::to_vec_named(value).expect("it can be encoded");
        Arguments(&bytes).to_string()
    }

    #[derive(serde::Serialize)]
    enum Size {
        Small,
        Other { width: f64 },
    }

    #[test]
    fn arguments_are_shown_as_json() {
        assert_eq!(
            shown(&BTreeMap::from([("order", (1_u8, -2_i64, true, Some("a \"b\"\n"), None::<u8>))])),
            r#"{"order": [1, -2, true, "a \"b\"\u000a", null]}"#
        );
        assert_eq!(
            shown(&(Size::Small, Size::Other { width: 1.5 }, f64::NAN)),
            r#"["Small", {"Other": {"width": 1.5}}, null]"#
        );
        assert_eq!(shown(&(Vec::<u8>::new(), BTreeMap::from([(1, None::<u8>)]))), "[[], {1: null}]");
        assert_eq!(Arguments(&[0x81, 0xa1]).to_string(), "2 bytes that cannot be read");
        assert_eq!(Arguments(&vec![0x91; 1_000_000]).to_string(), "1000000 bytes that cannot be read");
    }
}
