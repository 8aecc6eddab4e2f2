// SPDX-License-Identifier: Apache-2.0
import type { ProgramSeams } from '../core/program.js'
import { makeCredentials } from '../kube/client/credentials.js'
import { openFolder } from './disk/folder.js'
import { askAgent } from './health/agent-client.js'
import type { WrapperOptions } from './options/wrapper-options.js'
import { ServerGuard } from './own-address.js'
import { readServerTls } from './tls.js'
import { makeWrapper, type Wrapper } from './wrapper.js'

/** The wrapper with the real API and network. Nothing runs before `start`. */
export const makeProgram = (options: WrapperOptions, seams: ProgramSeams): Wrapper => {
  const { clock, random, log, version, environment } = seams
  const { kubeconfig, masterUrl, insecure } = options
  const guard = new ServerGuard(options, log)
  const { mayUse } = guard
  return makeWrapper(options, {
    ...{ clock, random, log, version, ask: askAgent },
    credentials: makeCredentials({ kubeconfig, masterUrl, environment, mayUse }, { clock, log }),
    apiserverTrouble: () => guard.trouble,
    folder: openFolder(options.stateDir),
    readTls: () => (insecure ? undefined : readServerTls(options)),
  })
}
