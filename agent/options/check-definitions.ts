// SPDX-License-Identifier: Apache-2.0
import { duration, integer, url } from '../../options/kinds.js'
import type { CheckOptions } from './agent-options.js'
import type { DefinitionsOf } from './definition.js'
import { score } from './own-kinds.js'

/** How peers are probed. The plugins have options of their own (`plugin-options.ts`). */
export const checkDefinitions: DefinitionsOf<Omit<CheckOptions, 'plugins'>> = {
  checkPeriodMs: {
    flag: 'check-period',
    group: 'Check',
    kind: duration('100ms', '1h'),
    default: '10s',
    profiles: { fast: '1s', superedge: '10s' },
    summary: 'each peer is probed once in this period',
    relation: 'at least --down-check-period',
    aliases: [
      { name: 'healthcheckperiod', seconds: true },
      { name: 'health-check-period', seconds: true },
    ],
  },
  scoreLine: {
    flag: 'score-line',
    group: 'Check',
    kind: score,
    default: '100',
    summary: 'a node whose weighted score is below this is down',
    relation: 'the sum of all plugin weights, times 100, must be at least this',
    aliases: [{ name: 'healthcheckscoreline' }, { name: 'health-check-scoreline' }],
  },
  attemptSpacingMs: {
    flag: 'attempt-spacing',
    group: 'Check',
    kind: duration('10ms', '1m'),
    default: '500ms',
    profiles: { fast: '200ms' },
    summary: 'attempts of one round start this far apart',
  },
  attemptTailMs: {
    flag: 'attempt-tail',
    group: 'Check',
    kind: duration('10ms', '1m'),
    default: '1s',
    profiles: { fast: '400ms' },
    summary: 'timeout of the last attempt of a round',
  },
  attemptsMin: {
    flag: 'attempts-min',
    group: 'Check',
    kind: integer(1, 20),
    default: '4',
    summary: 'fewest attempts of a round',
    relation: 'at most --attempts-max; the measured loss decides between the two',
  },
  attemptsMax: {
    flag: 'attempts-max',
    group: 'Check',
    kind: integer(1, 20),
    default: '6',
    profiles: { fast: '8' },
    summary: 'most attempts of a round',
    relation: 'at least --attempts-min',
  },
  downCheckPeriodMs: {
    flag: 'down-check-period',
    group: 'Check',
    kind: duration('100ms', '1h'),
    default: '2s',
    profiles: { fast: '1s' },
    summary: 'a node that is down is probed this often',
    relation: 'at most --check-period',
  },
  selfReportUrl: {
    flag: 'self-report-url',
    group: 'Check',
    kind: url('http', 'https'),
    default: 'http://127.0.0.1:10248/healthz',
    summary: "health URL of this node's kubelet",
  },
  selfReportPeriodMs: {
    flag: 'self-report-period',
    group: 'Check',
    kind: duration('100ms', '1h'),
    default: '5s',
    profiles: { fast: '1s' },
    summary: "how often this node's kubelet is asked",
  },
  selfReportFailures: {
    flag: 'self-report-failures',
    group: 'Check',
    kind: integer(1, 100),
    default: '3',
    summary: "failures in a row before this agent's record says that its kubelet is bad",
  },
}
