// SPDX-License-Identifier: Apache-2.0
// What the apiserver's audit log says of our accounts when a scene is over, whichever scene it was.
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import {
  areConfined,
  AuditLog,
  isForbidden,
  tallyText,
  type WriteTally,
  WriteTallies,
} from '../audit.js'
import { type Component, isComponentFree } from './bite.js'

/** @returns whether its account wrote anything but what was tried: else the scene shows nothing of it; tells it, too */
export const sayWhoWrote = (
  writes: readonly WriteTally[],
  account: string,
  say: (line: string) => void,
): boolean => {
  const hasWritten = writes.some(tally => tally.account === account && tally.made > 0)
  if (!hasWritten) say(`NOT OK: ${account} wrote nothing in this scene`)
  return hasWritten
}

/** @returns whether nothing of ours was refused, and each account was tried and let nothing through; tells it, too */
export const sayTallies = (writes: readonly WriteTally[], say: (line: string) => void): boolean => {
  const isConfined = areConfined(writes)
  for (const tally of writes) say(`audit log: ${tallyText(tally)}`)
  if (!isConfined) say('NOT OK: no write of ours may be refused, each account must be tried, and nothing let through') // prettier-ignore
  return isConfined
}

/** Play a scene in which a component writes with its own account. @returns whether it did and it held, and the account is confined */
export const audited = async (
  plane: ControlPlane,
  account: Component,
  how: { readonly say: (line: string) => void; readonly signal: AbortSignal },
  play: () => Promise<boolean>,
): Promise<boolean> => {
  const { say, signal } = how
  const name = `edge-health-${account}`
  const held = await play()
  const free = await isComponentFree(plane, account, signal)
  for (const each of free) say(`not confined: ${each}`)
  const log = new AuditLog(plane.auditLog)
  const tallies = new WriteTallies()
  for (const one of await log.next())
    if (one.account === name) {
      tallies.add(one)
      if (isForbidden(one) && !/^(get|list|watch)$/.test(one.verb))
        say(`  refused: ${one.verb} ${one.path}: ${one.code} ${one.message}`)
    }
  await log.close()
  const isConfined = sayTallies(tallies.all, say)
  return sayWhoWrote(tallies.all, name, say) && isConfined && free.length === 0 && held
}
