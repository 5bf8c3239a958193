import assert from 'node:assert/strict';
import test from 'node:test';
import * as placement from './build/placement.js';

const NOT_IN = values => [{ key: 'score.evenkeel.dev/network-n3-c1', operator: 'NotIn', values }];
const TERMS = [['0'], ['0', '1'], ['0', '1', '2'], ['0', '1', '2', '3']].map(values => ({
  weight: 25,
  preference: { matchExpressions: NOT_IN(values) },
}));

const object = (annotations, more = {}) => ({ metadata: { name: 'web-1', namespace: 'shop', annotations, ...more } });
const pod = (annotations, terms) => ({
  ...object(annotations),
  spec: {
    nodeName: 'n2',
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: terms } },
  },
});
const node = (name, level) => ({
  metadata: { name, labels: level === undefined ? {} : { 'score.evenkeel.dev/network-n3-c1': level } },
});
const values = view => Object.fromEntries(view.rows.map(row => [row.name, row.value]));

test('a Pod shows its profile, the source and its demand', () => {
  const demand = '{"cpu":1500,"memory":67108864,"networkIo":1048576,"diskIo":0,"disk":18446744073709551615}';
  const own = { 'evenkeel.dev/profile': 'network', 'evenkeel.dev/profile-source': 'declared', 'evenkeel.dev/demand': demand };
  const view = placement.podView(pod(own, TERMS));
  assert.deepEqual(view.problems, []);
  assert.deepEqual(values(view), {
    Profile: 'network',
    'Source of the profile': 'declared: set on the Pod',
    'Demand: CPU': '1500m',
    'Demand: Memory': '64 MiB',
    'Demand: Network I/O': '1 MiB/s',
    'Demand: Disk I/O': 'none declared',
    'Demand: Local storage': '16 EiB',
    'Shape of its score terms': 'network-n3-c1',
  });
});

test('what cannot be read is a problem in words', () => {
  for (const [annotations, rows, problem] of [
    [{ 'evenkeel.dev/demand': '{"cpu":1' }, 0, /demand is not a JSON object: \{"cpu":1/],
    [{ 'evenkeel.dev/demand': '[1]' }, 0, /not a JSON object/],
    [{ 'evenkeel.dev/demand': 'null' }, 0, /not a JSON object/],
    [{ 'evenkeel.dev/demand': '{"cpu":-1,"memory":0,"networkIo":0,"diskIo":0,"disk":0}' }, 4, /no amount of cpu/],
    [{ 'evenkeel.dev/demand': ' '.repeat(40_000) }, 0, /has 40000 characters/],
    [{ 'evenkeel.dev/profile-source': 'constructor' }, 1, /profile-source is constructor/],
  ]) {
    const view = placement.podView(object(annotations));
    assert.equal(view.rows.length, rows, JSON.stringify(annotations).slice(0, 80));
    assert.match(view.problems[0], problem);
  }
});

test('objects of any form are read without an error', () => {
  for (const odd of [undefined, null, 7, 'x', [], {}, { metadata: null }, object({ 'evenkeel.dev/profile': 7 }), pod({}, 'x')]) {
    assert.equal(placement.podView(odd), undefined);
    assert.deepEqual(placement.nodesByTerms(odd, [odd]), []);
    assert.equal(placement.nodeView(odd).problems.length, 0);
    assert.equal(placement.isOptedIn(odd), false);
  }
  const odd = pod({}, [null, { weight: 'x' }, { weight: 5, preference: { matchExpressions: [{ key: 7 }] } }]);
  assert.deepEqual(placement.scoreTerms(odd), []);
});

test('nodes are ordered by the points that kube-scheduler adds up', () => {
  const nodes = [node('n1', '0'), node('n2', '3'), node('n3'), node('n4', '<b>'), node('n5', '4')];
  const rows = placement.nodesByTerms(pod({}, TERMS), nodes);
  assert.deepEqual(
    rows.map(row => [row.name, row.value.split(':')[0]]),
    [['n3', '100 points'], ['n4', '100 points'], ['n5', '100 points'], ['n2 (node of this Pod)', '75 points'], ['n1', '0 points']]
  );
  assert.match(rows[1].value, /<b>, which is no level/);
  const many = [...Array(50).keys()].map(place => node(`m${place}`));
  const shown = placement.nodesByTerms(pod({}, TERMS), [...many, node('n2', '0')]);
  assert.equal(shown.length, 11);
  assert.equal(shown[10].name, 'n2 (node of this Pod)');
});

test('the command to explain holds only plain names', () => {
  for (const [name, expected] of [
    ['web-1', 'evenkeel explain shop/web-1'],
    ['web; rm', 'evenkeel explain NAMESPACE/POD'],
    [undefined, 'evenkeel explain NAMESPACE/POD'],
  ]) {
    assert.equal(placement.explainCommand({ metadata: { namespace: 'shop', name } }), expected);
  }
});

test('Events are asked for by the UID of the Pod', () => {
  const path = uid => placement.eventsPath({ metadata: { namespace: 'shop', uid } });
  assert.equal(path('a&b'), '/api/v1/namespaces/shop/events?fieldSelector=involvedObject.uid%3Da%26b');
  assert.equal(path(undefined), undefined);
});

test('Events about the placement are shown, the newest first', () => {
  const events = [
    { reason: 'FailedScheduling', message: '0/3 nodes\u001b[31m: cpu', eventTime: '2026-03-01T10:00:00Z' },
    { reason: 'Pulled', source: { component: 'kubelet' }, lastTimestamp: '2026-03-01T10:02:00Z' },
    { reason: 'Scheduled', message: 'to n2', lastTimestamp: '2026-03-01T10:01:00Z' },
    { reason: 'Resized', message: 'more', reportingComponent: 'evenkeel' },
    null,
  ];
  assert.deepEqual(placement.placementEvents({ items: events }), [
    { name: 'Scheduled', value: 'to n2 (2026-03-01T10:01:00Z)' },
    { name: 'FailedScheduling', value: '0/3 nodes [31m: cpu (2026-03-01T10:00:00Z)' },
    { name: 'Resized', value: 'more (time unknown)' },
  ]);
});

test('a node shows its taint, its levels and when headroom returned', () => {
  const own = { 'evenkeel.dev/headroom-returned': '2026-03-01T10:00:00Z', 'evenkeel.dev/network-capacity': '10Gbps' };
  const made = object(own, { labels: { 'score.evenkeel.dev/io-d2': '2', 'score.evenkeel.dev/io-d3': '9', zone: 'a' } });
  made.spec = { taints: [{ key: 'a' }, { key: 'a.b/evenkeel-overloaded', value: 'networkIo', effect: 'NoSchedule' }] };
  const view = placement.nodeView(made);
  const shown = values(view);
  assert.equal(shown.Overloaded, 'networkIo (NoSchedule)');
  assert.match(shown['Headroom returned'], /^2026-03-01T10:00:00Z/);
  assert.equal(shown['Declared network capacity'], '10Gbps');
  assert.match(shown['Level for io-d2'], /^2: headroom for two Pods/);
  assert.match(shown['Level for io-d3'], /no level/);
  assert.equal(view.rows.length, 5);
  const damaged = placement.nodeView(object({ 'evenkeel.dev/headroom-returned': 'soon' }));
  assert.match(damaged.problems[0], /not a time: soon/);
});

test('only the value true opts a namespace in', () => {
  for (const [value, label, opted, problems] of [
    ['true', 'true', 'yes', 0],
    ['true', undefined, 'yes', 1],
    ['True', undefined, 'no: Evenkeel does nothing here', 1],
    ['false', undefined, 'no: Evenkeel does nothing here', 0],
    [undefined, undefined, 'no: Evenkeel does nothing here', 0],
    [undefined, 'true', 'no: Evenkeel does nothing here', 1],
  ]) {
    const view = placement.namespaceView(object({ 'evenkeel.dev/enabled': value }, { labels: { 'evenkeel.dev/enabled': label } }));
    assert.equal(values(view)['Opted in'], opted);
    assert.equal(view.problems.length, problems, `${value} ${label}`);
  }
});
