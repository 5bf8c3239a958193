//! The PromQL that people and Evenkeel use with the simulated Prometheus: numbers, series with
//! matchers, functions over a range, aggregations, arithmetic, `>`, `<` and `or`.

use regex_lite::Regex;

#[derive(Debug, Clone)]
pub(super) enum Expression {
    Number(f64),
    /// `vector(1)` or `timestamp(x)`.
    Call(Function, Box<Expression>),
    /// `time()`.
    Time,
    Series(Selector),
    Aggregate {
        by: Vec<String>,
        operator: Aggregation,
        of: Box<Expression>,
    },
    Binary(Box<Expression>, PromQlOperator, Box<Expression>),
    /// `left and on (labels) right`.
    And {
        left: Box<Expression>,
        on: Vec<String>,
        right: Box<Expression>,
    },
    /// `last_over_time((x)[1s:1s] offset T)`, of which only the labels are right: the values are newer.
    Before(Box<Expression>, f64),
}

/// With a function over the newest samples.
#[derive(Debug, Clone)]
pub(super) struct Selector {
    pub(super) name: String,
    pub(super) matchers: Vec<Matcher>,
    /// With the range in seconds.
    pub(super) over: Option<(RangeFunction, f64)>,
}

#[derive(Debug, Clone)]
pub(super) struct Matcher {
    label: String,
    /// Anchored at both ends.
    value: Regex,
    equal: bool,
}

impl Matcher {
    /// A series without the label has an empty value.
    pub(super) fn accepts<'v>(&self, value: impl Fn(&str) -> Option<&'v str>) -> bool {
        self.value.is_match(value(&self.label).unwrap_or("")) == self.equal
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Vector,
    Timestamp,
}

/// Applied to the samples of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RangeFunction {
    /// Growth of a counter per second.
    Rate,
    /// Growth of a counter in the range.
    Increase,
    /// Newest value of a gauge.
    Newest,
    /// Aggregate of a gauge's values in the range.
    Values(Aggregation),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aggregation {
    Sum,
    Avg,
    Min,
    Max,
    Count,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromQlOperator {
    Or,
    Greater,
    Less,
    Plus,
    Minus,
    Times,
    By,
}

impl PromQlOperator {
    const ALL: [(&'static str, Self, u8); 7] = [
        ("or ", Self::Or, 0),
        (">", Self::Greater, 1),
        ("<", Self::Less, 1),
        ("+", Self::Plus, 2),
        ("-", Self::Minus, 2),
        ("*", Self::Times, 3),
        ("/", Self::By, 3),
    ];

    /// Drops series, and changes no value.
    pub(super) const fn compares(self) -> bool {
        matches!(self, Self::Greater | Self::Less)
    }
}

impl Expression {
    pub(super) fn names(&self) -> Vec<&str> {
        match self {
            Self::Number(_) | Self::Time => Vec::new(),
            Self::Series(selector) => vec![&selector.name],
            Self::Call(_, of) | Self::Aggregate { of, .. } | Self::Before(of, _) => of.names(),
            Self::Binary(left, _, right) | Self::And { left, right, .. } => {
                [left.names(), right.names()].concat()
            }
        }
    }
}

/// The error has the unknown part.
pub(super) fn parse(text: &str) -> Result<Expression, String> {
    let mut parser = Parser {
        rest: text,
        parts: 0,
    };
    let found = parser.binary(0)?;
    parser.blank();
    match parser.rest {
        "" => Ok(found),
        rest => Err(format!("{:?} is not known here", short(rest))),
    }
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Most parts of a query, nested or in sequence: each takes its share of the stack.
const MOST_PARTS: usize = 64;

struct Parser<'t> {
    rest: &'t str,
    /// Operands that have begun, including parentheses and calls.
    parts: usize,
}

impl<'t> Parser<'t> {
    fn blank(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, word: &str) -> bool {
        self.blank();
        let rest = self.rest.strip_prefix(word);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, word: &str) -> Result<(), String> {
        if self.take(word) {
            return Ok(());
        }
        Err(format!("{word:?} is missing before {:?}", short(self.rest)))
    }

    /// The longest prefix of such characters.
    fn while_is(&mut self, is: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|one| !is(one)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn word(&mut self) -> &'t str {
        self.blank();
        self.while_is(|one| one.is_ascii_alphanumeric() || "_:".contains(one))
    }

    fn binary(&mut self, least: u8) -> Result<Expression, String> {
        let mut left = self.operand()?;
        loop {
            self.blank();
            if least == 0 && self.take("and on ") {
                let on = self.labels()?;
                let right = Box::new(self.operand()?);
                let left_side = Box::new(left);
                left = Expression::And {
                    left: left_side,
                    on,
                    right,
                };
                continue;
            }
            let known = PromQlOperator::ALL.into_iter();
            let next = known
                .filter(|(word, ..)| self.rest.starts_with(word))
                .find(|(.., rank)| *rank >= least);
            let Some((word, operator, rank)) = next else {
                return Ok(left);
            };
            self.expect(word)?;
            let right = self.binary(rank + 1)?;
            left = Expression::Binary(Box::new(left), operator, Box::new(right));
        }
    }

    fn operand(&mut self) -> Result<Expression, String> {
        if self.parts == MOST_PARTS {
            return Err(format!(
                "it has more than {MOST_PARTS} parts, one within or after another"
            ));
        }
        self.parts += 1;
        if self.take("(") {
            let inner = self.binary(0)?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.rest.starts_with(|one: char| one.is_ascii_digit()) {
            let digits = self.while_is(|one| one.is_ascii_digit() || ".e".contains(one));
            let number = digits.parse();
            return number
                .map(Expression::Number)
                .map_err(|_| format!("{digits} is no number"));
        }
        let word = self.word();
        if let Some(operator) = aggregation(word) {
            return self.aggregate(operator);
        }
        if let Some(over) = over(word) {
            self.expect("(")?;
            if over == RangeFunction::Newest && self.rest.starts_with('(') {
                return self.before();
            }
            let mut selector = self.selector()?;
            self.expect("[")?;
            selector.over = Some((over, self.seconds()?));
            self.expect("]")?;
            self.expect(")")?;
            return Ok(Expression::Series(selector));
        }
        match word {
            "time" => {
                self.expect("(")?;
                self.expect(")")?;
                Ok(Expression::Time)
            }
            "vector" => self.call(Function::Vector),
            "timestamp" => self.call(Function::Timestamp),
            name => self.series(name).map(Expression::Series),
        }
    }

    fn before(&mut self) -> Result<Expression, String> {
        let of = Box::new(self.operand()?);
        self.expect("[1s:1s] offset ")?;
        let seconds = self.seconds()?;
        self.expect(")")?;
        Ok(Expression::Before(of, seconds))
    }

    fn call(&mut self, function: Function) -> Result<Expression, String> {
        self.expect("(")?;
        let inner = self.binary(0)?;
        self.expect(")")?;
        Ok(Expression::Call(function, Box::new(inner)))
    }

    fn aggregate(&mut self, operator: Aggregation) -> Result<Expression, String> {
        let mut by = self.by()?;
        self.expect("(")?;
        let of = Box::new(self.binary(0)?);
        self.expect(")")?;
        if by.is_empty() {
            by = self.by()?;
        }
        Ok(Expression::Aggregate { by, operator, of })
    }

    fn by(&mut self) -> Result<Vec<String>, String> {
        if self.take("by") {
            return self.labels();
        }
        Ok(Vec::new())
    }

    fn labels(&mut self) -> Result<Vec<String>, String> {
        let mut labels = Vec::new();
        self.expect("(")?;
        while !self.take(")") {
            labels.push(self.word().to_owned());
            if !self.rest.trim_start().starts_with(')') {
                self.expect(",")?;
            }
        }
        Ok(labels)
    }

    fn selector(&mut self) -> Result<Selector, String> {
        let name = self.word();
        self.series(name)
    }

    fn series(&mut self, name: &str) -> Result<Selector, String> {
        if name.is_empty() || self.rest.trim_start().starts_with('(') {
            return Err(format!(
                "{:?} is not known here",
                short(&format!("{name}{}", self.rest))
            ));
        }
        let mut matchers = Vec::new();
        if self.take("{") {
            while !self.take("}") {
                matchers.push(self.matcher()?);
                if !self.rest.trim_start().starts_with('}') {
                    self.expect(",")?;
                }
            }
        }
        Ok(Selector {
            name: name.to_owned(),
            matchers,
            over: None,
        })
    }

    fn matcher(&mut self) -> Result<Matcher, String> {
        let label = self.word().to_owned();
        self.blank();
        let kind = self.while_is(|one| "=!~".contains(one));
        self.expect("\"")?;
        let value = self.while_is(|one| one != '"').replace("\\\\", "\\");
        self.expect("\"")?;
        let pattern = match kind {
            "=" | "!=" => regex_lite::escape(&value),
            "=~" | "!~" => value,
            other => return Err(format!("{other:?} is no way to match a label")),
        };
        let value = Regex::new(&format!("^(?:{pattern})$"));
        Ok(Matcher {
            label,
            value: value.map_err(|error| error.to_string())?,
            equal: kind.starts_with('='),
        })
    }

    fn seconds(&mut self) -> Result<f64, String> {
        let mut sum = 0.0;
        while !self.rest.starts_with([']', ')']) {
            let digits = self.while_is(|one| one.is_ascii_digit());
            let unit = self.while_is(|one| one.is_ascii_alphabetic());
            let number: f64 = digits
                .parse()
                .map_err(|_| "a range is missing".to_owned())?;
            sum += number
                * match unit {
                    "ms" => 0.001,
                    "s" => 1.0,
                    "m" => 60.0,
                    "h" => 3600.0,
                    "d" => 86_400.0,
                    other => return Err(format!("{other:?} is no unit of time")),
                };
        }
        Ok(sum)
    }
}

fn aggregation(word: &str) -> Option<Aggregation> {
    Some(match word {
        "sum" => Aggregation::Sum,
        "avg" => Aggregation::Avg,
        "min" => Aggregation::Min,
        "max" => Aggregation::Max,
        "count" => Aggregation::Count,
        _ => return None,
    })
}

fn over(word: &str) -> Option<RangeFunction> {
    Some(match word {
        "rate" | "irate" => RangeFunction::Rate,
        "increase" => RangeFunction::Increase,
        "last_over_time" => RangeFunction::Newest,
        "avg_over_time" => RangeFunction::Values(Aggregation::Avg),
        "max_over_time" => RangeFunction::Values(Aggregation::Max),
        "min_over_time" => RangeFunction::Values(Aggregation::Min),
        _ => return None,
    })
}
