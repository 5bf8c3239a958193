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

/** In place of a list, until the service has sent one. */
export const UNKNOWN = "Nothing is known yet.";

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
  if (unit === "millicores") {
    const cores = number(value / 1000, value < 10000 ? 2 : 1);
    return `${cores} ${cores === "1" ? "core" : "cores"}`;
  }
  // Memory and disks are counted in powers of 1024, transfers in powers of 1000, as the command line does.
  if (unit === "bytes") return scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
  if (unit === "bytes/s") return scaled(value, 1000, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]);
  return number(value, 2);
}

/** A value in the largest unit of which there is at least one after rounding. */
function scaled(value, base, units) {
  const round = (step) => {
    const rest = value / base ** step;
    return step === 0 || rest >= 99.95 ? Math.round(rest) : Math.round(rest * 10) / 10;
  };
  let step = 0;
  while (step < units.length - 1 && round(step) >= base) step += 1;
  return `${number(round(step))} ${units[step]}`;
}

export function resourceAmount(value, resource) {
  return amount(value, UNITS[resource] ?? "");
}

/** The zone in which the browser shows times. */
export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

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
  // The rounded minutes decide on the unit, so that no part is rounded up to 60.
  const minutes = Math.round(whole / 60);
  if (minutes < 120) return `${minutes} min`;
  if (minutes >= 2880) return `${Math.round(whole / 86400)} days`;
  return `${Math.floor(minutes / 60)} h${minutes % 60 > 0 ? ` ${minutes % 60} min` : ""}`;
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

/** A text that begins with a capital letter and ends with a full stop. */
export function sentence(text) {
  return text && text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}

export function words(name) {
  const text = String(name).replace(/([a-z0-9])([A-Z])/g, "$1 $2");
  return text.charAt(0).toUpperCase() + text.slice(1).toLowerCase();
}
