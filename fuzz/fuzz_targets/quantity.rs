//! Quantities and rates: what parses prints as a text that parses to the same.

#![no_main]

use evenkeel_quantity::Quantity;
use evenkeel_units::BytesPerSecond;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(quantity) = text.parse::<Quantity>() {
        assert_eq!(quantity.to_string().parse(), Ok(quantity), "{text:?}");
    }
    if let Ok(rate) = text.parse::<BytesPerSecond>() {
        assert_eq!(rate.to_string().parse(), Ok(rate), "{text:?}");
    }
});
