//! Aliyun's CronHorizontalPodAutoscaler, `autoscaling.alibabacloud.com/v1beta1`.

use evenkeel_api::cron_hpa::spec::{CronHpaSpec, CronRule};
use jiff::civil::DateTime;
use jiff::{SignedDuration, tz};
use serde_json::Value;

use super::conversion::{
    Circumstances, ConvertedManifest, CronHpaConversion, MigrateError, PUT_BACK,
};
use super::document::ManifestFields;

pub(super) fn convert(
    document: &Value,
    circumstances: &Circumstances<'_>,
) -> Result<ConvertedManifest, MigrateError> {
    let known = ["scaleTargetRef", "excludeDates", "jobs"];
    let spec = ManifestFields::new("spec", &document["spec"], &known)?;
    let target = spec.reference("scaleTargetRef")?;
    let has_run = |job: &Value| {
        let conditions = document["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|condition| {
            let is_over = matches!(condition["state"].as_str(), Some("Succeed" | "Failed"));
            is_over && condition["name"] == job["name"] && condition["schedule"] == job["schedule"]
        })
    };
    let jobs = spec.list("jobs")?.iter().enumerate();
    let jobs = jobs.map(|(place, job)| {
        let path = spec.at(&format!("jobs[{place}]"));
        let rule = cron(&path, job, circumstances)?;
        if rule.run_once == Some(true) && has_run(job) {
            let message = "runs once, and its status says that it has run; leave the job out";
            return Err(MigrateError::new(path, message));
        }
        Ok(rule)
    });
    let days = spec.list("excludeDates")?.iter().map(|day| {
        let text = day.as_str().map(six_fields);
        text.ok_or_else(|| {
            MigrateError::new(spec.at("excludeDates"), "has values that are not text")
        })
    });
    let exclude_dates: Vec<String> = days.collect::<Result<_, _>>()?;
    let mut notes = vec![PUT_BACK.to_owned()];
    if !exclude_dates.is_empty() {
        notes.push(
            "excluded days are whole days of the calendar; Aliyun's controller compares the month and \
             the hour of a run"
                .to_owned(),
        );
    }
    let converted = CronHpaConversion {
        spec: CronHpaSpec {
            scale_target_ref: target
                .ok_or_else(|| MigrateError::new(spec.at("scaleTargetRef"), "is missing"))?,
            crons: jobs.collect::<Result<_, _>>()?,
            exclude_dates,
            ..CronHpaSpec::default()
        },
        notes,
    };
    converted
        .with_zone(circumstances, "Aliyun")
        .finish(document)
}

fn cron(
    path: &str,
    job: &Value,
    circumstances: &Circumstances<'_>,
) -> Result<CronRule, MigrateError> {
    let job = ManifestFields::new(path, job, &["name", "schedule", "targetSize", "runOnce"])?;
    let written = job.required("schedule")?;
    let target = job.count("targetSize")?;
    let target = target.ok_or_else(|| MigrateError::new(job.at("targetSize"), "is missing"))?;
    let (schedule, is_date) = match written.trim().split_once(char::is_whitespace) {
        Some(("@date", date)) => (on_date(&job, date.trim(), circumstances)?, true),
        Some(("@every", _)) => {
            let message = "@every counts from the start of the controller, which a CronHPA does \
                           not have; accepted: a schedule such as \"0 */10 * * * *\"";
            return Err(MigrateError::new(job.at("schedule"), message));
        }
        _ => (six_fields(&written), false),
    };
    Ok(CronRule {
        name: Some(job.required("name")?),
        schedule: Some(schedule),
        target: Some(target),
        run_once: job.flag("runOnce")?.or(is_date.then_some(true)),
        ..CronRule::default()
    })
}

/// A schedule of Aliyun's controller as one of Evenkeel's. Aliyun has six fields with seconds
/// first, and the day of week may be missing; Evenkeel reads five as without seconds. A field with
/// `*` among its parts, also with a step, restricts together with the other one (robfig/cron from
/// version 3 differs): that is a `+` here.
fn six_fields(text: &str) -> String {
    let mut fields: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    if fields.len() == 5 && !text.trim_start().starts_with('@') {
        fields.push("*".to_owned());
    }
    let [_, _, _, day, _, weekday] = &mut fields[..] else {
        return text.to_owned();
    };
    let has_star = |field: &str| {
        let mut parts = field.split(',');
        parts.any(|part| part.starts_with(['*', '?']))
    };
    let restricts = |field: &str| !matches!(field, "*" | "?");
    if restricts(day) && restricts(weekday) && (has_star(day) || has_star(weekday)) {
        weekday.insert(0, '+');
    }
    fields.join(" ")
}

/// The schedule of a run at one date, which comes again every year but for `runOnce`.
fn on_date(
    job: &ManifestFields<'_>,
    date: &str,
    circumstances: &Circumstances<'_>,
) -> Result<String, MigrateError> {
    let refused = |message: String| MigrateError::new(job.at("schedule"), message);
    let at: DateTime = date.parse().map_err(|_| {
        refused(format!(
            "{date:?} is not a date such as 2026-10-27 21:54:00"
        ))
    })?;
    // A day more than any zone is away from another.
    let far = at
        .to_zoned(tz::TimeZone::UTC)
        .map_err(|error| refused(error.to_string()))?;
    let ahead = far.timestamp().duration_since(circumstances.now);
    if ahead < SignedDuration::from_hours(-24) {
        return Err(refused(format!("{date} has passed; leave the job out")));
    }
    if ahead > SignedDuration::from_hours(24 * 364) {
        let message = format!("{date} is at least a year away, and schedules have no years");
        return Err(refused(message));
    }
    Ok(format!(
        "{} {} {} {} {} *",
        at.second(),
        at.minute(),
        at.hour(),
        at.day(),
        at.month()
    ))
}
