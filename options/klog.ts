// SPDX-License-Identifier: Apache-2.0

const WHY = 'logs are JSON lines on stderr'

const names = [
  'alsologtostderr',
  'logtostderr',
  'stderrthreshold',
  'vmodule',
  'log-dir',
  'log-file',
  'log-file-max-size',
  'log-backtrace-at',
  'log-flush-frequency',
  'add-dir-header',
  'skip-headers',
  'skip-log-headers',
  'one-output',
]

/** klog's flags, which every program of SuperEdge accepts; they say where logs go. */
export const klogFlags: Readonly<Record<string, string>> = Object.fromEntries(
  names.map(name => [name, WHY]),
)
