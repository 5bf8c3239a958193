//! The form that all sections of the configuration file have.

/// Declares sections: the fields with their defaults. Names are camelCase, every field is optional,
/// and unknown fields are refused.
macro_rules! section {
    ($(
        $(#[$attribute:meta])*
        $name:ident { $($field:ident: $type:ty = $default:expr,)* }
    )*) => {$(
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(
            rename_all = "camelCase",
            deny_unknown_fields,
            default,
            expecting = "a mapping of fields"
        )]
        #[allow(unreachable_pub)] // the file itself is seen outside, and no other section
        pub struct $name {
            $(pub(in crate::config) $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }
    )*};
}

pub(in crate::config) use section;
