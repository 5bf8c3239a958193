//! One source file as the checks need it: its module, and every path that it names outside of tests.

use std::collections::HashMap;

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Macro, Path, UseTree, Visibility};

/// A path in its parts, as it is written.
pub(crate) type Names = Vec<String>;

/// A source file.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// The path from the workspace's root.
    pub(crate) path: String,
    /// The module that the file is, from the crate's name on.
    pub(crate) module: Names,
    /// True if it begins with a `//!`.
    pub(crate) has_header: bool,
    /// Lines before the unit tests.
    pub(crate) lines: usize,
    /// Names that a `use` hands on, with the path of each; `*` for a glob.
    pub(crate) handed_on: Vec<(String, Names)>,
    /// Names that a private `use` brings in, with the path of each.
    pub(crate) brought_in: HashMap<String, Names>,
    /// Names of the types that the file defines.
    pub(crate) types: Vec<String>,
    /// Every path that is named: by a private `use`, or in code with two parts or more.
    pub(crate) named: Vec<Names>,
}

impl Source {
    /// Reads the file at `path`, which is `inner` below the sources of `crate_name`.
    pub(crate) fn read(crate_name: &str, path: &str, inner: &str, text: &str) -> Self {
        let mut module = vec![crate_name.to_owned()];
        let inner = inner.strip_suffix(".rs").unwrap_or(inner);
        if inner != "lib" {
            module.extend(inner.split('/').map(ToOwned::to_owned));
        }
        let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut source = Self {
            path: path.to_owned(),
            module,
            has_header: text.starts_with("//!"),
            lines: lines_before_tests(text),
            ..Self::default()
        };
        source.visit_file(&parsed);
        source
    }

    fn take_use(&mut self, item: &ItemUse) {
        let mut leaves = Vec::new();
        spread(&item.tree, &mut Vec::new(), &mut leaves);
        let private = matches!(item.vis, Visibility::Inherited);
        for (name, path) in leaves {
            if private {
                self.named.push(path.clone());
                self.brought_in.insert(name, path);
            } else {
                self.handed_on.push((name, path));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Source {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) {
            self.types.extend(type_name(item));
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.take_use(item);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        // Paths in an inline module are one `super` away from the file's; only tests have such here.
        visit::visit_item_mod(self, item);
    }

    fn visit_path(&mut self, path: &'ast Path) {
        if path.segments.len() > 1 {
            let parts = path.segments.iter().map(|part| part.ident.to_string());
            self.named.push(parts.collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        // Arguments of `format!`, `json!` and their like are expressions in their greater part.
        tokens(&called.tokens.to_string(), &mut self.named);
        self.types.extend(declared(&called.tokens.to_string()));
        visit::visit_macro(self, called);
    }
}

/// The structs that a table such as `families!` declares.
fn declared(text: &str) -> Vec<String> {
    let parts = text.split("struct ").skip(1);
    let names = parts.filter_map(|part| part.split_whitespace().next());
    let names = names.filter(|name| name.starts_with(char::is_uppercase));
    names.map(ToOwned::to_owned).collect()
}

/// The paths in the text of a macro's arguments, as `quote` prints it: `a :: b :: c`.
fn tokens(text: &str, named: &mut Vec<Names>) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_name = |word: &str| {
        word.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && word.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    let mut at = 0;
    while at < words.len() {
        let mut path: Names = Vec::new();
        while at < words.len() && is_name(words[at]) {
            path.push(words[at].to_owned());
            if words.get(at + 1) != Some(&"::") {
                break;
            }
            at += 2;
        }
        if path.len() > 1 {
            named.push(path);
        }
        at += 1;
    }
}

/// Every leaf of a `use`: the name that it has here, and its path.
fn spread(tree: &UseTree, prefix: &mut Names, leaves: &mut Vec<(String, Names)>) {
    let leaf = |name: String, last: Option<String>, prefix: &Names| {
        let mut path = prefix.clone();
        path.extend(last);
        (name, path)
    };
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            spread(&path.tree, prefix, leaves);
            prefix.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                spread(tree, prefix, leaves);
            }
        }
        UseTree::Glob(_) => leaves.push(leaf("*".to_owned(), Some("*".to_owned()), prefix)),
        UseTree::Name(name) if name.ident == "self" => {
            leaves.push(leaf(
                prefix.last().cloned().unwrap_or_default(),
                None,
                prefix,
            ));
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            leaves.push(leaf(name.clone(), Some(name), prefix));
        }
        UseTree::Rename(renamed) => {
            let last = Some(renamed.ident.to_string()).filter(|ident| ident != "self");
            leaves.push(leaf(renamed.rename.to_string(), last, prefix));
        }
    }
}

/// Lines before the unit tests that stand in the file.
fn lines_before_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let begins = lines.windows(2).position(|two| {
        two[0] == "#[cfg(test)]" && two[1].starts_with("mod ") && two[1].ends_with('{')
    });
    begins.unwrap_or(lines.len())
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let list = attribute.meta.require_list();
        attribute.path().is_ident("test")
            || (attribute.path().is_ident("cfg")
                && list.is_ok_and(|list| list.tokens.to_string() == "test"))
    })
}

/// The name of the type that an item defines.
fn type_name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Enum(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Macro(item) if item.mac.path.is_ident("words") => return enum_name(&item.mac),
        _ => return None,
    };
    Some(name.to_string())
}

/// The name of the enum that `words!` makes.
fn enum_name(called: &Macro) -> Option<String> {
    let text = called.tokens.to_string();
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut heads = words
        .windows(3)
        .filter(|word| (word[0], word[2]) == ("enum", "{"));
    heads.next().map(|head| head[1].to_owned())
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
