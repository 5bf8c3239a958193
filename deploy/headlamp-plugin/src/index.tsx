// Registers what the plugin adds to Headlamp: sections of detail pages, and a column in four lists.

import {
  DetailsViewSectionProps,
  registerDetailsViewSection,
  registerResourceTableColumnsProcessor,
} from '@kinvolk/headlamp-plugin/lib';
import React from 'react';
import { annotation } from './objects';
import { isOptedIn, overload } from './placement';
import { scalingCell } from './scaling';
import { NamespaceSection, NodeSection, PodSection, ScalingSection } from './sections';

/** HPAs, and every workload or ScaledObject, may carry the status of scaling. */
const SECTIONS = new Map([
  ['Pod', PodSection],
  ['Node', NodeSection],
  ['Namespace', NamespaceSection],
]);

registerDetailsViewSection(({ resource }: DetailsViewSectionProps) => {
  const Section = SECTIONS.get(resource?.kind) ?? ScalingSection;
  return resource ? <Section resource={resource} /> : null;
});

const COLUMNS = new Map<string, [label: string, value: (object: unknown) => string]>([
  ['headlamp-pods', ['Profile', pod => annotation(pod, 'profile') ?? '']],
  ['headlamp-horizontalpodautoscalers', ['Evenkeel', scalingCell]],
  ['headlamp-nodes', ['Overloaded', node => overload(node) ?? '']],
  ['headlamp-namespaces', ['Evenkeel', namespace => (isOptedIn(namespace) ? 'opted in' : '')]],
]);

registerResourceTableColumnsProcessor(({ id, columns }) => {
  const [label, value] = COLUMNS.get(id) ?? [];
  const getValue = (object: unknown) => value?.((object as { jsonData?: unknown }).jsonData) ?? '';
  return label ? [...columns, { id: `evenkeel-${id}`, label, getValue }] : columns;
});
