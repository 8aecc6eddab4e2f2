// SPDX-License-Identifier: Apache-2.0
import {
  bit,
  countsBy,
  countsByPair,
  metricFactory,
  metricsText,
  processMetrics,
  type Metric,
} from '../../net/metrics-text.js'
import type { AdmissionStatusView } from './status-view.js'

const factory = metricFactory('edge_health_admission_')
const { gauge, counter, histogram } = factory

const metricsOf = (view: AdmissionStatusView): readonly Metric[] => {
  const { nodes, certificate, counts } = view
  const { validUntil } = certificate
  return [
    gauge('build_info', 'Always 1; the labels say what runs', [1, { version: view.version }]),
    counter('reviews', 'Reviews, by outcome', ...countsByPair(['path', 'result'], counts.reviews)),
    counter(
      'refused_requests',
      'Requests that were not reviews',
      ...countsBy('status', counts.refusals),
    ),
    histogram('review_duration_seconds', 'Time to answer a review', view.reviewSeconds),
    gauge('nodes', 'Nodes that are known', [nodes.objects]),
    gauge('kept_nodes', 'Nodes that are kept', [nodes.kept.length]),
    gauge('stale', '1 while the known Nodes cannot be used for decisions', [bit(!nodes.isReady)]),
    counter('lists', 'Full lists of Nodes', [nodes.lists]),
    gauge(
      'certificate_expiry_seconds',
      'When the certificate in use expires, in seconds since 1970',
      ...(validUntil === null ? [] : [[Date.parse(validUntil) / 1_000] as const]),
    ),
    gauge(
      'certificate_trusted',
      '1 when the CA of the certificate in use is in the webhook configurations',
      [bit(certificate.isTrusted)],
    ),
    counter('certificate_renewals', 'How many times a new certificate came into use', [
      certificate.renewals,
    ]),
    gauge('uptime_seconds', 'Since the start', [view.uptimeSeconds]),
    ...processMetrics(factory),
  ]
}

/** The text of `/metrics`. */
export const admissionMetrics = (view: AdmissionStatusView): string => metricsText(metricsOf(view))
