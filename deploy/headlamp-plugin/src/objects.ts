// What Evenkeel writes on objects, read with care: any user who may write an object can write its annotations.
// Each reader returns text for the screen, and a problem in words where a value cannot be read.

const PREFIX = 'evenkeel.dev/';

/** The longest annotation that is read, in characters. Evenkeel writes no status above 32 KiB. */
const LONGEST = 32 * 1024;
/** The longest text of a value that is shown. */
const SHOWN = 200;

export type Fields = Record<string, unknown>;

export interface Row {
  name: string;
  value: string;
}

export interface View {
  rows: Row[];
  /** Values that are not as Evenkeel writes or accepts them. */
  problems: string[];
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The fields of an object, and none of anything else. */
export function fields(value: unknown): Fields {
  return isObject(value) ? value : {};
}

export function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function whole(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined;
}

/** The value without control characters, cut to what a row can hold. */
export function excerpt(value: string, most = SHOWN): string {
  const plain = value.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g, ' ');
  return plain.length > most ? `${plain.slice(0, most)}…` : plain;
}

export function metadata(object: unknown): Fields {
  return fields(fields(object).metadata);
}

/** The annotation `evenkeel.dev/NAME`. */
export function annotation(object: unknown, name: string): string | undefined {
  return text(fields(metadata(object).annotations)[PREFIX + name]);
}

/** The annotation `evenkeel.dev/NAME` as JSON: `undefined` if it is absent or cannot be read. */
export function json(object: unknown, name: string, problems: string[]): Fields | undefined {
  const written = annotation(object, name);
  if (written === undefined) {
    return undefined;
  }
  if (written.length > LONGEST) {
    problems.push(`${PREFIX}${name} has ${written.length} characters; at most ${LONGEST} are read`);
    return undefined;
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(written);
  } catch {
    // It stays undefined, and the problem below says so.
  }
  if (isObject(parsed)) {
    return parsed;
  }
  problems.push(`${PREFIX}${name} is not a JSON object: ${excerpt(written, 60)}`);
  return undefined;
}

/** Rows of those annotations that are set, as they are written. */
export function written(object: unknown, names: [annotation: string, title: string][]): Row[] {
  return names.flatMap(([name, title]) => {
    const value = annotation(object, name);
    return value === undefined ? [] : [{ name: title, value: excerpt(value) }];
  });
}
