// The decision about a target as rows: mode, floor, forecast, bounds, and its conditions with what to do.

import advice from './advice.json';
import { excerpt, fields, Fields, json, list, metadata, Row, text, View, whole } from './objects';

/** Conditions that are good news if they are True. */
const GOOD = ['ForecastTrusted', 'WorthEnabling', 'MetricsAvailable', 'TrafficModel', 'AbleToScale', 'ScalingActive'];
/** Conditions that are no news, good or bad. */
const NEUTRAL = ['ScalingLimited', 'ScaledToZero', 'Paused'];
/** The most conditions that are shown; a target can have 40. */
const MOST = 64;

export interface ConditionView {
  type: string;
  status: string;
  reason: string;
  message: string;
  since: string;
  state: 'success' | 'warning' | '';
  /** What to do, where there is something to do. */
  advice?: string;
  /** The heading of docs/troubleshooting.md, for a link. */
  anchor?: string;
}

export interface ScalingView extends View {
  conditions: ConditionView[];
}

/** The decision about the object; `undefined` if Evenkeel has written none. */
export function scalingView(object: unknown): ScalingView | undefined {
  const view: ScalingView = { rows: [], problems: [], conditions: [] };
  const status = json(object, 'scaling-status', view.problems);
  if (status !== undefined) {
    view.rows.push(...decisionRows(status));
    view.conditions = list(status.conditions).slice(0, MOST).flatMap(conditionView);
    if (text(status.mode) === undefined || !Array.isArray(status.conditions)) {
      view.problems.push('evenkeel.dev/scaling-status lacks mode or conditions');
    }
  }
  const bounds = json(object, 'bounds', view.problems);
  if (bounds !== undefined) {
    view.rows.push(...boundRows(bounds));
  }
  return view.rows.length + view.problems.length > 0 ? view : undefined;
}

function decisionRows(status: Fields): Row[] {
  const mode = text(status.mode);
  const rows: [string, string | undefined][] = [
    ['Mode', mode && excerpt(mode)],
    [mode === 'floor' ? 'Floor (minReplicas)' : 'Decided replicas', whole(status.replicas)?.toString()],
    ['Limited by', short(status.limitedBy)],
    ['Reason', text(status.reason) && excerpt(String(status.reason), 1000)],
    ['Forecast model', short(status.model)],
    ['Horizon', horizon(status)],
  ];
  return rows.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]));
}

function short(value: unknown): string | undefined {
  const known = text(value);
  return known && excerpt(known);
}

/** "95 s: age 15, half window 30, sync 15, tick 15, start-up 20". */
function horizon(status: Fields): string | undefined {
  const seconds = whole(status.horizonSeconds);
  if (seconds === undefined) {
    return undefined;
  }
  const parts = fields(status.horizonParts);
  const names = { age: 'age', halfWindow: 'half window', sync: 'sync', tick: 'tick', startUp: 'start-up', nodeStartUp: 'node' };
  const known = Object.entries(names).flatMap(([key, name]) => {
    const part = whole(parts[key]);
    return part === undefined ? [] : [`${name} ${part}`];
  });
  return known.length > 0 ? `${seconds} s: ${known.join(', ')}` : `${seconds} s`;
}

function boundRows(bounds: Fields): Row[] {
  const user = fields(bounds.user);
  const rows: Row[] = [];
  const range = boundsText(user);
  if (range !== undefined) {
    rows.push({ name: 'Your own bounds', value: range });
  }
  for (const [name, value] of Object.entries(fields(bounds.contributions)).slice(0, 16)) {
    const until = text(fields(value).until);
    const title = name === 'prediction' ? 'Set by the forecast' : `Set by ${excerpt(name)}`;
    const asked = boundsText(fields(value));
    if (asked !== undefined) {
      rows.push({ name: title, value: until === undefined ? asked : `${asked}, until ${excerpt(until, 40)}` });
    }
  }
  if (bounds.contested === true) {
    rows.push({ name: 'Contested', value: 'another writer reverts the bounds' });
  }
  return rows;
}

function boundsText(bounds: Fields): string | undefined {
  const parts = [
    ['minReplicas', whole(bounds.min)],
    ['maxReplicas', whole(bounds.max)],
  ].flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`]));
  return parts.length > 0 ? parts.join(', ') : undefined;
}

function conditionView(item: unknown): ConditionView[] {
  const condition = fields(item);
  const [type, status] = [text(condition.type), text(condition.status)];
  if (type === undefined || status === undefined) {
    return [];
  }
  const reason = text(condition.reason) ?? '';
  const known: Record<string, string> = advice;
  // Only a problem needs advice; the reason is more exact than the type.
  const state = conditionState(type, status);
  const key = state === 'warning' ? [reason, type].find(one => Object.hasOwn(known, one)) : undefined;
  return [
    {
      type: excerpt(type, 60),
      status: excerpt(status, 20),
      reason: excerpt(reason, 60),
      message: excerpt(text(condition.message) ?? '', 1000),
      since: excerpt(text(condition.lastTransitionTime) ?? '', 40),
      state,
      ...(key && { advice: known[key], anchor: key.toLowerCase() }),
    },
  ];
}

/** `WorthEnabling` is an answer, so False is no problem. */
function conditionState(type: string, status: string): ConditionView['state'] {
  if (NEUTRAL.includes(type) || status === 'Unknown') {
    return '';
  }
  if (GOOD.includes(type)) {
    return status === 'True' ? 'success' : type === 'WorthEnabling' ? '' : 'warning';
  }
  return status === 'True' ? 'warning' : '';
}

/** The mode and the floor in a cell of a list. */
export function scalingCell(object: unknown): string {
  const status = json(object, 'scaling-status', []);
  const mode = text(status?.mode);
  const replicas = whole(status?.replicas);
  return mode === undefined ? '' : excerpt(replicas === undefined ? mode : `${mode}: ${replicas}`, 40);
}

type Workload = { group: string; kind: string; name: string };

/** The workload that the object scales, or the object itself. */
export function workload(object: unknown): Workload | undefined {
  const own = fields(object);
  const target = fields(fields(own.spec).scaleTargetRef);
  // KEDA's reference may have a name only, and is to a Deployment then.
  const [apiVersion, kind, name] = text(target.name)
    ? [text(target.apiVersion) ?? 'apps/v1', text(target.kind) ?? 'Deployment', text(target.name)]
    : [text(own.apiVersion) ?? '', text(own.kind), text(metadata(own).name)];
  const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : '';
  return kind && name ? { group, kind, name } : undefined;
}

/** The paths at which the load of a workload is asked for. Each API is there only if it is installed. */
export function loadPaths(namespace: string | undefined, target: Workload | undefined) {
  if (namespace === undefined || target === undefined) {
    return undefined;
  }
  const selector = encodeURIComponent(`kind=${target.kind},name=${target.name}`);
  const space = encodeURIComponent(namespace);
  const query = new URLSearchParams({ ...target, resource: 'cpu' });
  return {
    expected: `/apis/external.metrics.k8s.io/v1beta1/namespaces/${space}/evenkeel-expected-load?labelSelector=${selector}`,
    series: `/apis/metrics.evenkeel.dev/v1alpha1/namespaces/${space}/series/workload-resource?${query}`,
  };
}

/** The expected load of each signal, from an ExternalMetricValueList. */
export function expectedRows(answer: unknown): Row[] {
  return list(fields(answer).items).slice(0, MOST).map(item => {
    const { metricLabels, value } = fields(item);
    const labels = fields(metricLabels);
    const basis = text(labels.basis) === 'forecast' ? 'forecast' : 'measured';
    const shown = typeof value === 'string' || typeof value === 'number' ? excerpt(String(value), 40) : 'unknown';
    return { name: `Expected ${excerpt(text(labels.signal) ?? 'load')}`, value: `${shown} (${basis})` };
  });
}

/** The CPU that the workload uses now, from a SeriesList. */
export function usageRows(answer: unknown): Row[] {
  const { items, unit } = fields(answer);
  const points = list(fields(list(items)[0]).points);
  const last = fields(points[points.length - 1]).value;
  if (typeof last !== 'number') {
    return [];
  }
  return [{ name: 'CPU in use', value: `${Number(last.toFixed(3))} ${short(unit) ?? ''}`.trim() }];
}
