// The sections of detail pages. All text goes to React as text, so a name or a message is never HTML.

import { ApiProxy, K8s } from '@kinvolk/headlamp-plugin/lib';
import { NameValueTable, SectionBox, SimpleTable, StatusLabel } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { Alert, Link, Typography } from '@mui/material';
import React from 'react';
import { excerpt, metadata, Row, text, View } from './objects';
import * as placement from './placement';
import * as scaling from './scaling';

const DOCS = 'https://github.com/evenkeel/evenkeel/blob/main/docs/';
/** Milliseconds between two requests: Evenkeel decides as often. */
const PERIOD = 15_000;

interface Props {
  resource: InstanceType<typeof K8s.cluster.KubeObject>;
}

/** Rows of the newest answer at `path`, or one row that says why there is none. */
function useRows(cluster: string, path: string | undefined, name: string, read: (answer: unknown) => Row[]): Row[] {
  const [rows, setRows] = React.useState<Row[]>([]);
  React.useEffect(() => {
    let isShown = true;
    const ask = async () => {
      try {
        return read(await ApiProxy.clusterRequest(path ?? '', { cluster, autoLogoutOnAuthError: false }));
      } catch (error) {
        // An API may not be installed, and a reader may lack the right.
        return [{ name, value: `not available: ${excerpt(error instanceof Error ? error.message : String(error))}` }];
      }
    };
    const update = () => ask().then(found => isShown && setRows(found));
    const timer = path === undefined ? undefined : setInterval(update, PERIOD);
    if (path !== undefined) {
      update();
    }
    return () => {
      isShown = false;
      clearInterval(timer);
    };
  }, [cluster, path, name, read]);
  return rows;
}

function Rows({ title, view, children }: React.PropsWithChildren<{ title: string; view: View }>) {
  return (
    <SectionBox title={title}>
      {view.problems.map(problem => (
        <Alert key={problem} severity="warning">
          {problem}
        </Alert>
      ))}
      <NameValueTable rows={view.rows} />
      {children}
    </SectionBox>
  );
}

function ScoredNodes({ resource }: Props) {
  const [nodes, error] = K8s.ResourceClasses.Node.useList({ cluster: resource.cluster });
  const rows = placement.nodesByTerms(resource.jsonData, (nodes ?? []).map(node => node.jsonData));
  return (
    <>
      <Typography>
        Points of the Pod’s score terms by node, from the labels as they are now. They may have changed since the Pod
        was placed. kube-scheduler adds its other plugins.
      </Typography>
      {error && <Alert severity="info">{excerpt(error.message)}</Alert>}
      <NameValueTable rows={rows} />
    </>
  );
}

export function PodSection({ resource }: Props) {
  const view = placement.podView(resource.jsonData);
  // Kubernetes keeps Events for an hour.
  const path = view && placement.eventsPath(resource.jsonData);
  const events = useRows(resource.cluster, path, 'Events', placement.placementEvents);
  if (view === undefined) {
    return null;
  }
  return (
    <>
      <Rows title="Evenkeel" view={view} />
      <SectionBox title="Evenkeel: why this node">
        <NameValueTable rows={events} />
        {placement.scoreTerms(resource.jsonData).length > 0 && <ScoredNodes resource={resource} />}
        <Typography>
          For the load, the demand and the score of each node, forward port 8081 of Evenkeel and run{' '}
          <code>{placement.explainCommand(resource.jsonData)}</code>.
        </Typography>
      </SectionBox>
    </>
  );
}

export function NodeSection({ resource }: Props) {
  return <Rows title="Evenkeel" view={placement.nodeView(resource.jsonData)} />;
}

export function NamespaceSection({ resource }: Props) {
  return <Rows title="Evenkeel" view={placement.namespaceView(resource.jsonData)} />;
}

/** The load now and the expected load, from the aggregated APIs where they answer. */
function Load({ resource }: Props) {
  const paths = scaling.loadPaths(text(metadata(resource.jsonData).namespace), scaling.workload(resource.jsonData));
  const expected = useRows(resource.cluster, paths?.expected, 'Expected load', scaling.expectedRows);
  const usage = useRows(resource.cluster, paths?.series, 'CPU in use', scaling.usageRows);
  return <NameValueTable rows={[...expected, ...usage]} />;
}

function advice({ advice, anchor }: scaling.ConditionView) {
  return (
    anchor && (
      <>
        {advice}{' '}
        <Link href={`${DOCS}troubleshooting.md#${anchor}`} target="_blank" rel="noopener noreferrer">
          More
        </Link>
      </>
    )
  );
}

function status({ type, status, state }: scaling.ConditionView) {
  return <StatusLabel status={state}>{`${type} is ${status}`}</StatusLabel>;
}

type Column = { label: string; gridTemplate: number; getter: (one: scaling.ConditionView) => React.ReactNode };

const CONDITIONS: Column[] = [
  { label: 'Condition', gridTemplate: 2, getter: status },
  { label: 'Reason', gridTemplate: 1.5, getter: one => one.reason },
  { label: 'Message', gridTemplate: 2.5, getter: one => one.message },
  { label: 'What to do', gridTemplate: 2.5, getter: advice },
  { label: 'Since', gridTemplate: 2, getter: one => one.since },
];

export function ScalingSection({ resource }: Props) {
  const view = scaling.scalingView(resource.jsonData);
  if (view === undefined) {
    return null;
  }
  return (
    <>
      <Rows title="Evenkeel: scaling" view={view}>
        <Load resource={resource} />
      </Rows>
      <SectionBox title="Evenkeel: conditions">
        <SimpleTable data={view.conditions} columns={CONDITIONS as React.ComponentProps<typeof SimpleTable>['columns']} />
      </SectionBox>
    </>
  );
}
