// SPDX-License-Identifier: Apache-2.0
import type { LazyCommand } from './lazy-command.js'

export const wrapperCommand: LazyCommand = {
  name: 'wrapper',
  description:
    "serve kube-proxy on this node in the apiserver's place: lists and watches without the endpoints of dead nodes",
  load: async () => ({ register: (await import('./wrapper.js')).registerWrapper }),
}
