// SPDX-License-Identifier: Apache-2.0

/** What a label's value may be. */
const LABEL_VALUE = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/

/** Whether a selector may name this node. A name may be longer than the value of a label. */
export const isSelectable = (node: string): boolean => LABEL_VALUE.test(node)

/** A term of a label selector. Kubelets label their Nodes with the host's name, nearly always the name of the Node. */
export const hostnames = (operator: 'in' | 'notin', nodes: readonly string[]): string =>
  `kubernetes.io/hostname ${operator} (${nodes.join(',')})`
