//! The text of a list, cut into the texts of its items while it arrives. A page of 500 objects may
//! have hundreds of megabytes, so only one item is held. Only the bounds of items are searched for;
//! the rest of the list, with a 0 for each item, is parsed as JSON at its end.

use evenkeel_objects::json::null_is_default;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use serde::Deserialize;
use serde::de::{Error as _, IgnoredAny};

#[derive(Debug, Default)]
pub(super) struct ListText {
    /// The text around the items, with a 0 in the place of each item.
    around: Vec<u8>,
    nesting: Nesting,
    /// Where the last string outside of items begins in `around`.
    string: usize,
    /// True while a value is to follow that holds the items.
    announced: bool,
    /// True within the array of items.
    within: bool,
    /// The item of which a part has arrived.
    item: Option<Item>,
    items: usize,
}

/// How deep a text nests where it has been read to, and whether that is within a string.
#[derive(Debug, Default)]
struct Nesting {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

#[derive(Debug)]
struct Item {
    text: Vec<u8>,
    nesting: Nesting,
    /// True for a number, `true`, `false` or `null`, which ends where something else begins.
    is_bare: bool,
}

#[derive(Deserialize)]
struct ListEnvelope {
    #[serde(default, deserialize_with = "null_is_default")]
    metadata: ListMeta,
    #[serde(deserialize_with = "null_is_default")]
    items: Vec<IgnoredAny>,
}

impl ListText {
    /// Takes `bytes` up to the end of an item and returns the item, or takes all if none ends.
    pub(super) fn next_item(&mut self, bytes: &mut &[u8]) -> Option<Vec<u8>> {
        loop {
            if let Some(item) = &mut self.item {
                if !item.take(bytes) {
                    return None;
                }
                self.items += 1;
                return self.item.take().map(|item| item.text);
            }
            let (&first, rest) = bytes.split_first()?;
            if self.within && self.nesting.depth == 2 && begins_item(first) {
                self.around.push(b'0');
                self.item = Some(Item::new(first));
            } else {
                self.take_around(first);
                *bytes = rest;
            }
        }
    }

    /// The metadata of the list, which has arrived as a whole.
    ///
    /// # Errors
    /// It is no list, or only the beginning of one.
    pub(super) fn finish(self) -> serde_json::Result<ListMeta> {
        let around: ListEnvelope = serde_json::from_slice(&self.around)?;
        if around.items.len() != self.items {
            return Err(serde_json::Error::custom(
                "the items of the list could not be separated",
            ));
        }
        Ok(around.metadata)
    }

    fn take_around(&mut self, byte: u8) {
        let was_in_string = self.nesting.in_string;
        self.nesting.take(byte);
        if self.nesting.in_string && !was_in_string {
            self.string = self.around.len();
        }
        if !was_in_string && !byte.is_ascii_whitespace() {
            let key = self.around.get(self.string..).unwrap_or_default();
            match (byte, self.nesting.depth) {
                (b':', 1) => self.announced = key.trim_ascii() == br#""items""#,
                (b'[', 2) => self.within = self.announced,
                (b']', 1) => (self.within, self.announced) = (false, false),
                (_, 1) => self.announced = false,
                _ => {}
            }
        }
        self.around.push(byte);
    }
}

/// True for the first byte of an item, false for what stands between items.
const fn begins_item(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !matches!(byte, b',' | b']')
}

impl Item {
    fn new(first: u8) -> Self {
        Self {
            text: Vec::new(),
            nesting: Nesting::default(),
            is_bare: !matches!(first, b'{' | b'[' | b'"'),
        }
    }

    /// Takes what of `bytes` belongs to the item; true where it ends.
    fn take(&mut self, bytes: &mut &[u8]) -> bool {
        let end = bytes.iter().position(|byte| self.ends_at(*byte));
        let length = end.map_or(bytes.len(), |at| at + usize::from(!self.is_bare));
        let (own, rest) = bytes.split_at(length);
        self.text.extend_from_slice(own);
        *bytes = rest;
        end.is_some()
    }

    fn ends_at(&mut self, byte: u8) -> bool {
        if self.is_bare {
            return !begins_item(byte);
        }
        self.nesting.take(byte);
        self.nesting.depth == 0 && !self.nesting.in_string
    }
}

impl Nesting {
    const fn take(&mut self, byte: u8) {
        if self.escaped {
            self.escaped = false;
            return;
        }
        match byte {
            b'"' => self.in_string = !self.in_string,
            b'\\' => self.escaped = self.in_string,
            b'{' | b'[' if !self.in_string => self.depth += 1,
            b'}' | b']' if !self.in_string => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// The items and the metadata of a list that arrives in pieces of these (repeated) lengths.
    fn arriving(text: &str, lengths: &[usize]) -> serde_json::Result<(Vec<Value>, ListMeta)> {
        let (mut list, mut items) = (ListText::default(), Vec::new());
        let mut rest = text.as_bytes();
        for length in lengths.iter().cycle() {
            let (mut piece, after) = rest.split_at((*length).min(rest.len()));
            while let Some(item) = list.next_item(&mut piece) {
                items.push(serde_json::from_slice(&item)?);
            }
            assert!(piece.is_empty());
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        Ok((items, list.finish()?))
    }

    const ITEMS: &str = r#"[{"a": "]}\"{[,\\", "items": [1, {"metadata": {}}]} ,{}, [[], {"b": "\\\""}],
        "x,]\"", 50, -1.5e3 , true,null]"#;

    #[test]
    fn items_are_found_wherever_they_stand_and_wherever_the_text_is_cut() {
        let metadata = r#"{"continue": "next \"items\": [", "resourceVersion": "7",
            "items": [{"no": "item"}], "remainingItemCount": 3}"#;
        let items = serde_json::from_str::<Vec<Value>>(ITEMS).unwrap();
        for text in [
            format!(r#"{{"kind": "items", "metadata": {metadata}, "items": {ITEMS}}}"#),
            format!(r#"{{"items":{ITEMS},"metadata":{metadata},"kind":"items"}}"#),
            format!(
                "{{ \"x\": [[1], {{\"items\": [2]}}], \"items\" : \n{ITEMS}\n , \"metadata\" :{metadata} }}\n"
            ),
        ] {
            for length in 1..40 {
                let (found, list) = arriving(&text, &[length]).unwrap();
                assert_eq!(found, items, "{length} {text}");
                assert_eq!(list.resource_version.as_deref(), Some("7"));
                assert_eq!(list.continue_.as_deref(), Some("next \"items\": ["));
            }
        }
    }

    #[test]
    fn a_list_may_be_empty() {
        for text in [
            r#"{"metadata": null, "items": []}"#,
            r#"{"items": null}"#,
            r#"{"items": [ ], "other": [1, 2]}"#,
            r#"{"items": null, "other": [1, 2]}"#,
        ] {
            assert_eq!(arriving(text, &[3]).unwrap().0, [Value::Null; 0], "{text}");
        }
    }

    /// An answer that is no list is none without objects: a picture would be emptied by it.
    #[test]
    fn what_is_no_whole_list_is_refused() {
        let whole = format!(r#"{{"metadata": {{}}, "items": {ITEMS}}}"#);
        for end in 0..whole.len() {
            assert!(arriving(&whole[..end], &[7]).is_err(), "{end}");
        }
        for text in [
            "",
            "{}",
            r#"{"metadata": {}}"#,
            r#"{"kind": "Status", "code": 403}"#,
            r#"{"items": {}}"#,
            r#"{"items": [{} {}]}"#,
            r#"{"items": [{},]}"#,
            r#"{"items": []} {}"#,
            r#"{"items": [{}], "items": [{}]}"#,
            r#"{"\u0069tems": [{}], "items": []}"#,
            r#"{"\u0069tems": [{}]}"#,
            r#"[{"items": []}]"#,
            r#"{"items": [{]}"#,
            r#"{"metadata": 5, "items": []}"#,
        ] {
            let found = arriving(text, &[5]);
            assert!(found.is_err(), "{text}: {found:?}");
        }
    }

    proptest! {
        #[test]
        fn any_items_arrive_as_they_are(
            texts in prop::collection::vec(any::<String>(), 0..6),
            lengths in prop::collection::vec(1_usize..50, 1..6),
        ) {
            let items: Vec<Value> = texts.iter().map(|text| json!({"metadata": {"name": text}, text: [text]})).collect();
            let list = json!({"metadata": {"continue": texts.concat()}, "items": items});
            let (found, metadata) = arriving(&list.to_string(), &lengths).unwrap();
            prop_assert_eq!(found, items);
            prop_assert_eq!(metadata.continue_, Some(texts.concat()));
        }
    }
}
