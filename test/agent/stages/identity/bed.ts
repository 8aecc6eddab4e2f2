// SPDX-License-Identifier: Apache-2.0
import { ApiBackoff } from '../../../../agent/api-backoff.js'
import { IDENTITY_ANNOTATION } from '../../../../agent/identity/annotation.js'
import { resolveAgentOptions } from '../../../../agent/options/resolve.js'
import { makeIdentityStage } from '../../../../agent/stages/identity/stage.js'
import type { NodeNotes } from '../../../../agent/ports/kube-api.js'
import type { StateFolder } from '../../../../agent/state-folder.js'
import { makeResultStore, type ResultStore } from '../../../../agent/store.js'
import { KubeStatusError } from '../../../../core/errors.js'
import { parseNodeName, parseZoneName, type NodeName } from '../../../../core/ids.js'
import { makeRoster } from '../../../../core/roster.js'
import type { ListFrom } from '../../../../kube/client/list-pages.js'
import type { KubePatch } from '../../../../kube/client/write.js'
import { FakeClock } from '../../../../testkit/fake-clock.js'
import { recordingLog } from '../../../../testkit/recording-log.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'
import { memoryFolder } from '../../../../testkit/zone/memory-folder.js'

export const SELF = parseNodeName('n1')
export const OTHER = parseNodeName('n2')

interface Written {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> }
}

interface Listed {
  readonly names: readonly NodeName[]
  readonly from: ListFrom
  readonly at: number
}

export interface BedOptions {
  /** @default prefer */
  readonly mode?: 'prefer' | 'require'
  /** Whether the API keeps what is written into the own Node. @default always */
  readonly isKept?: () => boolean
  /** What each write of the own Node is answered with, in the place of being done. @default none is */
  readonly refuses?: () => Error | undefined
  /** @default empty */
  readonly folder?: (clock: FakeClock, store: ResultStore) => StateFolder
  /** @default OTHER alone */
  readonly others?: readonly NodeName[]
  /** Which Nodes a list has, by its number. May throw in the place of the server. @default those asked for */
  readonly lists?: (names: readonly NodeName[], count: number) => readonly NodeName[]
  /** Version of each list, by its number. @default 7 */
  readonly versions?: (count: number) => string
  /** How long reading the folder takes. */
  readonly startMs?: number
  /** What each Node says; undefined: there is none. */
  readonly notesOf: (name: NodeName, own: string | undefined) => NodeNotes | undefined
}

/** The own Node; nothing is known of others. */
export const ownNotes = (name: NodeName, own: string | undefined): NodeNotes => ({
  ...{ name, uid: 'u1', resourceVersion: '1' },
  annotations: own === undefined ? {} : { [IDENTITY_ANNOTATION]: own },
})

/** A stage of `SELF`, in a zone with `OTHER` or with `others`. */
export const bed = async ({
  mode = 'prefer',
  isKept = () => true,
  refuses = () => undefined,
  folder = () => memoryFolder(new Map()),
  startMs = 0,
  others = [OTHER],
  lists = names => names,
  versions = () => '7',
  notesOf,
}: BedOptions) => {
  const clock = new FakeClock()
  const random = seededRandom(1)
  const log = recordingLog()
  const store = makeResultStore(clock.now())
  let own: string | undefined
  const writes: number[] = []
  const reads: { readonly name: NodeName; readonly at: number }[] = []
  const listed: Listed[] = []
  const kube = {
    getNodeNotes: async (name: NodeName) => {
      reads.push({ name, at: clock.now() })
      const notes = notesOf(name, own)
      if (notes !== undefined) return notes
      throw new KubeStatusError(name, {
        status: 404,
        reason: 'NotFound',
        message: '',
        isFromApi: true,
      })
    },
    listNodeNotes: async (names: readonly string[], from: ListFrom) => {
      const asked = names.map(parseNodeName)
      listed.push({ names: asked, from, at: clock.now() })
      const found = lists(asked, listed.length).map(name => notesOf(name, own))
      return { nodes: found.filter(notes => notes !== undefined), version: versions(listed.length) }
    },
    patchNode: async (_name: string, patch: KubePatch) => {
      writes.push(clock.now())
      const refusal = refuses()
      if (refusal !== undefined) throw refusal
      const { metadata } = (patch as unknown as { body: Written }).body
      if (isKept()) own = metadata.annotations[IDENTITY_ANNOTATION]
      // Nobody looks at it.
      return undefined as never
    },
  }
  const { options } = resolveAgentOptions({
    flags: [
      { name: 'node-name', text: SELF },
      { name: 'identity', text: mode },
    ],
    env: {},
  })
  const stage = makeIdentityStage(options, {
    ...{ kube, store, clock, random, log, folder: folder(clock, store) },
    apiBackoff: new ApiBackoff({ clock, random }),
  })
  const setMembers = (names: readonly NodeName[]): void => {
    const members = [SELF, ...names].map((name, i) => ({
      name,
      address: `10.0.${i >> 8}.${i & 255}`,
    }))
    const roster = makeRoster(parseZoneName('z'), SELF, members)
    store.nodeList.set({ ...store.nodeList.current, roster, source: 'api' })
  }
  setMembers(others)
  await Promise.all([stage.start(), clock.advance(startMs)])
  return { clock, store, stage, writes, reads, listed, log, options, setMembers }
}
