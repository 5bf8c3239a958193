//! Bodies that no client of good faith sends.

use proptest::prelude::*;

/// The damage that is done to a body.
#[derive(Debug, Clone)]
pub(crate) enum Damage {
    /// It ends here.
    Cut(usize),
    /// A byte is another.
    Byte(usize, u8),
    /// Something stands in it that was not there.
    Insert(usize, &'static str),
    /// A part is missing.
    Remove(usize, usize),
    /// A part stands there twice.
    Repeat(usize, usize),
}

const INSERTED: [&str; 12] = [
    "\0",
    "null",
    "{}",
    "[",
    "]",
    "\"",
    "1e400",
    "-0.5",
    ",",
    "\u{2028}",
    "\\ud800",
    "99999999999999999999999999",
];

/// Some damage; places are taken modulo the body's length.
pub(crate) fn damage() -> impl Strategy<Value = Vec<Damage>> {
    let place = any::<prop::sample::Index>().prop_map(|index| index.index(1 << 20));
    let one = prop_oneof![
        place.clone().prop_map(Damage::Cut),
        (place.clone(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        (place.clone(), prop::sample::select(&INSERTED[..]))
            .prop_map(|(at, text)| Damage::Insert(at, text)),
        (place.clone(), 1_usize..40).prop_map(|(at, length)| Damage::Remove(at, length)),
        (place, 1_usize..200).prop_map(|(at, length)| Damage::Repeat(at, length)),
    ];
    prop::collection::vec(one, 1..4)
}

/// The body as it arrives.
pub(crate) fn damaged(body: &[u8], damage: &[Damage]) -> Vec<u8> {
    let mut body = body.to_vec();
    for damage in damage {
        if body.is_empty() {
            break;
        }
        let end = |at: usize, length: usize| (at + length).min(body.len());
        match damage.clone() {
            Damage::Cut(at) => body.truncate(at % body.len()),
            Damage::Byte(at, byte) => {
                let at = at % body.len();
                body[at] = byte;
            }
            Damage::Insert(at, text) => {
                let at = at % body.len();
                body.splice(at..at, text.bytes());
            }
            Damage::Remove(at, length) => {
                let at = at % body.len();
                body.drain(at..end(at, length));
            }
            Damage::Repeat(at, length) => {
                let at = at % body.len();
                let part = body[at..end(at, length)].to_vec();
                body.splice(at..at, part);
            }
        }
    }
    body
}

/// Texts that are no request of any kind, with a name for each.
pub(crate) fn no_requests() -> Vec<(&'static str, Vec<u8>)> {
    let deep = 100_000;
    vec![
        ("empty", Vec::new()),
        ("blank", b"  \n".to_vec()),
        ("text", b"hello".to_vec()),
        ("null bytes", vec![0; 64]),
        ("null", b"null".to_vec()),
        ("number", b"1e400".to_vec()),
        ("list", b"[]".to_vec()),
        ("object", b"{}".to_vec()),
        ("not UTF-8", b"{\"Pod\":\"\xff\xfe\"}".to_vec()),
        ("brackets", "[".repeat(deep).into_bytes()),
        (
            "closed brackets",
            format!("{}{}", "[".repeat(deep), "]".repeat(deep)).into_bytes(),
        ),
        ("objects", "{\"a\":".repeat(deep).into_bytes()),
        (
            "brackets in a request",
            format!(r#"{{"request":{0},"Pod":{0}}}"#, "[".repeat(deep)).into_bytes(),
        ),
    ]
}

/// Nested so deeply that no parser that calls itself survives it.
pub(crate) fn nested() -> String {
    let deep = 100_000;
    format!("{}{}", "[".repeat(deep), "]".repeat(deep))
}
