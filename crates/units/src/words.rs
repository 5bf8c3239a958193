//! Enums whose variants are fixed words, for example values of annotations and labels of metrics.

/// A text that is none of an enum's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not accepted; accepted: {accepted}")]
pub struct UnknownWord {
    pub given: String,
    /// All words, as a sentence lists them.
    pub accepted: &'static str,
}

/// An enum whose every variant is a word: `words! { pub enum Side { Left = "left", Right = "right" } }`.
///
/// It has `ALL` in the order of declaration, `as_str`, its inverse `named`, and `Display`. After
/// `accepted: "left or right"` it has `ACCEPTED` and `FromStr` too.
#[macro_export]
macro_rules! words {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$note:meta])* $variant:ident = $word:expr),+ $(,)?
        }
        $(accepted: $accepted:literal)?
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility enum $name { $($(#[$note])* $variant),+ }

        impl $name {
            $visibility const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];
            $($visibility const ACCEPTED: &'static str = $accepted;)?

            $visibility const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            $visibility fn named(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.as_str() == word)
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        $(impl ::std::str::FromStr for $name {
            type Err = $crate::UnknownWord;

            fn from_str(given: &str) -> Result<Self, Self::Err> {
                let unknown = || Self::Err { given: given.to_owned(), accepted: $accepted };
                Self::named(given).ok_or_else(unknown)
            }
        })?
    };
}

#[cfg(test)]
mod tests {
    words! {
        /// A side.
        #[derive(Default)]
        enum Side {
            #[default]
            Left = "left",
            Right = "right",
        }
        accepted: "left or right"
    }

    #[test]
    fn an_enum_is_its_words() {
        assert_eq!(Side::ALL.map(Side::as_str), ["left", "right"]);
        assert_eq!(
            Side::ALL.map(|side| side.as_str().parse()),
            Side::ALL.map(Ok)
        );
        assert_eq!(format!("{:>6}", Side::default()), "  left");
        assert_eq!(Side::named("Left"), None);
        let refused = "up".parse::<Side>().unwrap_err().to_string();
        assert_eq!(
            refused,
            format!("\"up\" is not accepted; accepted: {}", Side::ACCEPTED)
        );
    }
}
