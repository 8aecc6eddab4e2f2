// SPDX-License-Identifier: Apache-2.0
// What a Kubernetes API server does, as data. Every row holds on a real kube-apiserver v1.36; the embedded one must
// do the same. Rows leave their objects behind: names carry the run's id and the row's own letters.
import type { Row } from '../../testkit/kube/conformance.js'
import { applying, custom, dryRunning, metadataAlone, scaling } from './rows-apply.js'
import { owning } from './rows-owned.js'
import { creating, deleting, replacing } from './rows-create.js'
import { jsonPatching } from './rows-json-patch.js'
import { patching } from './rows-patch.js'
import { events, listing, paths } from './rows-read.js'
import { forgetting, watching } from './rows-watch.js'

/** Everything that the embedded API and the real one must have in common. */
export const rows: readonly Row[] = [
  ...creating,
  ...replacing,
  ...patching,
  ...jsonPatching,
  ...applying,
  ...scaling,
  ...dryRunning,
  ...deleting,
  ...owning,
  ...custom,
  ...listing,
  ...metadataAlone,
  ...watching,
  ...events,
  ...paths,
  ...forgetting,
]
