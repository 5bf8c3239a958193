import assert from 'node:assert/strict';
import test from 'node:test';
import * as scaling from './build/scaling.js';

const hpa = (status, bounds) => ({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: {
    name: 'web',
    namespace: 'shop',
    annotations: { 'evenkeel.dev/scaling-status': status, 'evenkeel.dev/bounds': bounds },
  },
  spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
});
const condition = (type, status, reason, message = 'why') => ({ type, status, reason, message, lastTransitionTime: '2026-03-01T10:00:00Z' });
const withConditions = (...conditions) => scaling.scalingView(hpa(JSON.stringify({ mode: 'floor', conditions })));

test('an HPA shows floor, reason, model, horizon and bounds', () => {
  const reason = 'the forecast of cpu needs 9 replicas';
  const horizonParts = { age: 15, halfWindow: 30, sync: 15, tick: 15, startUp: 20 };
  const decision = { mode: 'floor', replicas: 9, limitedBy: 'ScaleUpPolicy', reason, model: 'auto' };
  const status = { ...decision, horizonSeconds: 95, horizonParts, conditions: [] };
  const contributions = { prediction: { min: 9, until: '2026-03-01T10:05:00Z' }, 'cron/day': { max: 25 }, odd: 7 };
  const bounds = { user: { min: 2, max: 20 }, written: { min: 9, max: 20 }, contributions, contested: true };
  const object = hpa(JSON.stringify(status), JSON.stringify(bounds));
  const view = scaling.scalingView(object);
  assert.deepEqual(view.problems, []);
  assert.deepEqual(
    view.rows.map(row => [row.name, row.value]),
    [
      ['Mode', 'floor'],
      ['Floor (minReplicas)', '9'],
      ['Limited by', 'ScaleUpPolicy'],
      ['Reason', 'the forecast of cpu needs 9 replicas'],
      ['Forecast model', 'auto'],
      ['Horizon', '95 s: age 15, half window 30, sync 15, tick 15, start-up 20'],
      ['Your own bounds', 'minReplicas 2, maxReplicas 20'],
      ['Set by the forecast', 'minReplicas 9, until 2026-03-01T10:05:00Z'],
      ['Set by cron/day', 'maxReplicas 25'],
      ['Contested', 'another writer reverts the bounds'],
    ]
  );
  assert.equal(scaling.scalingCell(object), 'floor: 9');
});

test('conditions carry what to do where something is wrong', () => {
  for (const [type, status, reason, state, advice] of [
    ['ForecastTrusted', 'True', 'BetterThanNaive', 'success', undefined],
    ['ForecastTrusted', 'False', 'Unproven', 'warning', /^Wait about an hour/],
    ['MetricsAvailable', 'False', 'Stale', 'warning', /^See measurements/],
    ['WorthEnabling', 'False', 'CostMore', '', undefined],
    ['FloorContested', 'True', 'UndoneTwice', 'warning', /field manager/],
    ['FloorContested', 'False', 'UndoneTwice', '', undefined],
    ['ScalingLimited', 'True', 'MinReplicas', '', undefined],
    ['AbleToScale', 'Unknown', 'X', '', undefined],
    ['constructor', 'True', '__proto__', 'warning', undefined],
  ]) {
    const [shown] = withConditions(condition(type, status, reason)).conditions;
    assert.equal(shown.state, state, type);
    assert.equal(shown.advice === undefined, advice === undefined, type);
    assert.match(shown.advice ?? '', advice ?? /^$/);
    assert.equal(shown.anchor === undefined, advice === undefined, type);
  }
});

test('a status that any user may have written stays text', () => {
  const shown = withConditions(
    condition('NoMetric', 'True', 'NoMetric', '<img src=x onerror=alert(1)>\u202e' + 'x'.repeat(5000)),
    { type: 'NoStatus' },
    null,
    'text'
  );
  assert.equal(shown.conditions.length, 1);
  const { message } = shown.conditions[0];
  assert.equal(message.length, 1001);
  assert.ok(message.startsWith('<img src=x onerror=alert(1)> x'));
});

test('a status or record that cannot be read is a problem in words', () => {
  for (const [status, bounds, problem] of [
    ['{', undefined, /scaling-status is not a JSON object/],
    ['{}', undefined, /lacks mode or conditions/],
    ['{"mode":"floor","conditions":{}}', undefined, /lacks mode or conditions/],
    [`"${'x'.repeat(40_000)}"`, undefined, /at most 32768/],
    [undefined, 'nothing', /bounds is not a JSON object/],
  ]) {
    const view = scaling.scalingView(hpa(status, bounds));
    assert.match(view.problems[0], problem);
    assert.deepEqual(view.conditions, []);
  }
  assert.equal(scaling.scalingView(hpa()), undefined);
  assert.equal(scaling.scalingCell(hpa('{"mode":7}')), '');
});

test('the load is asked for by the workload', () => {
  const own = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec: {} };
  const keda = { kind: 'ScaledObject', metadata: { name: 'so' }, spec: { scaleTargetRef: { name: 'web' } } };
  for (const object of [hpa(), own, keda]) {
    assert.deepEqual(scaling.workload(object), { group: 'apps', kind: 'Deployment', name: 'web' });
  }
  assert.equal(scaling.workload(null), undefined);
  assert.equal(scaling.loadPaths('shop', undefined), undefined);
  const { expected, series } = scaling.loadPaths('a/../b', { group: 'apps', kind: 'Deployment', name: 'a&x=1' });
  assert.equal(
    expected,
    '/apis/external.metrics.k8s.io/v1beta1/namespaces/a%2F..%2Fb/evenkeel-expected-load?labelSelector=kind%3DDeployment%2Cname%3Da%26x%3D1'
  );
  assert.ok(series.endsWith('/series/workload-resource?group=apps&kind=Deployment&name=a%26x%3D1&resource=cpu'), series);
});

test('answers about the load become rows', () => {
  const item = { metricLabels: { kind: 'Deployment', name: 'web', signal: 'cpu', basis: 'forecast' }, value: '4100m' };
  assert.deepEqual(scaling.expectedRows({ items: [item, null] }), [
    { name: 'Expected cpu', value: '4100m (forecast)' },
    { name: 'Expected load', value: 'unknown (measured)' },
  ]);
  const series = { unit: 'cores', items: [{ points: [{ timestamp: 1, value: 1 }, { timestamp: 2, value: 2.12345 }] }] };
  assert.deepEqual(scaling.usageRows(series), [{ name: 'CPU in use', value: '2.123 cores' }]);
  for (const odd of [null, {}, { items: [{}] }, { items: [{ points: [{ value: 'x' }] }] }]) {
    assert.deepEqual(scaling.usageRows(odd), []);
  }
});
