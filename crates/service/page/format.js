// Figures, amounts and times as texts.

export const RESOURCES = ["cpu", "memory", "networkIo", "diskIo", "disk"];

export const TITLES = {
  cpu: "CPU", memory: "Memory", networkIo: "Network", diskIo: "Disk I/O", disk: "Disk",
};

export function title(resource) {
  return TITLES[resource] ?? resource;
}

const UNITS = { cpu: "millicores", memory: "bytes", networkIo: "bytes/s", diskIo: "bytes/s", disk: "bytes" };

export const NONE = "–";

export function number(value, digits = 1) {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

export function percent(ratio, digits = 0) {
  return ratio === null || ratio === undefined || !Number.isFinite(ratio)
    ? NONE : `${(ratio * 100).toFixed(digits)} %`;
}

/** An amount in a base unit: `millicores`, `bytes`, `bytes/s`, or a plain count. */
export function amount(value, unit) {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  if (unit === "millicores") return `${number(value / 1000, value < 10000 ? 2 : 1)} cores`;
  if (unit === "bytes" || unit === "bytes/s") {
    const steps = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    const step = value < 1 ? 0 : Math.min(steps.length - 1, Math.floor(Math.log2(value) / 10));
    return `${number(value / 1024 ** step, step === 0 ? 0 : 1)} ${steps[step]}${unit === "bytes/s" ? "/s" : ""}`;
  }
  return number(value, 2);
}

export function resourceAmount(value, resource) {
  return amount(value, UNITS[resource] ?? "");
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", {
  weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit",
});

/** Milliseconds of a timestamp; the service writes up to nanoseconds. */
export function millis(time) {
  return time ? Date.parse(time.replace(/(\.\d{3})\d+/, "$1")) : NaN;
}

export function timeOfDay(time) {
  const at = typeof time === "number" ? time : millis(time);
  return Number.isFinite(at) ? clock.format(at) : NONE;
}

export function dayAndTime(time) {
  const at = millis(time);
  return Number.isFinite(at) ? day.format(at) : NONE;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return NONE;
  const whole = Math.round(Math.abs(seconds));
  if (whole < 120) return `${whole} s`;
  if (whole < 7200) return `${Math.round(whole / 60)} min`;
  if (whole < 172800) return `${Math.floor(whole / 3600)} h ${Math.round((whole % 3600) / 60)} min`;
  return `${Math.round(whole / 86400)} days`;
}

/** The time between a timestamp and now, such as `in 5 min` or `3 s ago`. */
export function distance(time, now) {
  const seconds = (millis(time) - now) / 1000;
  if (!Number.isFinite(seconds)) return NONE;
  if (Math.abs(seconds) < 1) return "now";
  return seconds >= 0 ? `in ${duration(seconds)}` : `${duration(seconds)} ago`;
}

export function count(amountOf, one, many) {
  return `${number(amountOf, 0)} ${amountOf === 1 ? one : many}`;
}

export function words(name) {
  const text = String(name).replace(/([a-z0-9])([A-Z])/g, "$1 $2");
  return text.charAt(0).toUpperCase() + text.slice(1).toLowerCase();
}
