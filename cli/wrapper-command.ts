// SPDX-License-Identifier: Apache-2.0
import type { LazyCommand } from './lazy-command.js'

export const wrapperCommand: LazyCommand = {
  name: 'wrapper',
  description:
    "run kube-proxy's apiserver of this node: lists and watches without the endpoints of dead nodes",
  load: async () => ({ register: (await import('./wrapper.js')).registerWrapper }),
}
