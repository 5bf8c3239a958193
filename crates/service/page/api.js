// Requests to the service, and its stream of changes. A stream without an event for 12 seconds counts
// as lost; the service sends one at least every five. The first one may take a minute on a slow link.

import { apply, changed, state } from "./state.js";
import { millis } from "./format.js";

/** Milliseconds without an event after which a stream is lost. */
const EVENT_TIMEOUT = 12000;
/** The same until the first event, which holds everything: up to 10 MB. */
const FIRST_EVENT_TIMEOUT = 60000;
const REQUEST_TIMEOUT = 12000;
const LONGEST_WAIT = 15000;

export class ApiFailure extends Error {}

/** The JSON of a path. */
export async function fetchJson(path, parameters, body) {
  const query = new URLSearchParams(parameters ?? {});
  const address = query.size > 0 ? `${path}?${query}` : path;
  let answer;
  try {
    answer = await fetch(address, {
      method: body === undefined ? "GET" : "POST",
      headers: { accept: "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT),
    });
  } catch {
    throw new ApiFailure("The service does not answer.");
  }
  let content = null;
  try {
    content = await answer.json();
  } catch (error) {
    if (error.name === "TimeoutError") throw new ApiFailure("The service did not answer in time.");
    throw new ApiFailure(`The service answered with status ${answer.status} and no JSON.`);
  }
  if (!answer.ok) throw new ApiFailure(content.error ?? `The service answered with status ${answer.status}.`);
  return content;
}

let source = null;
let watchdog = 0;
let retry = 0;
let failures = 0;

/** Opens the stream, and opens it again whenever it is lost. A hidden page holds no stream. */
export function follow() {
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) close();
    else if (!source) connect();
  });
  if (!document.hidden) connect();
}

export function connect() {
  close();
  const opened = new EventSource("api/v1/stream");
  source = opened;
  link("connecting", null, "");
  watch(FIRST_EVENT_TIMEOUT);
  opened.onmessage = (event) => {
    if (source !== opened) return;
    watch(EVENT_TIMEOUT);
    const change = JSON.parse(event.data);
    failures = 0;
    if (state.link.phase !== "live") link("live", null, "");
    apply(change, millis(change.at));
  };
  opened.onerror = () => {
    if (source === opened) lose("The connection to the service is lost.");
  };
}

function watch(longest) {
  clearTimeout(watchdog);
  watchdog = setTimeout(() => lose(`The service has sent nothing for ${longest / 1000} seconds.`), longest);
}

function close() {
  clearTimeout(watchdog);
  clearTimeout(retry);
  source?.close();
  source = null;
}

async function lose(why) {
  const opened = source?.readyState === EventSource.CLOSED && state.link.phase !== "live";
  close();
  failures += 1;
  const wait = Math.min(LONGEST_WAIT, 1000 * 2 ** (failures - 1));
  retry = setTimeout(connect, wait);
  link("lost", Date.now() + wait, why);
  // A refused stream has no text that a script can read; the service may answer all the same.
  if (opened) {
    try {
      await fetchJson("api/v1");
      if (state.link.phase === "lost") {
        link("lost", state.link.retryAt, "The service answers but refuses the stream. Too many pages may be open.", true);
      }
    } catch {
      // The text before says what is known.
    }
  }
}

function link(phase, retryAt, why, isRefused = false) {
  const since = phase === state.link.phase ? state.link.since : Date.now();
  state.link = { phase, since, retryAt, why, isRefused };
  changed("link");
}
