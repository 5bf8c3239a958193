// Pods, nodes and namespaces as rows: profile, demand, score labels, taint, opt-in.

import { annotation, excerpt, fields, Fields, json, list, metadata, Row, text, View, whole, written } from './objects';

const SCORE_LABEL_PREFIX = 'score.evenkeel.dev/';

const LEVELS = [
  'no headroom',
  'headroom for one Pod, or a score more than 15 points worse than the best quarter',
  'headroom for two Pods, or a score in the third quarter or up to 15 points worse than the best',
  'headroom for three Pods, or a score in the second quarter or up to 10 points worse than the best',
  'headroom for four Pods, and a score in the best quarter or almost as good',
];

const SOURCES: Record<string, string> = {
  declared: 'declared: set on the Pod',
  requests: 'requests: from its requests and annotations',
};

type Unit = 'cores' | 'bytes' | 'rate';

const RESOURCES: [field: string, title: string, unit: Unit][] = [
  ['cpu', 'CPU', 'cores'],
  ['memory', 'Memory', 'bytes'],
  ['networkIo', 'Network I/O', 'rate'],
  ['diskIo', 'Disk I/O', 'rate'],
  ['disk', 'Local storage', 'bytes'],
];

/** An amount in millicores, bytes or bytes per second. */
function amount(value: number, unit: Unit): string {
  if (unit === 'cores') {
    return value % 1000 === 0 ? `${value / 1000} cores` : `${value}m`;
  }
  let [shown, power] = [value, 0];
  for (; shown >= 1024 && power < 6; power += 1) {
    shown /= 1024;
  }
  const suffix = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'][power];
  return `${Number(shown.toFixed(1))} ${suffix}${unit === 'rate' ? '/s' : ''}`;
}

/** The Pod's profile and demand; `undefined` if Evenkeel has written nothing on it. */
export function podView(pod: unknown): View | undefined {
  const view: View = { rows: [], problems: [] };
  const profile = annotation(pod, 'profile');
  if (profile !== undefined) {
    view.rows.push({ name: 'Profile', value: excerpt(profile) });
  }
  const source = annotation(pod, 'profile-source');
  if (source !== undefined) {
    const known = Object.hasOwn(SOURCES, source);
    view.rows.push({ name: 'Source of the profile', value: known ? SOURCES[source] : excerpt(source) });
    if (!known) {
      view.problems.push(`evenkeel.dev/profile-source is ${excerpt(source, 60)}; Evenkeel writes declared or requests`);
    }
  }
  view.rows.push(...demandRows(json(pod, 'demand', view.problems), view.problems));
  const shape = scoreTerms(pod)[0]?.shape;
  if (shape !== undefined) {
    view.rows.push({ name: 'Shape of its score terms', value: excerpt(shape) });
  }
  view.rows.push(
    ...written(pod, [
      ['skip', 'Left alone (skip)'],
      ['disk-io-limit', 'Limit of disk I/O'],
      ['deletion-cost', 'Deletion cost'],
    ])
  );
  return view.rows.length + view.problems.length > 0 ? view : undefined;
}

function demandRows(demand: Fields | undefined, problems: string[]): Row[] {
  if (demand === undefined) {
    return [];
  }
  const history = list(demand.history);
  return RESOURCES.flatMap(([field, title, unit]) => {
    const value = demand[field];
    // An amount above 2^53 loses its last digits, which no row shows.
    if (typeof value !== 'number' || !(value >= 0)) {
      problems.push(`evenkeel.dev/demand has no amount of ${field}`);
      return [];
    }
    const used = history.includes(field) ? ' (use of the workload’s other Pods)' : '';
    return [{ name: `Demand: ${title}`, value: value === 0 ? 'none declared' : amount(value, unit) + used }];
  });
}

export interface ScoreTerm {
  shape: string;
  weight: number;
  excluded: string[];
}

/** The preferred node terms of the Pod that read score labels. */
export function scoreTerms(pod: unknown): ScoreTerm[] {
  const affinity = fields(fields(fields(fields(pod).spec).affinity).nodeAffinity);
  return list(affinity.preferredDuringSchedulingIgnoredDuringExecution).flatMap(item => {
    const expressions = list(fields(fields(item).preference).matchExpressions).map(fields);
    const own = expressions.find(one => text(one.key)?.startsWith(SCORE_LABEL_PREFIX));
    const weight = whole(fields(item).weight);
    if (own === undefined || weight === undefined || own.operator !== 'NotIn') {
      return [];
    }
    const excluded = list(own.values).filter((value): value is string => typeof value === 'string');
    return [{ shape: String(own.key).slice(SCORE_LABEL_PREFIX.length), weight, excluded }];
  });
}

/** What kube-scheduler's NodeAffinity adds up from the terms for a node with this label. */
export function termSum(terms: ScoreTerm[], label: string | undefined): number {
  const matching = terms.filter(term => label === undefined || !term.excluded.includes(label));
  return matching.reduce((sum, term) => sum + term.weight, 0);
}

/** The nodes by what the Pod's score terms give each now, the best first. */
export function nodesByTerms(pod: unknown, nodes: unknown[]): Row[] {
  const terms = scoreTerms(pod);
  if (terms.length === 0) {
    return [];
  }
  const chosen = text(fields(fields(pod).spec).nodeName);
  const counted = nodes.map(node => {
    const label = text(fields(metadata(node).labels)[SCORE_LABEL_PREFIX + terms[0].shape]);
    const name = text(metadata(node).name) ?? '';
    const level = label === undefined ? 'no label, which counts as 4' : `level ${levelText(label)}`;
    return { name, sum: termSum(terms, label), value: level };
  });
  counted.sort((a, b) => b.sum - a.sum || a.name.localeCompare(b.name));
  const better = counted.findIndex(node => node.name === chosen);
  // A cluster may have thousands of nodes: the best, and the node of the Pod.
  const shown = counted.filter((node, place) => place < 10 || place === better);
  return shown.map(({ name, sum, value }) => ({
    name: name === chosen ? `${name} (node of this Pod)` : name,
    value: `${sum} points: ${value}`,
  }));
}

function levelText(label: string): string {
  return /^[0-4]$/.test(label) ? `${label}: ${LEVELS[Number(label)]}` : `${excerpt(label, 20)}, which is no level`;
}

/** The command that prints the figures behind the Pod's placement. */
export function explainCommand(pod: unknown): string {
  const { namespace, name } = metadata(pod);
  const parts = [text(namespace), text(name)];
  // A name goes into a command that people paste into a shell.
  const isPlain = parts.every(part => part !== undefined && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(part));
  return `evenkeel explain ${isPlain ? parts.join('/') : 'NAMESPACE/POD'}`;
}

/** The path of the Pod's Events. */
export function eventsPath(pod: unknown): string | undefined {
  const { namespace, uid } = metadata(pod);
  const [space, id] = [text(namespace), text(uid)].map(part => part && encodeURIComponent(part));
  return space && id && `/api/v1/namespaces/${space}/events?fieldSelector=involvedObject.uid%3D${id}`;
}

/** Events that say how the Pod was placed: those of kube-scheduler and of Evenkeel, the newest first. */
export function placementEvents(answer: unknown): Row[] {
  const found = list(fields(answer).items).map(fields).filter(event => {
    const from = text(fields(event.source).component) ?? text(event.reportingComponent) ?? '';
    return ['Scheduled', 'FailedScheduling', 'Preempted'].includes(String(event.reason)) || /^evenkeel/.test(from);
  });
  const at = (event: Fields) =>
    text(fields(event.series).lastObservedTime) ?? text(event.lastTimestamp) ?? text(event.eventTime) ?? '';
  found.sort((a, b) => at(b).localeCompare(at(a)));
  return found.slice(0, 10).map(event => ({
    name: excerpt(text(event.reason) ?? 'Event'),
    value: excerpt(`${text(event.message) ?? ''} (${at(event) || 'time unknown'})`, 1000),
  }));
}

/** True for the taint of overloaded nodes. `scheduling.overload.key` may move it to another prefix. */
function isOverloadTaint(taint: Fields): boolean {
  const key = text(taint.key) ?? '';
  return key === 'evenkeel.dev/overloaded' || key.endsWith('/evenkeel-overloaded');
}

/** "networkIo (NoSchedule)" if the node is tainted as overloaded. */
export function overload(node: unknown): string | undefined {
  const taint = list(fields(fields(node).spec).taints).map(fields).find(isOverloadTaint);
  return taint && excerpt(`${text(taint.value) ?? 'a resource'} (${text(taint.effect) ?? 'no effect'})`);
}

export function nodeView(node: unknown): View {
  const view: View = { rows: [{ name: 'Overloaded', value: overload(node) ?? 'no taint' }], problems: [] };
  const returned = annotation(node, 'headroom-returned');
  if (returned !== undefined) {
    if (Number.isNaN(Date.parse(returned))) {
      view.problems.push(`evenkeel.dev/headroom-returned is not a time: ${excerpt(returned, 60)}`);
    } else {
      view.rows.push({ name: 'Headroom returned', value: `${excerpt(returned)} (woke refused Pods)` });
    }
  }
  view.rows.push(
    ...written(node, [
      ['network-capacity', 'Declared network capacity'],
      ['disk-io-capacity', 'Declared disk I/O capacity'],
    ])
  );
  for (const [key, value] of Object.entries(fields(metadata(node).labels)).sort()) {
    if (key.startsWith(SCORE_LABEL_PREFIX)) {
      const shape = key.slice(SCORE_LABEL_PREFIX.length);
      view.rows.push({ name: `Level for ${excerpt(shape)}`, value: levelText(String(value)) });
    }
  }
  return view;
}

/** True if the namespace has opted in. */
export function isOptedIn(namespace: unknown): boolean {
  return annotation(namespace, 'enabled') === 'true';
}

export function namespaceView(namespace: unknown): View {
  const [value, problems] = [annotation(namespace, 'enabled'), [] as string[]];
  const optedIn = isOptedIn(namespace);
  if (value !== undefined && !optedIn && value !== 'false') {
    problems.push(`evenkeel.dev/enabled is ${excerpt(value, 60)}; only true opts in`);
  }
  const mirror = text(fields(metadata(namespace).labels)['evenkeel.dev/enabled']);
  if ((mirror === 'true') !== optedIn) {
    problems.push('The label evenkeel.dev/enabled differs from the annotation. The leader corrects it within seconds.');
  }
  const rows = [{ name: 'Opted in', value: optedIn ? 'yes' : 'no: Evenkeel does nothing here' }];
  rows.push(
    ...written(namespace, [
      ['scaling', 'Mode of scaling'],
      ['risk', 'Risk'],
      ['tuning', 'Tuning'],
      ['headroom', 'Headroom'],
      ['profile-threshold', 'Threshold of profiles'],
      ['no-headroom', 'If no node has headroom'],
      ['relax-after', 'Relax after'],
      ['score-labels', 'Score terms'],
    ])
  );
  return { rows, problems };
}
