//! Portrait autoscalers and the results of their jobs, which tenants write. A spec is refused or
//! has rules. A result that can be read makes a portrait with a value of at least zero. Lines: the
//! spec as JSON, then the result's expiry and series.

#![no_main]

use evenkeel_api::ihpa::spec::IhpaSpec;
use evenkeel_api::portrait_data::{ResultData, read_result};
use evenkeel_cron::ScheduleCache;
use evenkeel_scaling::merge::recommendation::Ask;
use evenkeel_scaling::specs::ihpa::{PortraitSource, check};
use evenkeel_scaling::specs::portrait::Portrait;
use evenkeel_scaling::specs::portrait::check::portrait;
use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;

fn is_count_or_nothing(portrait: &Portrait, at: Timestamp) -> bool {
    let (ask, _) = portrait.at(&mut ScheduleCache::default(), at);
    match ask {
        Ask::Exactly(count) => count >= 0,
        Ask::AtLeast { .. } => false,
        Ask::Unavailable(_) => true,
    }
}

fuzz_target!(|text: &str| {
    let mut lines = text.lines();
    let mut line = || lines.next().unwrap_or_default();
    let (spec, expires, series) = (line(), line(), line());
    let at = Timestamp::from_second(1_800_000_000).expect("a time in range");
    if let Ok(spec) = serde_json::from_str::<IhpaSpec>(spec)
        && let Ok(rules) = check(&spec)
    {
        assert_eq!(rules.providers.len(), spec.portrait_providers.len());
        for provider in &rules.providers {
            if let PortraitSource::Portrait(portrait) = &provider.source {
                assert!(is_count_or_nothing(portrait, at), "{text:?}");
            }
        }
    }
    let data = ResultData {
        kind: Some("TimeSeries".to_owned()),
        expire_time: Some(expires.to_owned()),
        time_series: Some(series.to_owned()),
    };
    if let Ok(data) = read_result(&data)
        && let Ok(portrait) = portrait(&data, "data")
    {
        assert!(is_count_or_nothing(&portrait, at), "{text:?}");
    }
});
